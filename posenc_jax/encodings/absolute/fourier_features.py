"""Fourier features of continuous positions: random ones, as in SAM, bands, as in NeRF and Perceiver, and learned ones,
as in Time2Vec.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited, of_field


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


@dataclasses.dataclass(frozen=True)
class Time2Vec(PositionalEncoding):
    """A vector of the position, of learned frequencies and phases, added to the input embeddings::

        x_p + t(p),   t(p)[0] = w_0 p + c_0,   t(p)[m] = sin(w_m p + c_m),   m = 1 .. d_model - 1

    (Kazemi et al. 2019, section 4, equation 1, with the sine.) For positions that are times: fractions are fine, and
    w rescales whatever unit they are in. The linear part tells times apart that lie a period from each other.

    The paper appends the vector to the other features of an input; adding it is the same when the first layer is
    linear. The paper leaves initial values open: here w_m falls from 1 to 1e-4 in equal steps of its logarithm, w_0 is
    1e-4 and phases are uniform in a turn. Re-implementations draw both from a normal distribution, which makes
    whole-number positions alias from the start.

    Parameters: ``frequencies`` (w) and ``phases`` (c), ``[d_model]`` each.
    """

    name = "time2vec"
    paper = "arXiv:1907.05321"
    citation = """@misc{kazemi2019time, author = {Kazemi, S. M. and Goel, R. and Eghbali, S. and Ramanan, J. and Sahota,
        J. and Thakur, S. and Wu, S. and Smyth, C. and Poupart, P. and Brubaker, M.}, title = {{Time2Vec: Learning a
        Vector Representation of Time}}, year = {2019}, eprint = {1907.05321}}"""
    methods = (
        Method("absolute", "Time2Vec", "time2vec", "Kazemi et al. 2019", note="positions may be times", use="s"),
    )
    breaks = frozenset({"precision"})

    def init(self, key: Key, dims: Dims) -> Params:
        frequencies = jnp.logspace(0, -4, max(dims.d_model - 1, 1))[: dims.d_model - 1]
        return {
            "frequencies": jnp.concatenate([jnp.full(1, 1e-4), frequencies]).astype(jnp.float32),
            "phases": jax.random.uniform(key, (dims.d_model,), jnp.float32, maxval=2 * math.pi),
        }

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        frequencies, phases = (jnp.asarray(params[name])[None, None] for name in ("frequencies", "phases"))
        dtype = at_least_float32(x, frequencies)
        positions = jnp.asarray(sequence.positions).astype(dtype)[..., None]
        angles = positions * frequencies.astype(dtype) + phases.astype(dtype)
        vectors = jnp.concatenate([angles[..., :1], jnp.sin(angles[..., 1:])], axis=-1)
        return (x.astype(dtype) + vectors).astype(x.dtype)


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
