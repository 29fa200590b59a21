"""Indirect indexing: first find a letter, then go a number of letters from there."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import MANY, Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, SPECIAL_NAMES, prompted
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import limited


@dataclasses.dataclass(frozen=True)
class IndirectIndexing(RangedTask):
    """Name the letter some steps from another: ``BOS x_0 ... x_(n-1) x_s +d SEP -> x_(s+d) EOS``.

    n different letters in random order, one of them again (the source), and a shift d from ``-max_shift`` to
    ``max_shift``. To find the source is a question of what, to go d steps one of where. d is drawn uniformly, then s
    uniformly among the indices from which ``s + d`` is one of the string.

    Attributes:
      min_length, max_length: letters n of a training string, 20 to 40 in the source.
      max_shift: the largest shift, 15 in the source.
      num_letters: letters that there are, up to 1048576; the source calls them many.

    Published is the accuracy of the one letter; here exact match, which asks for EOS behind it too: a model that ever
    learns anything learns that. Guessing a letter of the string has 1/n; ``chance`` is that of the longest training
    string.

    Tokens: PAD 0, BOS 1, SEP 2, EOS 3, the shifts from ``-max_shift`` on, then the letters.

    >>> task = IndirectIndexing(min_length=4, max_length=6, max_shift=3, num_letters=20)
    >>> task.describe(task.example(jax.random.key(0), 6, 6))
    'BOS 16 10 0 8 2 11 10 +2 SEP -> 8 EOS'

    Departure: examples without end instead of 1,000,000 for training and 10,000 for tests.

    Errors: ValueError for a ``max_shift`` below 1, for strings too short for it, and for too few letters.

    Reference: Gopalakrishnan et al., "Decoupling the "What" and "Where" With Polar Coordinate Positional Embeddings",
    2025, section 4.1 and appendix A.
    """

    min_length: int = 20
    max_length: int = 40
    max_shift: int = 15
    num_letters: int = 128

    name = "indirect_indexing"
    citation = """@misc{gopalakrishnan2025decoupling, author = {Gopalakrishnan and others}, title = {{Decoupling the
        'What' and 'Where' With Polar Coordinate Positional Embeddings}}, year = {2025}, eprint = {2509.10534}}"""
    metric = "exact_match"
    length_unit = "letters"
    limits = limited(max_shift=MANY, num_letters=MANY)

    @property
    def chance(self) -> float:  # type: ignore[override]
        """A letter of the longest training string."""
        return 1 / self.max_length

    @property
    def least_length(self) -> int:
        """Every shift has an index to start from."""
        return self.max_shift + 1

    def check_fields(self) -> None:
        super().check_fields()
        if self.num_letters < self.max_length:
            raise ValueError(
                f"IndirectIndexing: num_letters = {self.num_letters} must be at least max_length = {self.max_length}: "
                "no letter stands twice in a string; raise it"
            )

    def check_length(self, length: int) -> None:
        super().check_length(length)
        if length > self.num_letters:
            raise ValueError(
                f"length {length}: there are task.num_letters = {self.num_letters} letters, and none stands twice in a "
                "string; raise it"
            )

    @property
    def vocab_size(self) -> int:
        return self._first_letter + self.num_letters

    @property
    def _first_letter(self) -> int:
        return NUM_SPECIAL + 2 * self.max_shift + 1

    @property
    def token_names(self) -> tuple[str, ...]:
        shifts = (f"{d:+d}" for d in range(-self.max_shift, self.max_shift + 1))
        return (*SPECIAL_NAMES, *shifts, *map(str, range(self.num_letters)))

    def width(self, max_length: int) -> int:
        """BOS, letters, source, shift, SEP and the answer."""
        return max_length + 5

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        letter_key, shift_key, source_key = jax.random.split(key, 3)
        room = max(max_length, self.num_letters)  # a padded length may be above the number of letters
        letters = jax.random.permutation(letter_key, self.num_letters)
        letters = self._first_letter + jnp.resize(letters, (room,))[:max_length]
        shift = integers(shift_key, (), 2 * self.max_shift + 1) - self.max_shift
        source = jnp.maximum(-shift, 0) + integers(source_key, (), length - jnp.abs(shift))
        index = jnp.arange(max_length + 2)
        prompt = jnp.where(index < length, letters[jnp.minimum(index, max_length - 1)], letters[source])
        prompt = jnp.where(index == length + 1, NUM_SPECIAL + self.max_shift + shift, prompt)
        return prompted(prompt, length + 2, letters[source + shift][None], 1)
