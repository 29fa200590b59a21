"""Queries that grow with the logarithm of their position, in steps: Llama 4 and Ministral 3."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class QueryTemperature(PositionalEncoding):
    """Multiplies queries by a number that grows with the logarithm of their position, in steps of thousands::

        q'_i = q_i (1 + a ln(floor((p_i + o) / F) + 1))

    (Meta's code for Llama 4, ``apply_attention_scaling`` in ``models/llama4/model.py``; transformers'
    ``modeling_llama4.py`` and ``modeling_ministral3.py``.) Positions below the first step are not scaled, so models can
    be trained at that length without it; beyond, it sharpens attention over more keys.

    It does not encode order by itself. Llama 4 has it in its layers without RoPE, ``rope/rope/rope/query_temperature``;
    Ministral 3 and Mistral Large 3 in all layers, beside RoPE.

    Attributes:
      scale: a, 0.1 in both (``attn_scale``; ``llama_4_scaling_beta``).
      floor: F, 8192 in Llama 4 (``floor_scale``); ``original_max_position_embeddings`` of the others.
      offset: o, 1 in Llama 4, whose first step comes one position earlier, and 0 in the others.

    Positions count from 0; queries before 0 are not scaled. Put it first in its slot, since elements before it may map
    positions. Biases of other elements are not scaled.

    >>> import numpy as np
    >>> q, positions = np.ones((1, 1, 3, 1), np.float32), np.array([[0, 8191, 65535]])
    >>> QueryTemperature().encode_queries({}, q, positions, None).ravel().round(4).tolist()
    [1.0, 1.0692999362945557, 1.2196999788284302]
    """

    scale: float = 0.1
    floor: int = 8192
    offset: int = 1

    name = "query_temperature"
    paper = "https://github.com/meta-llama/llama-models"
    citation = """@misc{meta2025llama, author = {{Meta}}, title = {{Llama 4: models and code}}, year = {2025},
        url = {https://github.com/meta-llama/llama-models}}"""
    methods = (
        Method(
            "rotary",
            "Temperature tuning (Llama 4)",
            "query_temperature(floor=8)",
            "Meta 2025",
            note="in the layers without RoPE, and every 8192 positions",
            use="W",
        ),
        Method(
            "rotary",
            "Temperature tuning with RoPE (Ministral 3)",
            "query_temperature(floor=8, offset=0)|rope(base=1e6, layout='half')",
            "Mistral AI 2025",
            "https://huggingface.co/mistralai/Ministral-3-8B-Instruct-2512",
            "with YaRN, and every 16384 positions, its original length",
            use="W",
        ),
    )
    causal_only = True
    limits = limited(
        scale=at_least(0, ": Llama 4 has 0.1"),
        floor=at_least(1, ": Llama 4 has 8192 positions"),
        offset=at_least(0, ": Llama 4 has 1", most=1),
    )

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(q)
        steps = jnp.maximum((jnp.asarray(positions) + self.offset) // self.floor, 0)
        factor = 1 + self.scale * jnp.log1p(steps.astype(dtype))
        return (jnp.asarray(q).astype(dtype) * factor[:, None, :, None]).astype(q.dtype)
