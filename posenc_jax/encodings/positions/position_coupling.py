"""Positions for addition: digits of equal significance share a position, and numbers have an index; or the place of a
digit in its number (Abacus).
"""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.draws import Per, draw_keys
from posenc_jax.encodings.shared.runs import (
    check_ids,
    check_reading,
    check_tokens,
    index_in_run,
    kinds,
    largest,
    sum_before,
)


class _OfAdditions(PositionalEncoding):
    """The common part: token ids of digits and signs, and a start that is drawn in training."""

    digits: tuple[int, ...]
    plus: int
    equals: int
    then: int | None

    shift_invariant = True
    random = True
    position_axes = "any"

    @property
    def signs(self) -> tuple[int, ...]:
        """The ids of the signs: two, or three with a scratchpad."""
        return (self.plus, self.equals) if self.then is None else (self.plus, self.equals, self.then)

    def check_fields(self) -> None:
        name = type(self).__name__
        check_ids(f"{name}.digits", self.digits, "the ids of '0' to '9'")
        if len({*self.digits, *self.signs}) < len(self.digits) + len(self.signs) or min(self.signs) < 0:
            also = "" if self.then is None else f", then = {self.then}"
            raise ValueError(
                f"{name}.plus = {self.plus} and equals = {self.equals}{also} must be different token ids from 0 on "
                f"that are not among the digits {self.digits}"
            )

    def check(self, dims: Dims) -> None:
        check_reading(type(self).__name__, (*self.digits, *self.signs), dims)

    def moved(self, index: Array, last: Array, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """``index`` from the start on, 0 where it is negative; in training the start is drawn from 1 to ``last``."""
        start = jnp.ones((1, 1), jnp.int32)
        if train:
            keys = draw_keys(key, sequence, "example", type(self).__name__)
            draw = jax.vmap(lambda k, n: jax.random.randint(k, (), 1, n + 1, jnp.int32), in_axes=(None, 0))
            start = jax.vmap(draw)(keys, jnp.maximum(last, 1))  # from one key: equal for tokens with equal ranges
        return jnp.where(index >= 0, index + start, 0)


@dataclasses.dataclass(frozen=True)
class PositionCoupling(_OfAdditions):
    """Positions of an addition ``653+049=2070``, its sum written least significant digit first::

        a digit of significance i (units 1, tens 2, ...) -> s + i,   + and = -> s,   any other token -> 0
        s = 1 in evaluation;   s ~ U{1, ..., max_position - n} in training, n the digits of the longest number

    for the elements after it in the slot, `Learned` in the paper (Cho et al. 2024, section 3). This follows the
    authors' code, AdditionDatasetWithCoupledPositions with a reversed sum, where the least significant digit has the
    least position. Its form for more than two summands follows the same rule. There n is the length of the sum, which
    the longest number is. So in training every token has a part in the range of s.

    How many digits follow decides the position of a summand's digit that is written most significant first. So, by the
    nature of the method, such a summand must enter a cache in one call, and `breaks` names ``causality`` and
    ``cached_decoding``; with ``summands="least_significant_first"``, or for the sum, only earlier tokens matter.

    With ``then``, the id of a sign between numbers behind the equals sign, these are the partial sums of a scratchpad,
    ``12+3+45=000>210>510>060``, each of them coupled: the first of two levels of Cho et al. 2024b (arXiv:2410.15787),
    `NumberIndex` the second.

    Attributes:
      digits: the token ids of the digits (also of zeros that pad a number).
      plus, equals: the token ids of the two signs.
      max_position: the largest position in training, 132 in the authors' configuration for summands of up to 40 digits
        in training and 100 in evaluation.
      summands: the direction in which summands are written, that of the sum being fixed.
      then: the token id of the sign between partial sums; None without a scratchpad.

    A table after it needs rows for a whole line of digits, see `mapped_max_len`.

    >>> tokens = jnp.array([[6, 5, 3, 10, 0, 4, 9, 11, 2, 0, 7, 0]])
    >>> coupling = PositionCoupling(digits=tuple(range(10)), plus=10, equals=11)
    >>> coupling.map_positions(Sequence.of_length(12, tokens=tokens), key=None, train=False).tolist()
    [[4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5]]
    """

    digits: tuple[int, ...]
    plus: int
    equals: int
    max_position: int = 132
    summands: Literal["most_significant_first", "least_significant_first"] = "most_significant_first"
    then: int | None = None

    name = "position_coupling"
    paper = "arXiv:2405.20671"
    citation = """@inproceedings{cho2024position, author = {Cho, H. and Cha, J. and Awasthi, P. and Bhojanapalli, S.
        and Gupta, A. and Yun, C.}, title = {{Position Coupling: Improving Length Generalization of Arithmetic
        Transformers Using Task Structure}}, booktitle = {NeurIPS}, year = {2024}, eprint = {2405.20671}}"""
    methods = (
        Method(
            "positions",
            "Position coupling",
            "position_coupling(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), plus=11, equals=12)|learned",
            "Cho et al. 2024",
            note="for additions; a summand written most significant digit first must enter a cache in one call",
        ),
    )
    limits = limited(
        max_position=at_least(2, ", the position of the units at s = 1: the authors' configuration has 132")
    )

    @property
    def breaks(self) -> frozenset[str]:  # type: ignore[override]
        """Nothing if summands are written least significant digit first."""
        first = self.summands == "most_significant_first"
        return frozenset({"causality", "cached_decoding"}) if first else frozenset()

    def mapped_max_len(self, max_len: int) -> int:
        """Positions 0 .. max_position in training, 0 .. max_len + 1 for a line of digits."""
        return max(self.max_position + 1, max_len + 2)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("PositionCoupling", sequence)

        def significance_and_longest(whole: Sequence) -> Array:
            segments, digit, sign, equals = kinds(whole, self.digits, self.signs, (self.equals,))
            rising = index_in_run(digit, segments)
            falling = index_in_run(digit, segments, from_end=True)
            in_sum = sum_before(equals, segments) > 0
            index = rising if self.summands == "least_significant_first" else jnp.where(in_sum, rising, falling)
            return jnp.stack([jnp.where(digit | sign, index, -1), largest(rising, segments)], axis=-1)

        index, longest = jnp.moveaxis(sequence.from_context(significance_and_longest), -1, 0)
        return self.moved(index, self.max_position - longest, sequence, key=key, train=train)


@dataclasses.dataclass(frozen=True)
class NumberIndex(_OfAdditions):
    """Numbers an addition's numbers, ``12+3+45=000>210>510>060``, whose scratchpad has the partial sums::

        number m of the summands, or of the partial sums, from 0 -> s + m,   any other token -> 0
        s = 1 in evaluation;   s ~ U{1, ..., max_position - n + 1} in training, n the number of partial sums

    for the elements after it in the slot (Cho et al. 2024b, the second level of position coupling; the authors' code,
    MultipleAdditionScratchPadDatasetWithCoupledPositions). The digits of partial sum m are found beside those of
    summand m, as those of equal significance are by `PositionCoupling`. Further levels, as for products, are not here.
    A sign belongs to the number behind it, but a plus to the number before it where summands are written most
    significant digit first.

    Attributes:
      digits, plus, equals: as in `PositionCoupling`.
      then: the token id of the sign between partial sums.
      max_position: the largest position in training, for as many numbers as there are in training and evaluation.
      summands: as in `PositionCoupling`.

    In training the number of partial sums decides the range of s, so a line is numbered as a whole; in evaluation only
    earlier tokens matter.

    >>> tokens = jnp.array([[1, 2, 10, 3, 11, 0, 0, 12, 2, 1, 12, 5, 1]])  # 12+3=00>21>51
    >>> index = NumberIndex(digits=tuple(range(10)), plus=10, equals=11, then=12)
    >>> index.map_positions(Sequence.of_length(13, tokens=tokens), key=None, train=False).tolist()
    [[1, 1, 1, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3]]
    """

    digits: tuple[int, ...]
    plus: int
    equals: int
    then: int
    max_position: int = 32
    summands: Literal["most_significant_first", "least_significant_first"] = "most_significant_first"

    name = "number_index"
    paper = "arXiv:2410.15787"
    citation = """@inproceedings{cho2024arithmetic, author = {Cho, H. and Cha, J. and Bhojanapalli, S. and Yun, C.},
        title = {{Arithmetic Transformers Can Length-Generalize in Both Operand Length and Count}},
        booktitle = {ICLR 2025}, year = {2024}, eprint = {2410.15787}}"""
    methods = (
        Method(
            "positions",
            "Position coupling of two levels",
            "position_coupling(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), plus=11, equals=12, then=13)|learned"
            "|number_index(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), plus=11, equals=12, then=13)"
            "|learned(init_scale=0.01)",
            "Cho et al. 2024",
            note="for additions of several numbers with a scratchpad of partial sums; two tables must differ in a "
            "field",
        ),
    )
    limits = limited(max_position=at_least(1, ": the number of summands, or of partial sums, at least"))

    def mapped_max_len(self, max_len: int) -> int:
        """Positions 0 .. max_position in training, 0 .. max_len + 1 for a line of signs."""
        return max(self.max_position + 1, max_len + 2)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("NumberIndex", sequence)

        def number_and_count(whole: Sequence) -> Array:
            segments, known, plus, equals, then = kinds(
                whole, (*self.digits, *self.signs), (self.plus,), (self.equals,), (self.then,)
            )
            partial = sum_before(then, segments) + then.astype(jnp.int32)
            summand = sum_before(plus, segments) + (
                plus.astype(jnp.int32) if self.summands == "least_significant_first" else 0
            )
            behind = (sum_before(equals, segments) > 0) | equals
            index = jnp.where(behind, partial, summand)
            return jnp.stack([jnp.where(known, index, -1), largest(partial, segments) + 1], axis=-1)

        index, count = jnp.moveaxis(sequence.from_context(number_and_count), -1, 0)
        return self.moved(index, self.max_position - count + 1, sequence, key=key, train=train)


@dataclasses.dataclass(frozen=True)
class Abacus(PositionalEncoding):
    """Positions of digits within their number, for the elements after it in the slot::

        a digit -> its index in the run of digits, 1, 2, 3, ...,   plus u ~ U{0, ..., max_offset} in training
        any other token -> 0

    (McLeish et al. 2024, section 3; the authors' abacus.py). The paper's embedding is
    ``(Abacus(digits), Learned())``. With numbers written least significant digit first, which is what it is for, digits
    of equal significance share a row. An element that shall see plain positions stands before it:
    ``(RoPE(), Abacus(digits), Learned())``.

    Packed sequences and padding end a number. A token's neighbours decide, so chunks with a cache look back into it.
    The number of rows that a table needs is bounded by `mapped_max_len`, and `Learned` refuses a shorter one; in the
    authors' code nothing guards its 1024 rows.

    Attributes:
      digits: the token ids of the ten digits.
      max_offset: the largest u, 99 in the authors' code (max_k).
      per: one u for a "batch", as in the authors' code, or for each "example".

    >>> sequence = Sequence.of_length(6, tokens=jnp.array([[11, 3, 5, 12, 3, 10]]))
    >>> Abacus(digits=tuple(range(1, 11))).map_positions(sequence, key=None, train=False).tolist()
    [[0, 1, 2, 0, 1, 2]]
    """

    digits: tuple[int, ...]
    max_offset: int = 99
    per: Per = "batch"

    name = "abacus"
    paper = "arXiv:2405.17399"
    citation = """@inproceedings{mcleish2024transformers, author = {McLeish, S. and Bansal, A. and Stein, A. and
        Jain, N. and Kirchenbauer, J. and Bartoldson, B. R. and Kailkhura, B. and Bhatele, A. and Geiping, J. and
        Schwarzschild, A. and Goldstein, T.}, title = {{Transformers Can Do Arithmetic with the Right Embeddings}},
        booktitle = {NeurIPS}, year = {2024}, eprint = {2405.17399}}"""
    methods = (
        Method(
            "positions",
            "Abacus",
            "abacus(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))|learned",
            "McLeish et al. 2024",
            note="the token ids of the digits are those of the task",
        ),
    )
    shift_invariant = True
    random = True
    position_axes = "any"
    limits = limited(max_offset=at_least(0, ": the paper has 99, 0 is none"))

    def check_fields(self) -> None:
        check_ids("Abacus.digits", self.digits, "the ids of '0' to '9'")

    def check(self, dims: Dims) -> None:
        check_reading("Abacus.digits", self.digits, dims)

    def mapped_max_len(self, max_len: int) -> int:
        return max_len + 1 + self.max_offset

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("Abacus", sequence)

        def indices(whole: Sequence) -> Array:
            segments, digit = kinds(whole, self.digits)
            return index_in_run(digit, segments)

        index = sequence.from_context(indices)
        if not train:
            return index
        keys = draw_keys(key, sequence, self.per, "Abacus")
        offset = jax.vmap(lambda k: jax.random.randint(k, (), 0, self.max_offset + 1, jnp.int32))(keys)
        return jnp.where(index > 0, index + offset[:, None], 0)
