"""Rotary positions that every token sets for itself, per head: CARoPE (Veisi et al. 2025) and RePo (Li et al. 2025)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, check_planes
from posenc_jax.encodings.shared.token_order import TokenOrder, phase_scores


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


@dataclasses.dataclass(frozen=True)
class RePo(PositionalEncoding):
    """RoPE at positions that are real numbers, which each head computes from the token instead of counting::

        logits_ij = q_i . R(z_j - z_i) k_j / sqrt(D),   z_t = ((silu(x_t W_g) * (x_t W_c)) W_z)_h

    (Li et al. 2025, Context Re-Positioning, section 3, in the form of the authors' code, ``SakanaAI/repo``,
    ``swigluex_multihead``.) x is the block's input, R the rotation of `RoPE`. Positions are not looked at: the order of
    tokens is in the causal mask alone, and the first layer of a model of RePo sees none. The authors have it in the
    upper layers, with RoPE in the lower ones, which a pattern of layers can do.

    Departures: their code can begin training with a mixture of z and of usual positions, which is not here. They have
    as many key heads as query heads; here each query head has positions of its own, for its key too.

    Attributes:
      base, layout: those of the rotation, by default OLMo 2's.
      width: that of W_g and W_c; None for an eighth of d_model, as in the authors' code.

    Parameters: ``gate`` (W_g) and ``content`` (W_c) ``[d_model, width]``, ``position`` (W_z) ``[width, H]``, all N(0,
    0.02^2), so that all positions start near 0. Angles are plain products in at least float32.

    Raises:
      ValueError: in `check`, if head_dim is odd.
    """

    base: float = 500000.0
    layout: Layout = "half"
    width: int | None = None

    name = "repo"
    paper = "arXiv:2512.14391"
    citation = """@misc{li2025repo, author = {Li, H. and Zhao, T. and Sproat, R.}, title = {{RePo: Language Models with
        Context Re-Positioning}}, year = {2025}, eprint = {2512.14391}}"""
    methods = (Method("data-dependent", "RePo", "repo", "Li et al. 2025", note="in the upper layers, with RoPE below"),)
    shift_invariant = True
    causal_only = True
    per_layer = True
    terms_by_head = True
    breaks = frozenset({"blocks"})  # a query's position is that of its own key
    position_axes = "any"
    limits = limited(
        base=above(0, ": OLMo 2 has 500000.0"), width=at_least(1, ", or None for an eighth of d_model", most=65536)
    )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)

    def init(self, key: Key, dims: Dims) -> Params:
        width = self.width or max(1, dims.d_model // 8)
        narrow = dims.d_model, width
        return normals(key, {"gate": narrow, "content": narrow, "position": (width, dims.num_heads)})

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, H]``: z, in at least float32."""
        dtype = at_least_float32(x)
        gate, content, position = (params[name].astype(dtype) for name in ("gate", "content", "position"))
        product = functools.partial(jnp.matmul, precision="highest")  # it becomes a phase
        x = x.astype(dtype)
        return product(jax.nn.silu(product(x, gate)) * product(x, content), position)

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        frequencies = vaswani_frequencies(q.shape[-1], self.base).astype(dtype)
        phases = terms.astype(dtype)[..., None] * frequencies[None, None, None]
        return phase_scores(q, k, phases, geometry, self.layout)
