"""Position coupling for addition: digits of equal significance share a position."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import draw_keys
from posenc_jax.encodings.shared.runs import (
    check_ids,
    check_reading,
    check_tokens,
    index_in_run,
    kinds,
    largest,
    sum_before,
)
from posenc_jax.encodings.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class PositionCoupling(PositionalEncoding):
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

    Fields: ``digits`` the token ids of the digits (also of zeros that pad a number); ``plus``, ``equals`` those of the
    two signs; ``max_position`` the largest position in training, 132 in the authors' configuration for summands of up
    to 40 digits in training and 100 in evaluation; ``summands`` their direction, that of the sum being fixed.

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
            paper,
            "for additions; a summand written most significant digit first must enter a cache in one call",
        ),
    )
    shift_invariant = True
    random = True
    limits = limited(
        max_position=at_least(2, ", the position of the units at s = 1: the authors' configuration has 132")
    )

    @property
    def breaks(self) -> frozenset[str]:  # type: ignore[override]
        """Nothing if summands are written least significant digit first."""
        first = self.summands == "most_significant_first"
        return frozenset({"causality", "cached_decoding"}) if first else frozenset()

    position_axes = "any"

    def check_fields(self) -> None:
        check_ids("PositionCoupling.digits", self.digits, "the ids of '0' to '9'")
        if len({*self.digits, self.plus, self.equals}) < len(self.digits) + 2 or min(self.plus, self.equals) < 0:
            raise ValueError(
                f"PositionCoupling.plus = {self.plus} and equals = {self.equals} must be two token ids from 0 on that "
                f"are not among the digits {self.digits}"
            )

    def check(self, dims: Dims) -> None:
        check_reading("PositionCoupling", (*self.digits, self.plus, self.equals), dims)

    def mapped_max_len(self, max_len: int) -> int:
        """Positions 0 .. max_position in training, 0 .. max_len + 1 for a line of digits."""
        return max(self.max_position + 1, max_len + 2)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        check_tokens("PositionCoupling", sequence)

        def significance_and_longest(whole: Sequence) -> Array:
            segments, digit, sign, equals = kinds(whole, self.digits, (self.plus, self.equals), (self.equals,))
            rising = index_in_run(digit, segments)
            falling = index_in_run(digit, segments, from_end=True)
            in_sum = sum_before(equals, segments) > 0
            index = rising if self.summands == "least_significant_first" else jnp.where(in_sum, rising, falling)
            return jnp.stack([jnp.where(digit | sign, index, -1), largest(rising, segments)], axis=-1)

        index, longest = jnp.moveaxis(sequence.from_context(significance_and_longest), -1, 0)
        start = jnp.ones((1, 1), jnp.int32)
        if train:
            keys = draw_keys(key, sequence, "example", "PositionCoupling")
            last = jnp.maximum(self.max_position - longest, 1)
            draw = jax.vmap(lambda k, n: jax.random.randint(k, (), 1, n + 1, jnp.int32), in_axes=(None, 0))
            start = jax.vmap(draw)(keys, last)  # from one key: equal for tokens with equal ranges
        return jnp.where(index >= 0, index + start, 0)
