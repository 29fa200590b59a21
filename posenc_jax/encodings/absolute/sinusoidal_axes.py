"""Sinusoidal absolute positions of several axes: rows and columns of an image, frames, rows and columns of a film."""

import dataclasses
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.absolute.sinusoidal import sinusoidal, sinusoidal_frequencies
from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited, of_field


def channels_per_axis(dim: int, axes: int) -> int:
    """``2 ceil(dim / (2 axes))``: the channels of each axis, even, at least ``dim`` together.

    >>> [channels_per_axis(d, 2) for d in (6, 8, 9)], [channels_per_axis(d, 3) for d in (11, 12, 32)]
    ([4, 4, 6], [4, 4, 12])
    """
    return 2 * -(-dim // (2 * axes))


def sinusoidal_axes(
    positions: Array, dim: int, *, base: float = 10000.0, dtype: Any = jnp.float32, **options: Any
) -> Array:
    """Vectors ``[..., dim]`` of positions ``[..., A]``: the sinusoidal vectors of the axes, one after the other.

    Each axis has `channels_per_axis` channels and the frequencies for that many; what exceeds ``dim`` is cut off at the
    end, so the last axis has fewer. NumPy positions give NumPy vectors, see `sinusoidal`, which takes ``options``.
    """
    axes = positions.shape[-1]
    channels = channels_per_axis(dim, axes)
    parts = [sinusoidal(positions[..., a], channels, base=base, dtype=dtype, **options) for a in range(axes)]
    return (np if isinstance(parts[0], np.ndarray) else jnp).concatenate(parts, axis=-1)[..., :dim]


@dataclasses.dataclass(frozen=True)
class SinusoidalAxes(PositionalEncoding):
    """Sinusoidal vectors of positions with several axes, added to the input embeddings::

        PE(p_1, ..., p_A) = [PE_c(p_1) | ... | PE_c(p_A)] without what exceeds d_model,   c = 2 ceil(d_model / 2A)
        PE_c(p)[2k] = sin(p base^(-2k/c)),   PE_c(p)[2k+1] = cos(p base^(-2k/c))

    In two dimensions by Wang and Liu (2019); widths that the axes do not divide and three dimensions as in
    the package positional-encodings (tatp22), whose code this follows. The exponents in its manual, 4k/d_model and
    6k/d_model, are those of its code only where 4 or 6 divides d_model: the code, and this, have -2k/c.

    Reads positions ``[#B, S, A]``, from the model or from `Grid`. Fractional positions are fine.

    Attributes:
      axes: the number A.
      base, frequencies, layout: as in `sinusoidal`.
      last_first: the vectors of the axes stand in reverse order: that of the last axis, the column, comes first.

    Big Vision's Simple ViT and MAE have the "half" layout and columns first; the names of MAE's code say rows, which
    its grid exchanges.

    Raises:
      ValueError: in `check`, if d_model is so small that the last axis would be cut off.

    >>> x = np.zeros((1, 1, 6), np.float32)
    >>> print(SinusoidalAxes().embed({}, x, Sequence(np.array([[[1, 2]]]), np.array([1]))).round(4))
    [[[ 0.8415  0.5403  0.01    1.      0.9093 -0.4161]]]
    """

    axes: int = 2
    base: float = 10000.0
    frequencies: Literal["vaswani", "tensor2tensor"] = "vaswani"
    layout: Literal["interleaved", "half"] = "interleaved"
    last_first: bool = False

    name = "sinusoidal_axes"
    paper = "arXiv:1908.11415"
    citation = """@misc{wang2019translating, author = {Wang, Z. and Liu, J.-C.}, title = {{Translating Math Formula
        Images to LaTeX Sequences Using Deep Neural Networks with Sequence-level Training}}, year = {2019},
        eprint = {1908.11415}}"""
    methods = (
        Method("absolute", "2-D sinusoidal", "grid(width=8)|sinusoidal_axes", "Wang & Liu 2019", use="W"),
        Method(
            "absolute",
            "3-D sinusoidal",
            "grid(width=4, height=4)|sinusoidal_axes(axes=3)",
            "tatp22 2020",
            "https://github.com/tatp22/multidim-positional-encoding",
            use="s",
        ),
        Method(
            "absolute",
            "2-D sinusoidal (MAE)",
            "grid(width=8)|sinusoidal_axes(layout='half', last_first=True)",
            "He et al. 2021",
            "arXiv:2111.06377",
            use="W",
        ),
        Method(
            "absolute",
            "2-D sinusoidal (Simple ViT)",
            "grid(width=8)|sinusoidal_axes(frequencies='tensor2tensor', layout='half', last_first=True)",
            "Beyer et al. 2022",
            "arXiv:2205.01580",
            use="W",
        ),
        Method(
            "absolute",
            "2-D sinusoidal of an image's size (DETR)",
            "grid(width=8)|image_positions(sizes=(8, 8), to='turn')|sinusoidal_axes",
            "Carion et al. 2020",
            "arXiv:2005.12872",
            "added to the input embeddings here, to the queries and keys of each layer in DETR",
            use="W",
        ),
    )
    limits = limited(axes=at_least(1, ": 2 for rows and columns"), base=above(0, ": the paper has 10000.0"))
    position_axes = of_field("axes")

    def check(self, dims: Dims) -> None:
        channels = channels_per_axis(dims.d_model, self.axes)
        if dims.d_model <= channels * (self.axes - 1):
            raise ValueError(
                f"SinusoidalAxes gives each of {self.axes} axes {channels} channels, but d_model = {dims.d_model} ends "
                f"before the last: choose a d_model that {2 * self.axes} divides, or fewer axes"
            )

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[ceil(d_model/2)]``, those of each axis after those of the one before it."""
        channels = channels_per_axis(dims.d_model, self.axes)
        every = np.tile(sinusoidal_frequencies(channels, self.base, self.frequencies), self.axes)
        return every[: -(-dims.d_model // 2)]

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x)
        positions = sequence.positions[..., ::-1] if self.last_first else sequence.positions
        rule = {"frequencies": self.frequencies, "layout": self.layout}
        vectors = sinusoidal_axes(positions, x.shape[-1], base=self.base, dtype=dtype, **rule)
        return (x.astype(dtype) + vectors).astype(x.dtype)
