"""Additive GRAPE (Zhang et al. 2025): linear biases whose slopes depend on query and key, or that are summed along the
tokens between them.
"""

import dataclasses
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.additive.alibi import alibi_slopes
from posenc_jax.encodings.grape.grape_m import GRAPEM
from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Sequence,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.shared.distances import relative_on_device
from posenc_jax.encodings.shared.rotation import rotate
from posenc_jax.encodings.shared.token_order import TokenOrder, at_queries


@dataclasses.dataclass(frozen=True)
class GRAPEA(PositionalEncoding):
    """Additive GRAPE: ALiBi with slopes that the query, the key or both modulate::

        logits_ij += -(i - j) omega_h (softplus(v_h . q_i / sqrt(D)) + softplus(u_h . k_j / sqrt(D)))
        omega_h = softplus(w_h) slope_h,   |u_h| = |v_h| = 1,   slope_h ALiBi's

    (Zhang et al. 2025, section 4.1; the authors' code ``llama-mha-grape-a-querykeygated``, ``-keygated`` and
    ``-querygated``, whose softplus and fixed slopes the paper's equations do not show.) Of distances before the query
    only; defined under a causal mask.

    In the paper's algebra the bias is a unipotent action; constant gates are ALiBi, and gates that are summed along the
    sequence the Forgetting Transformer (`FoX`).

    Attributes:
      gate: "both" terms of the sum, or only that of the "key" or of the "query".

    Parameters per layer: ``omega [H]`` is w, which starts at softplus(w) = 1; ``query`` and ``key`` ``[H, D]`` are v
    and u, of random direction; their length is divided out.
    """

    gate: Literal["both", "key", "query"] = "both"

    name = "grape_a"
    paper = "arXiv:2512.07805"
    citation = GRAPEM.citation
    methods = (Method("rotary", "GRAPE-A", "grape_a", "Zhang et al. 2025"),)
    shift_invariant = True
    causal_only = True
    per_layer = True
    head_axes = (("omega", 0), ("query", 0), ("key", 0))

    def init(self, key: Key, dims: Dims) -> Params:
        params = {"omega": jnp.full((dims.num_heads,), math.log(math.expm1(1.0)), jnp.float32)}
        for index, side in enumerate(("query", "key")):
            if self.gate in ("both", side):
                shape = (dims.num_heads, dims.head_dim)
                vectors = jax.random.normal(jax.random.fold_in(key, index), shape, jnp.float32)
                params[side] = vectors * dims.head_dim**-0.5
        return params

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        rate: Array | float = 0.0
        for side, x in (("query", q), ("key", k)):
            if side in params:
                gates = self._gates(params, side, x, dtype)
                rate = rate + (gates[..., None] if side == "query" else gates[:, :, None])
        past = jnp.maximum(-relative_on_device(geometry), 0).astype(dtype)
        return -past[:, None] * self._omega(params, geometry, dtype)[None, :, None, None] * rate

    @property
    def num_factors(self) -> int:
        """The number of products: with i and j the positions and g the gates, ``-(i - j) (g_i + g_j) = -i g_j + j g_i
        + j g_j``, but for the query's own ``i g_i``.
        """
        return {"query": 1, "key": 2, "both": 3}[self.gate]

    def factors(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> tuple[Array, Array]:
        """The terms of `num_factors`, those of the query times omega. They are as large as positions, and their sum as
        distances: in float32 it is right to 2^-24 of the largest position.
        """
        dtype = at_least_float32(q, k)
        omega = self._omega(params, geometry, dtype)[None, :, None]
        i, j = (jnp.asarray(x).astype(dtype)[:, None] for x in (geometry.q_positions, geometry.k_positions))
        of_queries: list[Array] = []
        of_keys: list[Array] = []
        if "query" in params:
            of_queries.append(omega * self._gates(params, "query", q, dtype))
            of_keys.append(j)
        if "key" in params:
            of_key = self._gates(params, "key", k, dtype)
            of_queries += [-omega * i, omega]
            of_keys += [of_key, j * of_key]

        def side(parts: list[Array]) -> Array:
            shape = jnp.broadcast_shapes(*(x.shape for x in parts))
            return jnp.stack([jnp.broadcast_to(x, shape) for x in parts], axis=-1)

        queries = side(of_queries)
        return jnp.broadcast_to(queries, (*queries.shape[:2], q.shape[2], queries.shape[3])), side(of_keys)

    @staticmethod
    def _gates(params: Params, side: str, x: Array, dtype: Any) -> Array:
        direction = jnp.asarray(params[side]).astype(dtype)
        # As torch's normalize: divided by the length, or by 1e-6 where it is shorter.
        length = jnp.sqrt(jnp.maximum((direction**2).sum(axis=-1, keepdims=True), 1e-12))
        inner = jnp.einsum("bhsd,hd->bhs", x.astype(dtype), direction / length, precision="highest")
        return jax.nn.softplus(inner * x.shape[-1] ** -0.5)

    @staticmethod
    def _omega(params: Params, geometry: Geometry, dtype: Any) -> Array:
        slopes = geometry.own_heads(alibi_slopes(geometry.num_heads).astype(dtype))
        return jax.nn.softplus(jnp.asarray(params["omega"]).astype(dtype)) * slopes


@dataclasses.dataclass(frozen=True)
class GRAPEAP(PositionalEncoding):
    """Path-integral additive GRAPE: a bias that sums, over the tokens from key to query, what the query makes of each::

        logits_ij += sum over j < l <= i of slope_h log(sigmoid(p_i . R(l) p^_l / P))

    with p_t = W x_t of P dimensions per head, x_t the block's input, p^ = p / rms(p), R(l) turning each plane of p by
    l, slope_h ALiBi's (Zhang et al. 2025, section 5; the authors' code ``llama-mha-grape-ap-v1``). With terms that do
    not depend on i it is the Forgetting Transformer (`FoX`). Defined under a causal mask.

    Dimensions c and P/2 + c are a plane, turned by the negative position, as in the code. The angle is the position
    itself, so a moved sequence gives other biases. The terms are summed in the order of places.

    Attributes:
      size: P, 8 in the authors' experiments.
      normalized: "keys" as in the code, where p_i is not normalised, or "both" as in the paper.

    Parameter: ``weight [d_model, H, P]`` of each layer, N(0, (0.5/sqrt(d_model))^2) as in the code.
    """

    size: int = 8
    normalized: Literal["keys", "both"] = "keys"

    name = "grape_ap"
    paper = "arXiv:2512.07805"
    citation = GRAPEM.citation
    methods = (Method("rotary", "GRAPE-AP", "grape_ap", "Zhang et al. 2025"),)
    causal_only = True
    per_layer = True
    terms_by_head = True
    breaks = frozenset({"blocks"})  # the sum needs all tokens between query and key

    def check_fields(self) -> None:
        if self.size < 2 or self.size % 2:
            raise ValueError(
                f"GRAPEAP.size = {self.size} must be even and at least 2, as planes of two dimensions turn: the "
                "authors' experiments have 8"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        shape = (dims.d_model, dims.num_heads, self.size)
        return {"weight": 0.5 * dims.d_model**-0.5 * jax.random.normal(key, shape, jnp.float32)}

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, H, P]``: p, in at least float32."""
        dtype = at_least_float32(x)
        weight = jnp.asarray(params["weight"]).astype(dtype)
        return jnp.einsum("bsm,mhp->bshp", x.astype(dtype), weight, precision="highest")

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        p = jnp.swapaxes(terms, 1, 2)
        mean = (p**2).mean(axis=-1, keepdims=True)
        unit = p * jax.lax.rsqrt(mean + jnp.finfo(p.dtype).eps)
        of_query = jnp.swapaxes(unit, 1, 2) if self.normalized == "both" else terms
        of_query = jnp.swapaxes(at_queries(of_query, geometry), 1, 2)
        of_key = rotate(unit, -geometry.k_positions[:, None], np.ones(self.size // 2), "half")
        inner = jnp.einsum("bhqp,bhkp->bhqk", of_query, of_key, precision="highest") / self.size
        slopes = geometry.own_heads(alibi_slopes(geometry.num_heads).astype(p.dtype))
        edges = jax.nn.log_sigmoid(inner) * slopes[None, :, None, None]
        if geometry.mask is not None:
            edges = jnp.where(geometry.mask, edges, 0)
        order = TokenOrder.of_keys(geometry)
        ordered = order.arrange(edges, axis=3)
        return order.restore(ordered.sum(axis=-1, keepdims=True) - jnp.cumsum(ordered, axis=-1), axis=3)
