"""CARoPE: rotary frequencies that every token sets for itself, per head (Veisi et al. 2025)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.arrays import at_least_float32
from posenc_jax.encodings.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.accumulated_phase import phase_scores
from posenc_jax.encodings.shared.rotation import Layout, check_planes
from posenc_jax.encodings.shared.token_order import TokenOrder
from posenc_jax.encodings.value import above, limited


@dataclasses.dataclass(frozen=True)
class CARoPE(PositionalEncoding):
    """RoPE whose base frequency is a function of the token, so that each token moves the phases by its own steps::

        phi_k(m) = sum_(t <= m) f(x_t)^k,   f(x) = 1 / (1 + softplus(x W + b)),   k = 0 .. D/2 - 1

    per head (Veisi et al. 2025, section 2; x the block's input, which the paper calls the token's embedding). Plane k
    of query and key is turned by its token's phi_k. With ``f = theta = base^(-2/D)`` for all tokens it is `RoPE`, whose
    frequencies are theta^k; the fastest plane, k = 0, turns by one radian a token in both. Tokens are counted along
    their sequence by places: positions are not looked at.

    Departure: the paper starts from RoPE and does not say how; W alone, which is all it has, cannot be a constant. Here
    W starts at 0 and a bias b at the value of theta. Only a decoder's self-attention has it, as in the paper.

    Attributes:
      base: that of the RoPE that it starts from.
      layout: which dimensions make a plane, see `RoPE`.

    Parameters: ``weight`` ``[d_model, H]``, ``bias`` ``[H]``.

    Raises:
      ValueError: in `check`, if head_dim is odd, or 2: a single plane has no frequency to set.
    """

    base: float = 10000.0
    layout: Layout = "interleaved"

    name = "carope"
    paper = "arXiv:2507.23083"
    citation = """@misc{veisi2025context, author = {Veisi, A. and Fartoot, D. and Amirzadeh, H.},
        title = {{Context-aware Rotary Position Embedding}}, year = {2025}, eprint = {2507.23083}}"""
    methods = (Method("data-dependent", "CARoPE", "carope", "Veisi et al. 2025"),)
    shift_invariant = True
    causal_only = True
    per_layer = True
    terms_by_head = True
    breaks = frozenset({"blocks"})  # phases need all tokens between query and key
    position_axes = "any"
    limits = limited(base=above(1, ", for frequencies below 1: the paper has 10000"))

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, least=4)  # tokens' frequencies turn all but the first

    def init(self, key: Key, dims: Dims) -> Params:
        """``weight``: zeros ``[d_model, H]``; ``bias``: ``[H]``, the inverse of f at ``base^(-2/D)``."""
        step = self.base ** (2 / dims.head_dim) - 1  # softplus(b)
        bias = step + np.log(-np.expm1(-step))
        return {
            "weight": jnp.zeros((dims.d_model, dims.num_heads), jnp.float32),
            "bias": jnp.full((dims.num_heads,), bias, jnp.float32),
        }

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, H]``: log f, in at least float32."""
        dtype = at_least_float32(x)
        weight, bias = (params[name].astype(dtype) for name in ("weight", "bias"))
        product = jnp.matmul(x.astype(dtype), weight, precision="highest")  # it becomes a phase
        return -jnp.log1p(jax.nn.softplus(product + bias[None, None]))

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        order = TokenOrder.of_keys(geometry)
        dtype = at_least_float32(q, k)
        exponents = np.arange(q.shape[-1] // 2, dtype=dtype)
        frequencies = jnp.exp(order.arrange(terms.astype(dtype))[..., None] * exponents[None, None, None])
        return phase_scores(q, k, order.restore(order.sums(frequencies)), geometry, self.layout)
