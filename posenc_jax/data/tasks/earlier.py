"""The earlier of two marks, where both are in one sentence and where they are in distant paragraphs."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.scoring import correct_tokens, shares, sums_by_group
from posenc_jax.data.tasks.base import LONGEST, Example, Split, integers
from posenc_jax.data.tasks.position_probes import PositionTask
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class Earlier(PositionTask):
    """Say which of two marks stands earlier: ``x_0 ... a ... b ... x_(n-1) -> 0``, and 1 where b stands before a.

    a and b replace two of n random symbols. In half of the examples they are "near", at most ``near`` apart, as words
    of a sentence; in the others "far", at least ``far`` apart, as words of different paragraphs. Each distance of its
    kind has equal probability, and so has each pair of positions at that distance.

    An encoder reads the n tokens and answers at a, which gives nothing away (see `PositionOf`). Both groups are
    trained. A result has ``near_accuracy`` and ``far_accuracy``; guessing has 1/2. Curves by offset are not reported.

    Attributes:
      near, far: the largest distance of the first group, the smallest of the second.

    Tokens: the symbols ``0 .. num_symbols-1``, then a and b.

    Errors: ValueError unless ``1 <= near < far < length``; those of `PositionTask`.
    """

    length: int = 64
    near: int = 6
    far: int = 32

    name = "earlier"
    chance = 0.5
    num_classes = 2
    class_names = ("a", "b")
    limits = limited(**PositionTask.limits, near=at_least(1, most=LONGEST), far=at_least(1, most=LONGEST))

    def check_fields(self) -> None:
        super().check_fields()
        if not self.near < self.far < self.length:
            raise ValueError(
                f"Earlier: near = {self.near}, far = {self.far} and length = {self.length}, but near < far < length "
                "must hold: change one"
            )

    @property
    def vocab_size(self) -> int:
        return self.num_symbols + 2

    @property
    def token_names(self) -> tuple[str, ...]:
        return (*map(str, range(self.num_symbols)), "a", "b")

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        symbol_key, index_key = jax.random.split(key)
        group, distance, start, swapped = integers(index_key, (4,), 2**30)
        group, swapped = group % 2, swapped % 2
        near, far = 1 + distance % self.near, self.far + distance % (self.length - self.far)
        apart = jnp.where(group == 0, near, far)
        first = start % (self.length - apart)
        marks = self.num_symbols + jnp.stack([swapped, 1 - swapped])
        tokens = jnp.asarray(integers(symbol_key, (self.length,), self.num_symbols))
        tokens = tokens.at[jnp.stack([first, first + apart])].set(marks)
        example = answered(tokens, jnp.full_like(tokens, swapped), tokens == self.num_symbols, self.length)
        return dataclasses.replace(example, group=group)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """Right answers and questions of each group."""
        right = jnp.where(correct_tokens(logits, example.targets), example.weights, 0)
        found = {"right": right, "questions": example.weights}
        return {name: sums_by_group(jnp.sum(values, axis=1), example.group, 2) for name, values in found.items()}

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the accuracy of each group; None where it has no question."""
        rest = {name: value for name, value in scores.items() if name not in ("right", "questions")}
        return rest | shares(("near_accuracy", "far_accuracy"), scores["right"], scores["questions"])
