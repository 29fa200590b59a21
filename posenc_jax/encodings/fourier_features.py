"""Fourier features of continuous positions: random ones, as in SAM, and bands, as in NeRF and Perceiver."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.value import above, at_least, limited, of_field


@dataclasses.dataclass(frozen=True)
class RandomFourier(PositionalEncoding):
    """Sines and cosines of random projections of a position, added to the input embeddings; nothing is trained::

        x_p + [cos(2 pi B p) | sin(2 pi B p)],   B [d_model/2, A] ~ N(0, scale^2), drawn once

    (Tancik et al. 2020, equation 4 and section 6, where an MLP reads them.) The inner product of two positions is about
    ``d_model/2 exp(-2 pi^2 scale^2 |p - p'|^2)``. Positions ``[#B, S, A]`` that are fractions of an image, as from
    `ImagePositions`: 0 .. 1 in the paper, -1 .. 1 in Segment Anything (Kirillov et al. 2023), whose code has sines
    first (``sines_first``) and the column first in a position, which permutes B.

    Attributes:
      axes: A, the number of a position's coordinates.
      scale: the standard deviation: 10 in the paper's images, 1 in Segment Anything.
      sines_first: the sines come before the cosines.

    Parameters, which are not trained: ``matrix [d_model/2, A]``.

    Raises:
      ValueError: in `check`, for an odd d_model.
    """

    axes: int = 2
    scale: float = 10.0
    sines_first: bool = False

    name = "random_fourier"
    paper = "arXiv:2006.10739"
    citation = """@inproceedings{tancik2020fourier, author = {Tancik, M. and Srinivasan, P. P. and Mildenhall, B. and
        Fridovich-Keil, S. and Raghavan, N. and Singhal, U. and Ramamoorthi, R. and Barron, J. T. and Ng, R.},
        title = {{Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains}},
        booktitle = {NeurIPS}, year = {2020}, eprint = {2006.10739}}"""
    methods = (
        Method(
            "absolute",
            "Random Fourier features",
            "grid(width=8)|image_positions(sizes=(8, 8), to='unit')|random_fourier",
            "Tancik et al. 2020",
            use="s",
        ),
        Method(
            "absolute",
            "Random Fourier features (Segment Anything)",
            "grid(width=8)|image_positions(sizes=(8, 8))|random_fourier(scale=1, sines_first=True)",
            "Kirillov et al. 2023",
            "arXiv:2304.02643",
            use="W",
        ),
    )
    frozen = frozenset({"matrix"})
    limits = limited(
        axes=at_least(1, ": 2 for images, 3 for volumes"), scale=above(0, ": the paper has 10, Segment Anything 1")
    )
    position_axes = of_field("axes")

    def check(self, dims: Dims) -> None:
        if dims.d_model % 2:
            raise ValueError(f"{self} pairs a sine with a cosine, so d_model = {dims.d_model} must be even")

    def init(self, key: Key, dims: Dims) -> Params:
        return {"matrix": self.scale * jax.random.normal(key, (dims.d_model // 2, self.axes), jnp.float32)}

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        matrix = jnp.asarray(params["matrix"])
        dtype = at_least_float32(x, matrix)
        positions = jnp.asarray(sequence.positions).astype(dtype)
        angles = 2 * np.pi * jnp.einsum("bsa,fa->bsf", positions, matrix.astype(dtype), precision="highest")
        parts = [jnp.cos(angles), jnp.sin(angles)]
        features = jnp.concatenate(parts[::-1] if self.sines_first else parts, axis=-1)
        return (x.astype(dtype) + features).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class FourierBands(PositionalEncoding):
    """Sines and cosines of a position's coordinates in bands of frequency, through a learned projection, added to the
    input embeddings::

        x_p + g(p) W,   g(p) = for each axis [sin(f_0 pi p_a), cos(f_0 pi p_a), ..., sin(f_(L-1) pi p_a), cos( ... )]

    NeRF (Mildenhall et al. 2020, equation 4): f_l = 2^l, L = 10; the authors' code leaves pi out and puts the
    coordinates before the features. Perceiver (Jaegle et al. 2021, section 3.2): f_l from 1 to n/2 in equal steps, n
    the resolution, and the coordinates themselves before the features of all axes; of these all sines come first.
    Positions ``[#B, S, axes]`` in -1 .. 1, as from `ImagePositions` to "corners". Both concatenate g with the other
    features before a linear layer, which is a sum of two projections; W is one of them.

    Attributes:
      axes: the number of a position's coordinates.
      bands: L, 10 in NeRF.
      resolution: n, or None for NeRF's octaves.

    Parameters: ``weight [features, d_model]``, Glorot uniform; features are 2 L axes, with a resolution 2 L axes +
    axes.
    """

    axes: int = 2
    bands: int = 10
    resolution: int | None = None

    name = "fourier_bands"
    paper = "arXiv:2003.08934"
    citation = """@inproceedings{mildenhall2020nerf, author = {Mildenhall, B. and Srinivasan, P. P. and Tancik, M. and
        Barron, J. T. and Ramamoorthi, R. and Ng, R.}, title = {{NeRF: Representing Scenes as Neural Radiance Fields for
        View Synthesis}}, booktitle = {ECCV}, year = {2020}, eprint = {2003.08934}}"""
    methods = (
        Method(
            "absolute",
            "Fourier features in octaves (NeRF)",
            "grid(width=8)|image_positions(sizes=(8, 8), to='corners')|fourier_bands",
            "Mildenhall et al. 2020",
            use="W",
        ),
        Method(
            "absolute",
            "Fourier features in linear bands (Perceiver)",
            "grid(width=8)|image_positions(sizes=(8, 8), to='corners')|fourier_bands(bands=64, resolution=224)",
            "Jaegle et al. 2021",
            "arXiv:2103.03206",
            use="W",
        ),
    )
    limits = limited(
        axes=at_least(1, ": 2 for images, 3 for volumes"),
        bands=at_least(1, ": NeRF has 10", most=64),
        resolution=at_least(2, ", or None for octaves: Perceiver has 224"),
    )
    position_axes = of_field("axes")

    @property
    def breaks(self) -> frozenset[str]:  # type: ignore[override]
        """Coordinates far outside the image are too large for bfloat16 embeddings."""
        return frozenset() if self.resolution is None else frozenset({"precision"})

    def band_frequencies(self) -> np.ndarray:
        """``[L]`` float64, f_l."""
        if self.resolution is None:
            return 2.0 ** np.arange(self.bands)
        return np.linspace(1.0, self.resolution / 2, self.bands)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[axes L]``, radians per unit of the positions."""
        return np.tile(np.pi * self.band_frequencies(), self.axes)

    def init(self, key: Key, dims: Dims) -> Params:
        features = self.axes * (2 * self.bands + (self.resolution is not None))
        return {"weight": jax.nn.initializers.glorot_uniform()(key, (features, dims.d_model), jnp.float32)}

    def features(self, positions: Array) -> Array:
        """``[..., features]`` of positions ``[..., axes]``, in their dtype."""
        frequencies = (np.pi * self.band_frequencies()).astype(positions.dtype)
        scaled = positions[..., None] * frequencies.reshape((1,) * positions.ndim + (-1,))
        sin, cos = jnp.sin(scaled), jnp.cos(scaled)
        shape = (*positions.shape[:-1], -1)
        if self.resolution is None:
            return jnp.stack([sin, cos], axis=-1).reshape(shape)
        return jnp.concatenate([positions, sin.reshape(shape), cos.reshape(shape)], axis=-1)

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        weight = jnp.asarray(params["weight"])
        dtype = at_least_float32(x, weight)
        features = self.features(jnp.asarray(sequence.positions).astype(dtype))
        vectors = jnp.einsum("bsf,fm->bsm", features, weight.astype(dtype), precision="highest")
        return (x.astype(dtype) + vectors).astype(x.dtype)
