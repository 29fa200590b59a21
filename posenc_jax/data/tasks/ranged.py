"""Base class of causal tasks that train on a range of lengths."""

from __future__ import annotations

from posenc_jax.data.tasks.base import MANY, Task


class RangedTask(Task):
    """Base class: a decoder-only model, trained on lengths ``min_length .. max_length``, one for each example.

    min_length, max_length: lengths that training draws, uniformly, up to 1048576; fields of the subclasses, which say
    what a length counts.

    Errors: ValueError for lengths out of order, too short or too long, in training and in evaluation.
    """

    min_length: int
    max_length: int

    model_kind = "decoder_only"

    def check_fields(self) -> None:
        super().check_fields()
        name, least = type(self).__name__, self.least_length
        MANY.check(f"{name}.max_length", self.max_length)
        if not least <= self.min_length <= self.max_length:
            raise ValueError(
                f"{name}: min_length = {self.min_length} and max_length = {self.max_length}, but "
                f"{least} <= min_length <= max_length must hold: swap or raise them"
            )

    @property
    def least_length(self) -> int:
        """The shortest length that an example with these settings can have."""
        return 1

    @property
    def train_lengths(self) -> range:
        return range(self.min_length, self.max_length + 1)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        if length < self.least_length:
            raise ValueError(f"length {length}: lengths of this {self.name} start at {self.least_length}; raise it")
