"""Needles in a haystack: keys with values among other tokens, and a question about some of them."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import MANY, Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, SPECIAL_NAMES, prompted
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

FIRST_DIGIT = NUM_SPECIAL
AFTER_DIGITS = NUM_SPECIAL + 10


@dataclasses.dataclass(frozen=True)
class Needles(RangedTask):
    """Find values by their keys: ``BOS ... k_1 7 3 ... k_2 0 5 ... k_1 SEP -> 7 3 EOS``.

    A haystack of n tokens has ``num_keys * num_values`` needles, each a key and ``value_digits`` random digits,
    anywhere and in any order without overlap. Behind it ``num_queries`` of the keys are asked for. The answer is all
    values of the first one, in the order of the haystack, then those of the next. Many keys make it RULER's multi-key
    task, many values its multi-value task, and many queries its multi-query task.

    Attributes:
      min_length, max_length: tokens n of a training haystack.
      num_keys, num_values, num_queries, value_digits: as above; RULER has 4 keys, 4 values or 4 queries, and seven
        digits.
      num_key_names: keys are drawn from so many, no two alike.
      num_fillers: different tokens of the haystack, all up to 1048576.
      haystack: "random" draws them, "repeated" has them in turn, as one sentence again and again.

    Published is the share of values found (RULER); here exact match of all of them, beside the accuracy of their
    digits. A digit is guessed right in a tenth of cases, the answer in ``0.1 ** digits``.

    Tokens: PAD 0, BOS 1, SEP 2, EOS 3, the digits 4 to 13, the keys, then those of the haystack.

    >>> task = Needles(min_length=12, max_length=16, num_keys=2, value_digits=2)
    >>> task.describe(task.example(jax.random.key(0), 16, 16))
    'BOS .48 .61 .51 .39 .14 .59 .51 .55 .56 k55 2 4 k16 3 5 .14 k55 SEP -> 2 4 EOS'

    Errors: ValueError for haystacks too short for their needles, numbers below 1, more queries than keys, and fewer key
    names than keys.

    References: Hsieh et al., "RULER: What's the Real Context Size of Your Long-Context Language Models?", 2024, section
    3 and appendix B; the table that is compared with is table 1 of "Extending the Context of Pretrained LLMs by
    Dropping Their Positional Embeddings", 2025, arXiv:2512.12167.
    """

    min_length: int = 64
    max_length: int = 256
    num_keys: int = 4
    num_values: int = 1
    num_queries: int = 1
    value_digits: int = 4
    num_key_names: int = 64
    num_fillers: int = 64
    haystack: Literal["random", "repeated"] = "random"

    name = "needles"
    citation = """@inproceedings{hsieh2024ruler, author = {Hsieh and others}, title = {{RULER: What's the Real
        Context Size of Your Long-Context Language Models?}}, booktitle = {COLM}, year = {2024},
        eprint = {2404.06654}}"""
    metric = "exact_match"
    length_unit = "tokens of the haystack"
    limits = limited(
        **dict.fromkeys(("num_keys", "num_values", "num_queries", "value_digits", "num_key_names", "num_fillers"), MANY)
    )

    @property
    def shortcut(self) -> str:  # type: ignore[override]
        return "" if self.shortcut_score(()) is None else "the value of any key"

    def shortcut_score(self, lengths: Sequence[int]) -> float | None:
        one_of_several = self.num_keys > 1 and self.num_values == self.num_queries == 1
        return 1 / self.num_keys if one_of_several else None

    @property
    def least_length(self) -> int:
        return self._num_needles * (1 + self.value_digits)

    @property
    def _num_needles(self) -> int:
        return self.num_keys * self.num_values

    def check_fields(self) -> None:
        super().check_fields()
        name = type(self).__name__
        for fewer, more in (("num_queries", "num_keys"), ("num_keys", "num_key_names")):
            least, most = getattr(self, fewer), getattr(self, more)
            if least > most:
                raise ValueError(
                    f"{name}: {fewer} = {least} must be at most {more} = {most}: no key is there twice; lower it"
                )

    @property
    def vocab_size(self) -> int:
        return AFTER_DIGITS + self.num_key_names + self.num_fillers

    @property
    def token_names(self) -> tuple[str, ...]:
        keys, fillers = range(self.num_key_names), range(self.num_fillers)
        return (*SPECIAL_NAMES, *"0123456789", *(f"k{i}" for i in keys), *(f".{i}" for i in fillers))

    @property
    def _num_answers(self) -> int:
        return self.num_queries * self.num_values * self.value_digits

    def width(self, max_length: int) -> int:
        """BOS, haystack, questions, SEP and the answer."""
        return max_length + self.num_queries + self._num_answers + 2

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        name_key, order_key, index_key, digit_key, filler_key = jax.random.split(key, 5)
        count, size = self._num_needles, 1 + self.value_digits
        names = AFTER_DIGITS + jax.random.permutation(name_key, self.num_key_names)[: self.num_keys]
        of_needle = jax.random.permutation(order_key, count) % self.num_keys  # of the first one, the second one, ...
        digits = FIRST_DIGIT + integers(digit_key, (count * self.value_digits,), 10).reshape(count, self.value_digits)
        needles = jnp.concatenate([names[of_needle][:, None], digits], axis=1)
        starts = self._starts(index_key, length, max_length)
        indices = starts[:, None] + jnp.arange(size)[None]
        prompt = jnp.pad(self._fillers(filler_key, max_length), (0, self.num_queries)).at[indices].set(needles)
        index = jnp.arange(max_length + self.num_queries)
        asked = names[jnp.clip(index - length, 0, self.num_queries - 1)]
        prompt = jnp.where(index >= length, asked, prompt)
        wanted = jnp.argsort(of_needle, stable=True)[: self.num_queries * self.num_values]
        return prompted(prompt, length + self.num_queries, digits[wanted].reshape(-1), self._num_answers)

    def _starts(self, key: Array, length: Array, max_length: int) -> Array:
        """The first positions of needles; all ways to put them are equally likely. With one token for each needle, a
        draw chooses which tokens are needles; then each needle gets its full length.
        """
        count, more = self._num_needles, self.value_digits
        slots = max_length - count * more
        draws = jnp.where(
            jnp.arange(slots) < length - count * more, jax.random.bits(key, (slots,)) >> 1, jnp.uint32(2**31)
        )
        chosen = jnp.sort(jnp.argsort(draws, stable=True)[:count])
        return chosen + more * jnp.arange(count)

    def _fillers(self, key: Array, max_length: int) -> Array:
        first = AFTER_DIGITS + self.num_key_names
        if self.haystack == "repeated":
            return first + jnp.arange(max_length) % self.num_fillers
        return first + integers(key, (max_length,), self.num_fillers)


@dataclasses.dataclass(frozen=True)
class Passkey(Needles):
    """Find the one number in a text that repeats itself: ``BOS ... k0 4 7 1 1 3 ... k0 SEP -> 4 7 1 1 3 EOS``.

    `Needles` with one key, whose name is always the same, and a haystack of ``num_fillers`` tokens in turn, which
    stand for the words of the repeated sentences. Exact match is the score; a digit is guessed right in a tenth of
    cases.

    Attributes:
      min_length, max_length: tokens of a training haystack.
      value_digits: digits of the number, 5 in the source.
      num_fillers: tokens of what is repeated.
      haystack: "repeated", or "random" for other tokens everywhere.
      num_keys, num_values, num_queries, num_key_names: 1, as everything else would be `Needles`.

    >>> task = Passkey(min_length=9, max_length=12, num_fillers=4)
    >>> task.describe(task.example(jax.random.key(0), 12, 12))
    'BOS .0 .1 .2 k0 2 4 3 5 2 .1 .2 .3 k0 SEP -> 2 4 3 5 2 EOS'

    Departure: the source says the number twice, in words.

    Errors: ValueError for more than one key, and those of `Needles`.

    Reference: Mohtashami and Jaggi, "Landmark Attention: Random-Access Infinite Context Length for Transformers", 2023,
    section 4.2.
    """

    num_keys: int = 1
    value_digits: int = 5
    num_key_names: int = 1
    num_fillers: int = 24
    haystack: Literal["random", "repeated"] = "repeated"

    name = "passkey"
    citation = """@inproceedings{mohtashami2023landmark, author = {Mohtashami and Jaggi}, title = {{Landmark
        Attention: Random-Access Infinite Context Length for Transformers}}, booktitle = {NeurIPS}, year = {2023},
        eprint = {2305.16300}}"""

    def check_fields(self) -> None:
        super().check_fields()
        for field in ("num_keys", "num_values", "num_queries", "num_key_names"):
            if getattr(self, field) != 1:
                raise ValueError(f"Passkey: {field} = {getattr(self, field)} must be 1: take the task needles for more")


@dataclasses.dataclass(frozen=True)
class PhoneBook(RangedTask):
    """Look up one number: ``BOS a b 5 5 0 7, c d 1 9 3 2, ... c d SEP -> 1 9 3 2 EOS`` among n names with numbers.

    A name is a first and a last name, drawn so that no two of the n are alike; numbers are random digits. The name that
    is asked for is any of them. Entries follow one another without a comma.

    Attributes:
      min_length, max_length: entries n of a training book.
      num_first_names, num_last_names: how many there are.
      number_digits: digits of a number.

    Exact match of the number and EOS. A digit is guessed right in a tenth of cases, a number of the book in ``1 / n``.

    Tokens: PAD 0, BOS 1, SEP 2, EOS 3, the digits 4 to 13, the first names, then the last names.

    >>> task = PhoneBook(max_length=3)
    >>> task.describe(task.example(jax.random.key(0), 3, 3))
    'BOS f10 l21 7 2 4 5 f27 l31 5 3 0 1 f14 l6 5 1 8 4 f27 l31 SEP -> 5 3 0 1 EOS'

    Departure: the source has the words and digits of a trained tokenizer.

    Errors: ValueError for fewer names than entries, and for lengths as in `RangedTask`.

    Reference: Jelassi et al., "Repeat After Me: Transformers are Better than State Space Models at Copying", 2024,
    section 4.
    """

    min_length: int = 1
    max_length: int = 20
    num_first_names: int = 32
    num_last_names: int = 32
    number_digits: int = 4

    name = "phone_book"
    citation = """@inproceedings{jelassi2024repeat, author = {Jelassi and others}, title = {{Repeat After Me:
        Transformers are Better than State Space Models at Copying}}, booktitle = {ICML}, year = {2024},
        eprint = {2402.01032}}"""
    metric = "exact_match"
    length_unit = "entries"
    shortcut = "any number of the book"
    limits = limited(**dict.fromkeys(("num_first_names", "num_last_names", "number_digits"), at_least(1, most=1024)))

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        return sum(1 / length for length in lengths) / len(lengths)

    @property
    def _num_names(self) -> int:
        return self.num_first_names * self.num_last_names

    def check_fields(self) -> None:
        super().check_fields()
        self._refuse_without_names(f"PhoneBook: max_length = {self.max_length}", self.max_length)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        self._refuse_without_names(f"length {length}", length)

    def _refuse_without_names(self, what: str, length: int) -> None:
        if length > self._num_names:
            raise ValueError(
                f"{what} is more than the {self._num_names} names that {self.num_first_names} first and "
                f"{self.num_last_names} last ones make: raise num_first_names or num_last_names"
            )

    @property
    def vocab_size(self) -> int:
        return AFTER_DIGITS + self.num_first_names + self.num_last_names

    @property
    def token_names(self) -> tuple[str, ...]:
        first, last = range(self.num_first_names), range(self.num_last_names)
        return (*SPECIAL_NAMES, *"0123456789", *(f"f{i}" for i in first), *(f"l{i}" for i in last))

    def width(self, max_length: int) -> int:
        """BOS, entries, the name, SEP and its number."""
        return max_length * (2 + self.number_digits) + 4 + self.number_digits

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        name_key, digit_key, asked_key = jax.random.split(key, 3)
        size = 2 + self.number_digits
        # A padded length may be above the number of names; entries beyond ``length`` are not read.
        drawn = jnp.resize(jax.random.permutation(name_key, self._num_names), (max(max_length, self._num_names),))
        drawn = drawn[:max_length]
        first = AFTER_DIGITS + drawn // self.num_last_names
        last = AFTER_DIGITS + self.num_first_names + drawn % self.num_last_names
        digits = integers(digit_key, (max_length * self.number_digits,), 10).reshape(max_length, -1) + FIRST_DIGIT
        book = jnp.concatenate([first[:, None], last[:, None], digits], axis=1)
        asked = integers(asked_key, (), length)
        entries = jnp.pad(book.reshape(-1), (0, 2))
        index = jnp.arange(len(entries))
        prompt = jnp.where(index == length * size, first[asked], entries)
        prompt = jnp.where(index == length * size + 1, last[asked], prompt)
        return prompted(prompt, length * size + 2, digits[asked], self.number_digits)
