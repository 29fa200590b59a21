"""Sinusoidal absolute positions, in the form of the paper and in that of tensor2tensor."""

import dataclasses
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.frequency_designs import FrequencyDesign
from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import sincos, tensor2tensor_frequencies, vaswani_frequencies

Frequencies = tuple[float, ...] | FrequencyDesign | Literal["vaswani", "tensor2tensor"]
Layout = Literal["interleaved", "half"]
Odd = Literal["error", "pad", "zero"]


def sinusoidal_frequencies(dim: int, base: float = 10000.0, frequencies: Frequencies = "vaswani") -> np.ndarray:
    """The ``dim // 2`` frequencies of an even ``dim``, radians per position, float64.

    By name, `vaswani_frequencies` or `tensor2tensor_frequencies`; those of a design, which may refuse ``base`` or
    ``dim``; or the given ones.

    Raises:
      ValueError: another number of them is given.
    """
    if frequencies == "vaswani":
        return vaswani_frequencies(dim, base)
    if frequencies == "tensor2tensor":
        return tensor2tensor_frequencies(dim, 1.0, base)
    if isinstance(frequencies, FrequencyDesign):
        return frequencies.frequencies(base, dim)
    if len(frequencies) != dim // 2:
        raise ValueError(
            f"{len(frequencies)} frequencies are given, but {dim} dimensions are {dim // 2} pairs of a sine and a "
            "cosine: give one frequency per pair"
        )
    return np.array(frequencies, np.float64)


def sinusoidal(
    positions: Array,
    dim: int,
    *,
    base: float = 10000.0,
    frequencies: Frequencies = "vaswani",
    layout: Layout = "interleaved",
    odd: Odd = "error",
    dtype: Any = jnp.float32,
) -> Array:
    """Sinusoidal position vectors of shape ``positions.shape + (dim,)``.

    Interleaved, as in the paper: ``PE[p, 2k] = sin(p w_k)``, ``PE[p, 2k+1] = cos(p w_k)``; "half" has all sines first,
    then all cosines (a permutation). ``w_k`` is ``base ** (-2k/dim)`` ("vaswani") or ``base ** (-k / (dim/2 - 1))``
    ("tensor2tensor", see `tensor2tensor_frequencies`), or as `sinusoidal_frequencies` says. The inner product of rows a
    and b is the sum of ``cos((a - b) w_k)``, a function of a - b, and every row has squared norm dim/2.

    An odd ``dim`` is an error unless a policy is named: "pad" takes the vectors of dim + 1 without the last column,
    "zero" those of dim - 1 with a column of zeros appended.

    NumPy positions give a NumPy table, built in float64; the values are exact at every int32 position (see `sincos`).
    """
    if dim % 2:
        if odd == "error":
            raise ValueError(_odd_message(dim))
        even = _even(dim, odd)
        table = sinusoidal(positions, even, base=base, frequencies=frequencies, layout=layout, dtype=dtype)[..., :dim]
        xp = np if isinstance(table, np.ndarray) else jnp
        return xp.pad(table, [(0, 0)] * (table.ndim - 1) + [(0, dim - table.shape[-1])])

    sin, cos = sincos(positions, sinusoidal_frequencies(dim, base, frequencies), dtype)
    xp = np if isinstance(sin, np.ndarray) else jnp
    if layout == "half":
        return xp.concatenate([sin, cos], axis=-1)
    return xp.stack([sin, cos], axis=-1).reshape(*sin.shape[:-1], dim)


def _even(dim: int, odd: Odd) -> int:
    return dim + dim % 2 if odd == "pad" else dim - dim % 2


def _odd_message(dim: int) -> str:
    return f"sinusoidal vectors pair a sine with a cosine, but the dimension is {dim}: name odd='pad' or odd='zero'"


@dataclasses.dataclass(frozen=True)
class Sinusoidal(PositionalEncoding):
    """Sinusoidal position vectors added to the input embeddings (Vaswani et al. 2017, section 3.5)::

        x_p + scale * PE[p],   PE[p] . PE[p'] = sum_k cos((p - p') w_k)

    See `sinusoidal` for the equation, the two families of frequencies and odd dimensions. The product of two position
    vectors is shift invariant; logits are not, since the projections also mix positions with content. The
    paper multiplies token embeddings by sqrt(d_model) before this sum, which is left to the model. tensor2tensor's own
    form is ``frequencies="tensor2tensor", layout="half", odd="zero"``.

    Attributes:
      base: the inverse of the frequency that pair d/2 would have, one more than there are: with 10000 the longest
        wavelength is 9646.6 x 2 pi at d_model 512.
      frequencies: as in `sinusoidal`. Beside the two families it takes numbers, one per pair of dimensions, and designs
        of this project with low side lobes (module `frequency_designs`).
      layout, odd: as in `sinusoidal`.
      scale: a factor on the vectors.
      offset: rows of the table before that of position 0: 2 in fairseq and XGLM.

    Raises:
      ValueError: in `check`, for an odd d_model without a named policy, and for one that the frequencies do not fit.

    >>> print(Sinusoidal().embed({}, np.zeros((1, 2, 4), np.float32), Sequence.of_length(2)).round(4))
    [[[0.     1.     0.     1.    ]
      [0.8415 0.5403 0.01   1.    ]]]
    """

    base: float = 10000.0
    frequencies: Frequencies = "vaswani"
    layout: Layout = "interleaved"
    odd: Odd = "error"
    scale: float = 1.0
    offset: int = 0

    name = "sinusoidal"
    paper = "arXiv:1706.03762"
    citation = """@inproceedings{vaswani2017attention, author = {Vaswani, A. and Shazeer, N. and Parmar, N. and
        Uszkoreit, J. and Jones, L. and Gomez, A. N. and Kaiser, L. and Polosukhin, I.}, title = {{Attention Is All
        You Need}}, booktitle = {NeurIPS}, year = {2017}, eprint = {1706.03762}}"""
    methods = (
        Method("absolute", "Sinusoidal", "sinusoidal", "Vaswani et al. 2017", use="W"),
        Method(
            "absolute",
            "Sinusoidal, tensor2tensor's form",
            "sinusoidal(frequencies='tensor2tensor', layout='half', odd='zero')",
            "Vaswani et al. 2018",
            "arXiv:1803.07416",
            use="W",
        ),
    )
    limits = limited(base=above(0, ": the paper has 10000.0"), offset=at_least(0))

    def check_fields(self) -> None:
        if isinstance(self.frequencies, tuple):
            if not self.frequencies:
                raise ValueError(
                    f"Sinusoidal.frequencies = {self.frequencies} must be numbers, radians per position, one per pair "
                    "of dimensions"
                )
            if self.base != 10000.0:
                raise ValueError(f"Sinusoidal.base = {self.base} does nothing beside given frequencies: leave it out")

    def check(self, dims: Dims) -> None:
        if dims.d_model % 2 and self.odd == "error":
            raise ValueError(_odd_message(dims.d_model))
        self.frequencies_for(dims)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """One for each sine and cosine; of an odd d_model for those of the even one that is computed."""
        return sinusoidal_frequencies(_even(dims.d_model, self.odd), self.base, self.frequencies)

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x)
        vectors = sinusoidal(
            sequence.positions + self.offset if self.offset else sequence.positions,
            x.shape[-1],
            base=self.base,
            frequencies=self.frequencies,
            layout=self.layout,
            odd=self.odd,
            dtype=dtype,
        )
        return (x.astype(dtype) + self.scale * vectors).astype(x.dtype)
