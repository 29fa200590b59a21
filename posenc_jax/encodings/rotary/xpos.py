"""xPos: rotation with an exponential decay per plane (Sun et al. 2022)."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.phase import sincos, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, check_planes, turn

_LARGEST_EXPONENT = 80.0  # float32 and bfloat16 end at exp(88.7): a factor of 6000 is left for the values themselves


def decay_bases(dim: int, gamma: float) -> np.ndarray:
    """``zeta_k = (2k + gamma dim) / ((1 + gamma) dim)`` for the planes k = 0 .. dim/2-1, float64: each decays to
    ``zeta_k`` over ``scale_base`` positions.

    >>> decay_bases(4, 0.4).round(4).tolist()
    [0.2857, 0.6429]
    """
    return (2 * np.arange(dim // 2) + gamma * dim) / ((1 + gamma) * dim)


@dataclasses.dataclass(frozen=True)
class XPos(PositionalEncoding):
    """RoPE whose planes decay exponentially with distance, the fast ones most::

        q'_i = R(i) q_i zeta^((i - c)/b),   k'_j = R(j) k_j zeta^-((j - c)/b)
        q'_i . k'_j = sum over planes k of zeta_k^((i - j)/b) (R(i) q_i)_k . (R(j) k_j)_k

    (Sun et al. 2022, section 3 and algorithm 1; `decay_bases` for zeta.)

    The product does not depend on c, its factors do: a key at p is multiplied by up to 3.5**((p - c)/512). The authors'
    code and x-transformers put c in the middle of what they are given, so that c moves as a sequence grows; here it is
    a constant, and cached decoding is the full pass. 0 serves up to 32 thousand positions in float32 and bfloat16;
    beyond, put it into the middle. Defined under a causal mask: a key after its query would be enlarged.

    Attributes:
      base, layout: as in `RoPE`.
      scale_base: b, 512 in the paper.
      gamma: see `decay_bases`, 0.4 in the paper.
      center: c, a position.

    Raises:
      ValueError: in `check`, if head_dim is odd or the largest factor would overflow.
    """

    base: float = 10000.0
    layout: Layout = "interleaved"
    scale_base: float = 512.0
    gamma: float = 0.4
    center: int = 0

    name = "xpos"
    paper = "arXiv:2212.10554"
    citation = """@inproceedings{sun2023length, author = {Sun, Y. and Dong, L. and Patra, B. and Ma, S. and Huang, S.
        and Benhaim, A. and Chaudhary, V. and Song, X. and Wei, F.}, title = {{A Length-Extrapolatable Transformer}},
        booktitle = {ACL}, year = {2023}, eprint = {2212.10554}}"""
    methods = (Method("rotary", "xPos", "xpos", "Sun et al. 2022", use="s"),)
    shift_invariant = True
    causal_only = True
    limits = limited(
        base=above(0, ": the paper has 10000.0"),
        scale_base=above(0, ": the paper has 512.0"),
        gamma=above(0, ": the paper has 0.4"),
    )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)
        farthest = max(abs(dims.max_len - 1 - self.center), abs(self.center))
        steepest = -math.log(decay_bases(dims.head_dim, self.gamma)[0])
        if farthest * steepest / self.scale_base > _LARGEST_EXPONENT:
            raise ValueError(
                f"XPos multiplies keys by {math.exp(steepest):.3g} per {self.scale_base:g} positions from center = "
                f"{self.center}, which overflows float32 within max_len = {dims.max_len}: set center = "
                f"{dims.max_len // 2}, or a larger scale_base"
            )

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        return vaswani_frequencies(dims.head_dim, self.base)

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return self._encode(q, positions, 1.0)

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        return self._encode(k, positions, -1.0)

    def _encode(self, x: Array, positions: Array, sign: float) -> Array:
        dim, dtype = x.shape[-1], at_least_float32(x)
        logs = (np.log(decay_bases(dim, self.gamma)) * (sign / self.scale_base)).astype(dtype)
        factors = jnp.exp(jnp.asarray(positions - self.center).astype(dtype)[..., None] * logs[None, None])
        sin, cos = sincos(positions, vaswani_frequencies(dim, self.base), dtype)
        return turn(x, (sin * factors)[:, None], (cos * factors)[:, None], self.layout)
