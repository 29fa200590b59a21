"""RePo: rotary positions that every token computes for itself, per head (Li et al. 2025)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from posenc_jax.encodings.arrays import at_least_float32
from posenc_jax.encodings.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.accumulated_phase import phase_scores
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, check_planes
from posenc_jax.encodings.value import above, at_least, limited


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
