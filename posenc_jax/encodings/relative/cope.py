"""CoPE: positions that count what a query attends to (Golovneva et al. 2024)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.token_order import TokenOrder


@dataclasses.dataclass(frozen=True)
class CoPE(PositionalEncoding):
    """Every query counts the keys between another key and itself as far as a gate opens for them::

        g_it = sigmoid(q_i . k_t / sqrt(D)),   p_ij = min(g_ij + ... + g_ii, num_positions - 1)
        logits_ij += q_i . e[p_ij] / sqrt(D)

    (Golovneva et al. 2024, section 4; the authors' code, `ContextPosSelfAttn`; `ClippedRoPE` has the same name in its
    paper.) p is fractional: the products of q_i with the embeddings e of the whole positions around it are blended
    linearly, so the products are ``[B, H, Q, num_positions]`` and no vector per pair exists. Only keys that the query
    may attend to are counted: the gates of future, padded and other segments' keys are 0. Keys are counted in the order
    of their places; positions play no part.

    Gates read queries and keys as projected: a RoPE in the same slot does not turn them.

    The defaults of ``scaled_gates`` and ``scaled_positions`` are those of the authors' code. Its further options, gates
    from values or from another projection, are not here.

    Attributes:
      num_positions: rows of e (the authors' code takes the context's length plus one unless told otherwise).
      scaled_gates: False takes q_i . k_t undivided, as the paper writes the gate.
      scaled_positions: False adds q_i . e undivided, as do x-transformers, after the listing in the paper's appendix,
        and the authors' option ``cope-nodiv``.

    Parameters: ``table`` (e) ``[num_positions, D]``, shared by the heads, zeros at first as in the authors' code.

    With gates of a half everywhere (keys 0), the last of three queries is 0.5, 1 and 1.5 away from keys 2, 1 and 0:

    >>> q, k = jnp.ones((1, 1, 3, 1)), jnp.zeros((1, 1, 3, 1))
    >>> geometry = Geometry.of_length(3, num_heads=1, causal=True)
    >>> CoPE(3).content_bias({"table": jnp.array([[0.0], [1.0], [4.0]])}, q, k, geometry, None)[0, 0, 2].tolist()
    [2.5, 1.0, 0.5]
    """

    num_positions: int = 64
    scaled_gates: bool = True
    scaled_positions: bool = True

    name = "cope"
    paper = "arXiv:2405.18719"
    citation = """@misc{golovneva2024contextual, author = {Golovneva, O. and Wang, T. and Weston, J. and Sukhbaatar,
        S.}, title = {{Contextual Position Encoding: Learning to Count What's Important}}, year = {2024},
        eprint = {2405.18719}}"""
    methods = (
        Method(
            "relative",
            "CoPE",
            "cope",
            "Golovneva et al. 2024",
            note="counts attended keys; reads no positions",
            use="s",
        ),
    )
    shift_invariant = True
    causal_only = True
    per_layer = True
    # A block of keys lacks those between it and the query.
    breaks = frozenset({"blocks"})

    position_axes = "any"
    limits = limited(
        num_positions=at_least(
            2, ", or all keys are at the same position: the authors' code has the context's length plus one"
        )
    )

    def init(self, key: Key, dims: Dims) -> Params:
        return {"table": jnp.zeros((self.num_positions, dims.head_dim), jnp.float32)}

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        q, k, table = q.astype(dtype), k.astype(dtype), params["table"].astype(dtype)
        root = q.shape[-1] ** -0.5
        inner = jnp.einsum("bhqd,bhkd->bhqk", q, k, precision="highest")  # gates are added up to positions
        gates = jax.nn.sigmoid(inner * (root if self.scaled_gates else 1.0))
        if (mask := geometry.mask) is not None:
            gates = jnp.where(mask, gates, 0)
        positions = jnp.minimum(TokenOrder.of_keys(geometry).sums_onwards(gates, itself=True), self.num_positions - 1)
        products = jnp.einsum("bhqd,pd->bhqp", q, table) * (root if self.scaled_positions else 1.0)
        below, above = (
            jnp.take_along_axis(products, around(positions).astype(np.int32), axis=-1, mode="promise_in_bounds")
            for around in (jnp.floor, jnp.ceil)
        )
        fraction = positions - jnp.floor(positions)
        return below * (1 - fraction) + above * fraction
