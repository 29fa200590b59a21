"""Wavelets of the distance in place of learned relative vectors (Oka et al. 2025)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Params,
    PositionalEncoding,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class Wavelet(PositionalEncoding):
    """Shaw's relative vectors, but fixed ones: one wavelet of the distance for each dimension of the head::

        logits_ij += q_i . p(i - j) / sqrt(D)
        p_n(t) = psi((t - b_n) / a_n),   psi(x) = (1 - x^2) exp(-x^2 / 2),   a = 1, 2, 4, ..., 2^(s-1),
                                                                            b = 0, 1, ..., D/s - 1

    (Oka et al. 2025, section 5, equations 10 to 14: Ricker wavelets of one height.) All pairs of a scale a and a shift
    b occur, scales in the outer loop, as in equation 13; their order is a permutation of dimensions. t is the distance
    from the query back to the key, so later keys are at negative distances. Positions may be fractions. Nothing is
    trained and distances are not clipped: a wavelet is nearly 0 beyond 6 a, so the widest reaches some 6 2^(s-1) tokens
    back. Choose s for the lengths to be read.

    Attributes:
      scales: s, 8 in the paper for heads of 128 dimensions.

    Raises:
      ValueError: in `check`, if the scales do not divide head_dim.
    """

    scales: int = 8

    name = "wavelet"
    paper = "arXiv:2502.02004"
    citation = """@inproceedings{oka2025wavelet, author = {Oka, Y. and Hasegawa, T. and Nishida, K. and Saito, K.},
        title = {{Wavelet-based Positional Representation for Long Context}}, booktitle = {ICLR}, year = {2025},
        eprint = {2502.02004}}"""
    methods = (
        Method(
            "relative",
            "Wavelet positions",
            "wavelet(scales=4)",
            "Oka et al. 2025",
            note="8 scales for heads of 128 dimensions there",
        ),
    )
    shift_invariant = True
    limits = limited(scales=at_least(1, ": the paper has 8 for heads of 128 dimensions", most=32))

    def check(self, dims: Dims) -> None:
        if dims.head_dim % self.scales:
            raise ValueError(
                f"Wavelet.scales = {self.scales} must divide head_dim = {dims.head_dim}, of which each dimension has a "
                "scale and a shift"
            )

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        """``[B, H, Q, K]``, summed wavelet by wavelet, so that no vector per pair is kept."""
        dtype = at_least_float32(q)
        head_dim = q.shape[-1]
        scale, shift = (axis.ravel() for axis in np.indices((self.scales, head_dim // self.scales)))
        distance = -jnp.asarray(geometry.relative).astype(dtype)

        @jax.checkpoint
        def add(total: jax.Array, own: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
            queries, a, b = own
            square = jnp.square((distance - b) / a)
            wave = (1 - square) * jnp.exp(-square / 2)
            return total + queries[..., None] * wave[:, None], None

        queries = jnp.moveaxis(q.astype(dtype) * head_dim**-0.5, -1, 0)
        steps = queries, jnp.asarray(2.0**scale, dtype), jnp.asarray(shift, dtype)
        first, _ = add(jnp.zeros((), dtype), tuple(a[0] for a in steps))  # of the devices that its inputs are on
        total, _ = jax.lax.scan(add, first, tuple(a[1:] for a in steps))
        return total
