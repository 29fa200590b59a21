"""How sharp attention is: a constant temperature, and factors that grow with the keys, positions or distances."""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    at_least_float32,
    by_token,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class Temperature(PositionalEncoding):
    """Divides all logits by a constant, biases included, so that attention is sharper below 1 and flatter above::

        weights_ij = softmax_j(logits_ij / tau)

    No encoding of positions by itself: the last element of a slot, as in ``(T5Bias(), Temperature(0.8))``. Over more
    keys than in training a softmax is flatter; a lower temperature at test time undoes a part of that (Chi et al. 2023,
    who find tau by aligning the attention of long inputs with that of short ones). Here it is a setting:
    ``posenc evaluate RUN --posenc "t5|temperature(0.8)"`` tries one.

    Where the slot has another normalisation than the softmax, that sees the divided logits. No fused attention.

    Attributes:
      value: tau, above 0: from 1e-6 to 1e6, where 1 changes nothing.

    >>> logits, bias = np.full((1, 1, 1, 2), 3.0), np.ones((1, 1, 1, 2))
    >>> Temperature(2).adjust_logits({}, logits, bias, None).ravel().tolist()
    [2.0, 2.0]
    """

    value: float = 1.0

    name = "temperature"
    paper = "arXiv:2311.00684"
    citation = """@misc{chi2023attention, author = {Chi, T.-C. and Fan, T.-H. and Rudnicky, A. I.},
        title = {{Attention Alignment and Flexible Positional Embeddings Improve Transformer Length Extrapolation}},
        year = {2023}, eprint = {2311.00684}}"""
    methods = (
        Method(
            "additive",
            "Temperature of attention",
            "t5|temperature(value=0.8)",
            "Chi et al. 2023",
            note="at test time: posenc evaluate RUN --posenc ...",
        ),
    )
    shift_invariant = True
    unsigned = True
    position_axes = "any"

    def check_fields(self) -> None:
        if not 1e-6 <= self.value <= 1e6:
            raise ValueError(
                f"Temperature.value = {self.value} must be from 1e-6 to 1e6: 1 changes nothing, less is sharper"
            )

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        total = logits if bias is None else logits + bias
        # As an array, so that temperatures share a compiled program.
        return total / np.full((1, 1, 1, 1), self.value, total.dtype)


class CountsKeys(PositionalEncoding):
    """Base class of encodings that scale queries by how many keys they see, with a field ``count``."""

    count: Literal["position", "length"]

    @property
    def causal_only(self) -> bool:  # type: ignore[override]
        """Without a causal mask a query sees all keys, wherever it stands."""
        return self.count == "position"

    @property
    def position_axes(self) -> int | Literal["any"] | None:  # type: ignore[override]
        """Plain positions where they are counted."""
        return None if self.count == "position" else "any"

    def keys_seen(self, positions: Array, length: Array) -> Array:
        """``[#B, S]``: by ``count`` a query's position and one, or the length of its sequence; at least 1."""
        return jnp.maximum(jnp.asarray(positions + 1 if self.count == "position" else by_token(length)), 1)


@dataclasses.dataclass(frozen=True)
class LogScaling(CountsKeys):
    """Multiplies queries by a number that grows with how many keys they see: more keys do not flatten attention::

        q'_i = q_i max(1, log(n_i) / log(L)),   n_i = p_i + 1, the keys that a causal query at p_i sees

    Attention over n keys by their content is then as sharp as over L, the training length.

    No encoding of positions by itself: an element beside one, as in ``(LogScaling(4096), ReRoPE(window=512))``, the
    authors' setting of ReRoPE. Entropy of the weights then depends little on n (Su 2021, kexue.fm/archives/8823); with
    logits of bounded size a softmax over n keys must flatten as n grows (Chiang and Cholak 2022, section 5.3).

    Attributes:
      training_length: L, at which the factor is 1.
      count: "position" is n = p + 1, as in Su's code for causal models (bojone/rerope). "length" is n = the sequence's
        length, for all queries alike, as in both papers, which have no causal mask.
      clip: only enlarge (True, Su's code). False also shrinks queries below L, as both papers do: ``LogScaling(512,
        count="length", clip=False)`` is Su's log_512(n), ``training_length=math.e`` the plain log(n) of Chiang and
        Cholak.

    Positions count from 0; before 0 a query counts one key. They are those that elements before this one leave: put it
    first. What others add to the logits (`bias`, `content_bias`) is not scaled.

    >>> import numpy as np
    >>> q, positions = np.ones((1, 1, 3, 1), np.float32), np.array([[0, 3, 15]])
    >>> LogScaling(training_length=4).encode_queries({}, q, positions, None).ravel().tolist()
    [1.0, 1.0, 2.0]
    """

    training_length: int | float = 512
    count: Literal["position", "length"] = "position"
    clip: bool = True

    name = "log_scaling"
    paper = "arXiv:2202.12172"
    citation = """@misc{su2021attention, author = {Su, J.}, title = {{Attention scale from the viewpoint of entropy
        invariance}}, year = {2021}, url = {https://kexue.fm/archives/8823}}
        @inproceedings{chiang2022overcoming, author = {Chiang, D. and Cholak, P.}, title = {{Overcoming a Theoretical
        Limitation of Self-Attention}}, booktitle = {ACL}, year = {2022}, eprint = {2202.12172}}"""
    methods = (
        Method(
            "rotary",
            "Log-n scaling of queries",
            "log_scaling(training_length=64)|rope",
            "Su 2021; Chiang and Cholak 2022",
            use="W",
        ),
    )
    limits = limited(
        training_length=above(1, ", as log n is divided by its logarithm: give the length of the training sequences")
    )

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(q)
        factor = jnp.log(self.keys_seen(positions, length).astype(dtype)) / math.log(self.training_length)
        if self.clip:
            factor = jnp.maximum(factor, 1)
        return (jnp.asarray(q).astype(dtype) * factor[:, None, :, None]).astype(q.dtype)


@dataclasses.dataclass(frozen=True)
class SSMax(CountsKeys):
    """Multiplies queries by a learned number times the logarithm of the number of keys that they see, so that the
    softmax does not flatten with more keys::

        w_ij = n_i^(s z_ij) / sum_k n_i^(s z_ik) = softmax_j(s log(n_i) z_ij),   z_ij = q_i . k_j / sqrt(D)

    (Nakanishi 2025, Scalable-Softmax, sections 2 and 3.) Each head of each layer has its own s. It does not encode
    order by itself: put it beside an encoding, as in ``(SSMax(), RoPE())``. Biases of other elements are not scaled.

    Attributes:
      count: "position" is n = p + 1, what a causal query sees; "length" is n = the sequence's length for all queries.
      offset: the paper's second form, ``(s log(n_i) + b) z_ij``.
      start: the initial s; the paper's 0.168 is 1 over the mean of log n for n = 1 .. 1024.

    Parameters: ``scale`` (s) ``[H]``, and with ``offset`` ``offset`` (b) ``[H]``, zeros.

    >>> import numpy as np
    >>> q, positions = np.ones((1, 1, 3, 1), np.float32), np.array([[0, 1, 1023]])
    >>> SSMax().encode_queries({"scale": np.float32([0.5])}, q, positions, None).ravel().round(4).tolist()
    [0.0, 0.3465999960899353, 3.4656999111175537]
    """

    count: Literal["position", "length"] = "position"
    offset: bool = False
    start: float = 0.168

    name = "ssmax"
    paper = "arXiv:2501.19399"
    citation = """@misc{nakanishi2025scalable, author = {Nakanishi, K. M.}, title = {{Scalable-Softmax Is Superior for
        Attention}}, year = {2025}, eprint = {2501.19399}}"""
    methods = (
        Method("rotary", "Scalable-Softmax (SSMax)", "ssmax|rope", "Nakanishi 2025", use="s"),
        Method("rotary", "Scalable-Softmax with a bias", "ssmax(offset=True)|rope", "Nakanishi 2025"),
    )
    per_layer = True
    head_axes = (("scale", 0), ("offset", 0))

    def init(self, key: Key, dims: Dims) -> Params:
        scale = {"scale": jnp.full(dims.num_heads, self.start, jnp.float32)}
        return scale | ({"offset": jnp.zeros(dims.num_heads, jnp.float32)} if self.offset else {})

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(q, params["scale"])
        logs = jnp.log(self.keys_seen(positions, length).astype(dtype))[:, None, :, None]
        factor = jnp.asarray(params["scale"], dtype)[None, :, None, None] * logs
        if self.offset:
            factor = factor + jnp.asarray(params["offset"], dtype)[None, :, None, None]
        return (jnp.asarray(q).astype(dtype) * factor).astype(q.dtype)


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


@dataclasses.dataclass(frozen=True)
class ScaleInvariant(PositionalEncoding):
    """Scales and lowers logits by the logarithm of the distance, so that tens, hundreds and thousands of tokens back
    get about equal attention, and farther ones get it more selectively::

        logits'_ij = a_t logits_ij + m_t,   a_t = sqrt(1 + 2 ln(t / tau + 1)),   m_t = -2 ln(t / tau + 1),   t = i - j

    (Anson, Wang and Aitchison 2025, section 3.2, equations 16a and 16b with alpha = beta = e^0.5, by which a_0 = 1 and
    m_0 = 0; no code by the authors was to be had.) For logits that are standard normal, as with norms of queries and
    keys, the mean of exp(logits') is then proportional to 1 / (t / tau + 1).

    The paper uses it with p-RoPE, ``(RoPE(scaling=PRoPE()), ScaleInvariant())``, and finds it worse with RoPE. It acts
    on the sum of products and of the biases of all elements before it, so no fused kernel serves it. Defined under a
    causal mask.

    Attributes:
      length_scale: tau, 10 in the paper. At distances well below it logits hardly change.

    >>> import numpy as np
    >>> logits, geometry = np.ones((1, 1, 3, 3)), Geometry.of_length(3, num_heads=1, causal=True)
    >>> ScaleInvariant().adjust_logits({}, logits, None, geometry)[0, 0, 2].round(4).tolist()
    [0.8034999966621399, 0.9004999995231628, 1.0]
    """

    length_scale: float = 10.0

    name = "scale_invariant"
    paper = "arXiv:2505.17083"
    citation = """@misc{anson2025scale, author = {Anson, B. and Wang, X. and Aitchison, L.}, title = {{Scale-invariant
        Attention}}, year = {2025}, eprint = {2505.17083}}"""
    methods = (
        Method(
            "additive",
            "Scale-invariant attention",
            "rope(scaling=p_rope(fraction=0.75))|scale_invariant",
            "Anson et al. 2025",
        ),
    )
    shift_invariant = True
    causal_only = True
    limits = limited(length_scale=above(0, ": the paper has 10.0"))

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        total = jnp.asarray(logits if bias is None else logits + bias)
        # Keys after the query, which are masked, count as the query's own place.
        distance = jnp.maximum(-relative_on_device(geometry), 0)[:, None].astype(total.dtype)
        logarithm = 2 * jnp.log1p(distance / self.length_scale)
        return jnp.sqrt(1 + logarithm) * total - logarithm
