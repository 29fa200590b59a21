"""Learned Fourier features: absolute positions of any number of axes through trained frequencies and a small MLP."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.value import above, at_least, limited, of_field


def fourier_features(positions: Array, frequencies: Array) -> Array:
    """``F**-0.5 [cos(W x), sin(W x)]``, ``[..., F]``, of positions x ``[..., A]`` by frequencies W ``[F/2, A]``.

    The inner product of two of them is the mean of ``cos(W (x - y))`` over the rows of W, halved.
    """
    angles = jnp.einsum("...a,fa->...f", positions, frequencies, precision="highest")
    return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], axis=-1) * (2 * frequencies.shape[0]) ** -0.5


@dataclasses.dataclass(frozen=True)
class LearnedFourier(PositionalEncoding):
    """Learned Fourier features of positions with one or more axes, through an MLP, added to the input embeddings::

        r_x = F^(-1/2) [cos(W_r x) | sin(W_r x)],   W_r [F/2, A] ~ N(0, gamma^-2)
        x_p + GeLU(r_x W_1 + b_1) W_2 + b_2,        W_1 [F, hidden], W_2 [hidden, d_model]

    (Li et al. 2021, equations 2 and 6, algorithm 1, for one group of axes; the paper has several, which share their
    weights). All are trained. At the start the inner product of r_x and r_y is about ``exp(-|x - y|^2 / (2 gamma^2)) /
    2``: positions closer than gamma look alike. Re-implementations often take gamma^-2 for the standard deviation, not
    the variance; ``gamma=g*g`` gives theirs.

    Relied on: the equations, which several public implementations share. These differ in what the equations leave
    open: here GeLU is the exact one and W_1, W_2 start Glorot uniform, b_1, b_2 at 0.

    Reads plain positions, or ``[#B, S, A]`` from the model or from `Grid`. Fractional positions are fine.

    Attributes:
      axes: the number A, or None for plain positions.
      gamma: a distance in units of positions, to be tuned (the default is that of a public implementation's example).
      features: the number F, None for d_model (rounded up to even).
      hidden: the width of the MLP.
    """

    axes: int | None = None
    gamma: float = 10.0
    features: int | None = None
    hidden: int = 32

    name = "learned_fourier"
    paper = "arXiv:2106.02795"
    citation = """@inproceedings{li2021learnable, author = {Li, Y. and Si, S. and Li, G. and Hsieh, C.-J. and Bengio,
        S.}, title = {{Learnable Fourier Features for Multi-Dimensional Spatial Positional Encoding}},
        booktitle = {NeurIPS}, year = {2021}, eprint = {2106.02795}}"""
    methods = (
        Method("absolute", "Learned Fourier features", "grid(width=8)|learned_fourier(axes=2)", "Li et al. 2021"),
    )
    limits = limited(
        axes=at_least(1), features=at_least(1), hidden=at_least(1), gamma=above(0, ": a distance between positions")
    )
    position_axes = of_field("axes")

    def check_fields(self) -> None:
        if self.features is not None and self.features % 2:
            raise ValueError(f"LearnedFourier.features = {self.features} must be even: half cosines, half sines")

    def init(self, key: Key, dims: Dims) -> Params:
        """``w_r [F/2, A]``, ``w_1 [F, hidden]``, ``b_1 [hidden]``, ``w_2 [hidden, d_model]``, ``b_2 [d_model]``."""
        half = -(-dims.d_model // 2) if self.features is None else self.features // 2
        keys = jax.random.split(key, 3)
        glorot = jax.nn.initializers.glorot_uniform()
        return {
            "w_r": jax.random.normal(keys[0], (half, self.axes or 1), jnp.float32) / self.gamma,
            "w_1": glorot(keys[1], (2 * half, self.hidden), jnp.float32),
            "b_1": jnp.zeros((self.hidden,), jnp.float32),
            "w_2": glorot(keys[2], (self.hidden, dims.d_model), jnp.float32),
            "b_2": jnp.zeros((dims.d_model,), jnp.float32),
        }

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x, params["w_r"])
        w_r, w_1, b_1, w_2, b_2 = (params[name].astype(dtype) for name in ("w_r", "w_1", "b_1", "w_2", "b_2"))
        positions = jnp.asarray(sequence.positions, dtype)
        if self.axes is None:
            positions = positions[..., None]
        features = fourier_features(positions, w_r)
        hidden = jnp.einsum("bsf,fh->bsh", features, w_1, precision="highest") + b_1[None, None]
        hidden = jax.nn.gelu(hidden, approximate=False)
        vectors = jnp.einsum("bsh,hm->bsm", hidden, w_2, precision="highest") + b_2[None, None]
        return (x.astype(dtype) + vectors).astype(x.dtype)
