"""Learned absolute positions: a table with one row per position."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Key,
    Params,
    PositionalEncoding,
    Sequence,
    at_least_float32,
    by_token,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class Learned(PositionalEncoding):
    """A learned vector per position, added to the input embeddings (Gehring et al. 2017, section 3.1; BERT, GPT-2)::

        x_p + table[p],   table [max_len, d_model] ~ N(0, init_scale^2)

    Fractional positions read a linear blend of the two rows around them. Implementations differ beyond the table, so
    ``beyond`` says what becomes of a position below 0 or past the end:

    - "error": `check` refuses a model whose ``dims.max_len`` exceeds the table and NumPy positions raise. Traced
      positions cannot raise: they give NaN, which no loss hides.
    - "nan": NaN, whether positions are known or traced.
    - "clamp": the nearest row.
    - "interpolate": if the length exceeds the table, positions are stretched linearly so that position length-1 reads
      the last row (linear blends in between); what is still outside is clamped.

    Tokens of segment 0 (padding) are clamped instead of NaN: a NaN there would reach real tokens through attention.

    d_model may be anything. Nothing about it is shift invariant.

    Attributes:
      max_len: the rows of the table; None for the model's ``dims.max_len`` and those of ``offset``.
      init_scale: the standard deviation of the initial rows (0.02 in BERT and GPT-2).
      beyond: what becomes of a position below 0 or past the end, as above.
      offset: the rows before that of position 0, which are in ``max_len`` and which no position reads (2 in OPT and
        RoBERTa).

    >>> table = {"table": np.array([[0.0], [1.0], [4.0]], np.float32)}
    >>> x = np.zeros((1, 5, 1), np.float32)
    >>> Learned(3, beyond="clamp").embed(table, x, Sequence.of_length(5))[0, :, 0].tolist()
    [0.0, 1.0, 4.0, 4.0, 4.0]
    >>> Learned(3, beyond="interpolate").embed(table, x, Sequence.of_length(5))[0, :, 0].tolist()
    [0.0, 0.5, 1.0, 2.5, 4.0]
    """

    max_len: int | None = None
    init_scale: float = 0.02
    beyond: Literal["error", "nan", "clamp", "interpolate"] = "error"
    offset: int = 0

    name = "learned"
    paper = "arXiv:1705.03122"
    citation = """@inproceedings{gehring2017convolutional, author = {Gehring, J. and Auli, M. and Grangier, D. and
        Yarats, D. and Dauphin, Y. N.}, title = {{Convolutional Sequence to Sequence Learning}}, booktitle = {ICML},
        year = {2017}, eprint = {1705.03122}}"""
    methods = (Method("absolute", "Learned absolute", "learned", "Gehring et al. 2017", use="W"),)
    extrapolates = False
    limits = limited(max_len=at_least(1, ", or None for the model's own"), offset=at_least(0))

    def check_fields(self) -> None:
        if self.max_len is not None and self.max_len <= self.offset:
            raise ValueError(
                f"Learned.max_len = {self.max_len} counts all rows, and offset = {self.offset} of them come before "
                "that of position 0: raise max_len, or lower offset"
            )

    def check(self, dims: Dims) -> None:
        needed = dims.max_len + self.offset
        if self.beyond == "error" and self.max_len is not None and needed > self.max_len:
            before = f" after the first {self.offset} rows" if self.offset else ""
            raise ValueError(
                "a learned table shorter than an evaluated length: "
                f"Learned.max_len = {self.max_len}, but {dims.max_len} positions occur{before}: "
                f"raise max_len to {needed}, or name beyond='interpolate', 'clamp' or 'nan'"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        shape = (dims.max_len + self.offset if self.max_len is None else self.max_len, dims.d_model)
        return {"table": self.init_scale * jax.random.normal(key, shape, jnp.float32)}

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        table, positions = params["table"][self.offset :] if self.offset else params["table"], sequence.positions
        dtype = at_least_float32(x, table)
        last = table.shape[0] - 1
        if self.beyond == "interpolate":
            positions = _stretch(positions, sequence.length, last)
        if self.beyond in ("clamp", "interpolate"):
            positions = positions.clip(0, last)
        else:
            positions = padding_inside(positions, sequence.segment_ids, last)
            if self.beyond == "error" and (outside := known_outside(positions, last)).size:
                raise ValueError(
                    f"position {outside.flat[0]} is outside the learned table of {last + 1 + self.offset} rows "
                    f"(0 .. {last}): raise max_len, or name beyond='interpolate', 'clamp' or 'nan'"
                )
        return (x.astype(dtype) + read_rows(table, positions).astype(dtype)).astype(x.dtype)


def _stretch(positions: Array, length: Array, last: int) -> Array:
    """Positions ``[#B, S]``, scaled where the length exceeds the table so that ``length - 1`` becomes ``last``."""
    known = isinstance(positions, np.ndarray) and isinstance(length, np.ndarray)
    if known and (length <= last + 1).all():
        return positions
    xp, dtype = (np, np.float64) if known else (jnp, at_least_float32(positions))
    length = xp.asarray(by_token(length)).astype(dtype)
    # Divided first: exactly 1 at the end, whatever the rounding.
    return xp.where(length > last + 1, positions / xp.maximum(length - 1, 1) * last, positions)


def padding_inside(positions: Array, segments: Array | None, last: int) -> Array:
    """Positions ``[#B, S]`` with those of segment 0 (padding) clamped to 0 .. last: a NaN there would reach real tokens
    through attention.
    """
    if segments is None or (isinstance(positions, np.ndarray) and not known_outside(positions, last).size):
        return positions
    xp = np if isinstance(positions, np.ndarray) and isinstance(segments, np.ndarray) else jnp
    return xp.where(segments == 0, positions.clip(0, last), positions)


def known_outside(positions: Array, last: int) -> np.ndarray:
    """The positions outside 0 .. last, NaN among them; none of those that are traced."""
    if not isinstance(positions, np.ndarray):
        return np.zeros(0)
    return positions[~((positions >= 0) & (positions <= last))]


def read_rows(table: Array, positions: Array) -> Array:
    """Rows of ``table [L, M]`` at ``positions``, ``positions.shape + (M,)``; NaN outside 0 .. L-1.

    Fractional positions blend the rows around them linearly. Positions known to be contiguous are a slice, whose
    gradient is a pad. All others are a gather, which is far faster on CPU than a product with one-hot vectors. Its
    gradient is a scatter-add: where positions repeat within a batch, a GPU adds in any order unless XLA is told to be
    deterministic.
    """
    last = table.shape[0] - 1
    if not jnp.issubdtype(positions.dtype, jnp.integer):
        xp = np if isinstance(positions, np.ndarray) else jnp
        below = xp.floor(positions)
        fraction = xp.asarray(positions - below)[..., None].astype(at_least_float32(table))
        outside = (positions < 0) | (positions > last) | xp.isnan(positions)
        lower = xp.where(outside, -1, below).astype(np.int32)
        upper = xp.where(outside, -1, xp.ceil(positions)).astype(np.int32)
        return (1 - fraction) * read_rows(table, lower) + fraction * read_rows(table, upper)
    if isinstance(positions, np.ndarray) and positions.size:
        first = positions.flat[0]
        steps = first + np.arange(positions.shape[-1])
        if positions.size == steps.size and first >= 0 and steps[-1] <= last and (positions == steps).all():
            return jnp.asarray(table)[first : first + steps.size].reshape(*positions.shape, table.shape[1])
    positions = positions.astype(jnp.promote_types(positions.dtype, np.int32))  # the number of rows has to fit
    inside = jnp.where((positions < 0) | (positions > last), last + 1, positions)
    return jnp.asarray(table).at[inside].get(mode="fill", fill_value=jnp.nan)
