"""Path-integral additive GRAPE: biases summed along the tokens between key and query (Zhang et al. 2025)."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.alibi import alibi_slopes
from posenc_jax.encodings.arrays import at_least_float32
from posenc_jax.encodings.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.grape_m import GRAPEM
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.rotation import rotate
from posenc_jax.encodings.shared.token_order import TokenOrder, at_queries


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
