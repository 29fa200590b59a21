"""Addition of numbers of many digits, of two or of several."""

import dataclasses
from typing import Any, Literal

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, PAD, prompted
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

PLUS = NUM_SPECIAL
FIRST_DIGIT = NUM_SPECIAL + 1


@dataclasses.dataclass(frozen=True)
class Addition(RangedTask):
    """Add numbers of n digits, written with zeros in front: ``BOS 653+049= -> 2070 EOS``, the sum backwards.

    One of the summands, any of them alike, has n digits; each other has 1 to n, drawn uniformly, and zeros before them.
    A number's first digit is not 0 unless it is its only one. The sum has as many digits as the largest sum of so many
    summands of n digits, n + 1 for up to ten; its units come first.

    Attributes:
      min_length, max_length: digits n of training sums; 1 to 30 for position coupling, 1 to 20 for Abacus.
      num_summands: how many numbers, 2 to 100.
      summands: which of their digits comes first, the most significant one as people write them (position coupling), or
        the least significant one (Abacus).

    Published is exact match of the whole sum. Guessing the digits has ``0.1 ** (n + 1)``.

    Tokens: PAD 0, BOS 1, ``=`` 2 (SEP), EOS 3, ``+`` 4, the digits 5 to 14. Encodings that read digits are, for this
    task, ``abacus(digits=(5, 6, 7, 8, 9, 10, 11, 12, 13, 14))|learned`` and
    ``position_coupling(digits=(5, 6, 7, 8, 9, 10, 11, 12, 13, 14), plus=4, equals=2)|learned``; the second needs
    ``summands='least_significant_first'`` where the task has it.

    >>> task = Addition(max_length=3)
    >>> task.describe(task.example(jax.random.key(0), 3, 3))
    'BOS 4 8 7 + 0 4 8 = -> 5 3 5 0 EOS'

    Departures: examples without end instead of a set; the authors of position coupling draw numbers of n digits
    uniformly, those of Abacus pairs of lengths.

    Errors: ValueError for numbers of summands outside 2 .. 100, and for lengths as in `RangedTask`.

    References: Cho et al., "Position Coupling: Improving Length Generalization of Arithmetic Transformers Using Task
    Structure", 2024, sections 3 and 4; McLeish et al., "Transformers Can Do Arithmetic with the Right Embeddings",
    2024.
    """

    min_length: int = 1
    max_length: int = 30
    num_summands: int = 2
    summands: Literal["most_significant_first", "least_significant_first"] = "most_significant_first"

    name = "addition"
    citation = """@inproceedings{cho2024position, author = {Cho and others}, title = {{Position Coupling: Improving
        Length Generalization of Arithmetic Transformers Using Task Structure}}, booktitle = {NeurIPS}, year = {2024},
        eprint = {2405.20671}}
        @inproceedings{mcleish2024transformers, author = {McLeish and others}, title = {{Transformers Can Do
        Arithmetic with the Right Embeddings}}, booktitle = {NeurIPS}, year = {2024}, eprint = {2405.17399}}"""
    metric = "exact_match"
    length_unit = "digits"
    limits = limited(num_summands=at_least(2, most=100))
    token_names = ("PAD", "BOS", "=", "EOS", "+", *"0123456789")
    vocab_size = len(token_names)

    def width(self, max_length: int) -> int:
        """BOS, summands and signs, and the sum."""
        return 1 + self.num_summands * (max_length + 1) + self.sum_length(max_length)

    def sum_length(self, length: Any) -> Any:
        """Digits of the sum for a (traced) ``length``: a carry is below the number of summands."""
        return length + len(str(self.num_summands - 1))

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        digits = self._digits(key, length, max_length)
        count, total = self.num_summands, self.sum_length(max_length)
        sums = carried(jnp.pad(jnp.sum(digits, axis=0), (0, total - max_length)), 10)
        index = jnp.arange(count * (max_length + 1) - 1)
        number, within = index // (length + 1), index % (length + 1)
        if self.summands == "most_significant_first":
            within = jnp.where(within == length, length, length - 1 - within)
        summand = digits[jnp.minimum(number, count - 1), jnp.clip(within, 0, max_length - 1)]
        prompt = jnp.where(within == length, PLUS, FIRST_DIGIT + summand)
        prompt_length = count * (length + 1) - 1
        prompt = jnp.where(index < prompt_length, prompt, PAD)
        return prompted(prompt, prompt_length, FIRST_DIGIT + sums, self.sum_length(length))

    def _digits(self, key: Array, length: Array, max_length: int) -> Array:
        """``[num_summands, max_length]`` digits, units first, 0 beyond each number's own."""
        count = self.num_summands
        digit_key, first_key, own_key, longest_key = jax.random.split(key, 4)
        own = 1 + integers(own_key, (count,), length)
        own = jnp.where(jnp.arange(count) == integers(longest_key, (), count), length, own)[:, None]
        # Drawn digit by digit, so that a longer padding draws the same.
        digits = integers(digit_key, (max_length * count,), 10).reshape(max_length, count).T
        first = 1 + integers(first_key, (count,), 9)[:, None]
        index = jnp.arange(max_length)[None]
        digits = jnp.where((index == own - 1) & (own > 1), first, digits)
        return jnp.where(index < own, digits, 0)


def carried(columns: Array, base: int) -> Array:
    """``[S]`` digits, units first, of ``sum_i columns_i base^i``; what is carried beyond the last one is lost.

    >>> carried(jnp.array([12, 9, 9, 0]), 10).tolist()
    [2, 0, 0, 1]
    """

    def add(carry: Any, column: Any) -> tuple[Any, Any]:
        total = carry + column
        return total // base, total % base

    return jax.lax.scan(add, jnp.int32(0), columns)[1]
