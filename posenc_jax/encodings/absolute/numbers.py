"""Numbers in a text by their value, of tokens that stand for one: FoNE and xVal."""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.absolute.attributes import read_attributes
from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field

_NUMBER = at_least(0, ": it is the id of the token that stands for numbers")
_COLUMN = at_least(0, ": attributes are counted from 0", most=4095)


class OfNumbers(PositionalEncoding):
    """The common part: tokens with the id ``number`` stand for the number in attribute ``column``."""

    number: int
    column: int

    shift_invariant = True
    position_axes = "any"
    needs_attributes = of_field("column", lambda column: column + 1)

    def check(self, dims: Dims) -> None:
        if dims.vocab_size and self.number >= dims.vocab_size:
            raise ValueError(
                f"{self} reads token {self.number} as a number, and the vocabulary ends at {dims.vocab_size - 1}: "
                "number is the id of the token that stands for numbers"
            )

    def values(self, sequence: Sequence, dtype: Any) -> tuple[Array, Array]:
        """``[B, S, 1]`` each: which tokens stand for a number, and it, 1 for tokens that stand for none."""
        if sequence.tokens is None:
            raise ValueError(
                f"{type(self).__name__} tells numbers from words by token ids, and the sequence has none: pass tokens="
            )
        found = jnp.asarray(read_attributes(self, sequence)[..., self.column]).astype(dtype)
        stands = jnp.asarray(sequence.tokens) == self.number
        return stands[..., None], jnp.where(stands, found, jnp.ones((), dtype))[..., None]


@dataclasses.dataclass(frozen=True)
class FoNE(OfNumbers):
    """Cosines and sines of a number, one pair for each digit, added to the embedding of a token that stands for it::

        x_t + [phi(v, 10^(1-a)) | ... | phi(v, 10^b) | 0 ... 0]     where token t stands for v
        phi(v, T) = (cos(2 pi v / T), sin(2 pi v / T))

    (Zhou et al. 2025, section 3.1.) Each pair encodes v modulo T, which determines one digit; a digits are behind the
    point and b before it. Other tokens are unchanged. The authors' code has a linear map behind the pairs, and by
    default periods of 2 and 5 times powers of ten, two pairs a digit. What the output layer reads of numbers is a
    matter of the model.

    Attributes:
      number: the id of the token that stands for numbers.
      before: b, how many digits there are before the point.
      after: a, how many digits there are behind the point.
      column: which attribute is the value, from 0 (`Sequence.attributes`).

    Raises:
      ValueError: in `check`, if ``number`` is no token, or if d_model is less than two for each digit; and for a
        sequence without tokens or attributes.
    """

    number: int
    before: int = 5
    after: int = 5
    column: int = 0

    name = "fone"
    paper = "arXiv:2502.09741"
    citation = """@misc{zhou2025fone, author = {Zhou, T. and Fu, D. and Soltanolkotabi, M. and Jia, R. and Sharan, V.},
        title = {{FoNE: Precise Single-Token Number Embeddings via Fourier Features}}, year = {2025},
        eprint = {2502.09741}}"""
    methods = (
        Method(
            "absolute",
            "FoNE",
            "fone(number=3, before=4, after=3)",
            "Zhou et al. 2025",
            note="reads numbers, the first attribute of tokens with the id 3",
            use="s",
        ),
    )
    limits = limited(
        number=_NUMBER,
        before=at_least(1, ": digits before the point", most=38),
        after=at_least(0, ": digits behind the point", most=38),
        column=_COLUMN,
    )

    def check(self, dims: Dims) -> None:
        super().check(dims)
        if dims.d_model < 2 * (self.before + self.after):
            raise ValueError(
                f"{self} has two dimensions for each of {self.before + self.after} digits, more than d_model = "
                f"{dims.d_model}: lower before or after, or raise d_model"
            )

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x)
        stands, values = self.values(sequence, dtype)
        periods = 10.0 ** np.arange(1 - self.after, self.before + 1)
        turns = values / jnp.asarray(periods, dtype)[None, None]
        angles = 2 * math.pi * (turns - jnp.round(turns))
        pairs = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1).reshape(*turns.shape[:2], -1)
        pairs = jnp.where(stands, pairs, jnp.zeros((), dtype))
        padded = jnp.pad(pairs, ((0, 0), (0, 0), (0, x.shape[2] - pairs.shape[2])))
        return (x.astype(dtype) + padded).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class XVal(OfNumbers):
    """The embedding of a token that stands for a number, times the number::

        x_t v     where token t stands for v,      x_t for all other tokens

    (Golkar et al. 2023, section 2.) What adds positions to embeddings stands after it, so that these are not scaled:
    ``xval(number=3)|learned``. Numbers are brought into -5 .. 5 in the paper's data; LayerNorm takes the size of larger
    ones away. The number that is read off the output, by a head of its own, is a matter of the model.

    Attributes:
      number: the id of the token that stands for numbers.
      column: which attribute is the value, from 0 (`Sequence.attributes`).

    Raises:
      ValueError: in `check`, if ``number`` is no token; and for a sequence without tokens or attributes.
    """

    number: int
    column: int = 0

    name = "xval"
    paper = "arXiv:2310.02989"
    citation = """@misc{golkar2023xval, author = {Golkar, S. and Pettee, M. and Eickenberg, M. and Bietti, A. and
        Cranmer, M. and Krawezik, G. and Lanusse, F. and McCabe, M. and Ohana, R. and Parker, L. and others},
        title = {{xVal: A Continuous Number Encoding for Large Language Models}}, year = {2023},
        eprint = {2310.02989}}"""
    methods = (
        Method(
            "absolute",
            "xVal",
            "xval(number=3)|learned",
            "Golkar et al. 2023",
            note="reads numbers, the first attribute of tokens with the id 3",
            use="s",
        ),
    )
    limits = limited(number=_NUMBER, column=_COLUMN)

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x)
        return (x.astype(dtype) * self.values(sequence, dtype)[1]).astype(x.dtype)
