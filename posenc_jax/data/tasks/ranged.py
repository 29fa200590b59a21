"""Base class of causal tasks that train on a range of lengths, and examples with answers inside the sequence."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp

from posenc_jax.data.tasks.base import LONGEST, Example, Task
from posenc_jax.encodings.base import Array
from posenc_jax.encodings.value import check_at_most
from posenc_jax.model_kind import ModelKind


@dataclasses.dataclass(frozen=True)
class RangedTask(Task):
    """Base class: a decoder-only model, trained on lengths ``min_length .. max_length``, one for each example.

    min_length, max_length: lengths that training draws, uniformly, up to 1048576. Subclasses give them defaults, name
    the ``shortest`` length that they have, and say what a length counts.

    Errors: ValueError for lengths out of order, too short or too long, in training and in evaluation.
    """

    min_length: int = 1
    max_length: int = 20

    shortest: ClassVar[int] = 1

    def check_fields(self) -> None:
        """Refuses lengths out of order, too short or too long."""
        name = type(self).__name__
        check_at_most(self, {"max_length": LONGEST}, f"{name}: ")
        least = self.least_length
        if not least <= self.min_length <= self.max_length:
            raise ValueError(
                f"{name}: min_length = {self.min_length} and max_length = {self.max_length}, but "
                f"{least} <= min_length <= max_length must hold: swap or raise them"
            )

    @property
    def least_length(self) -> int:
        """The shortest length that an example with these settings can have."""
        return self.shortest

    @property
    def model_kind(self) -> ModelKind:
        """Decoder-only."""
        return "decoder_only"

    @property
    def train_lengths(self) -> range:
        """``min_length .. max_length``."""
        return range(self.min_length, self.max_length + 1)

    def check_length(self, length: int) -> None:
        """Refuses a length below the shortest, or above `LONGEST`."""
        super().check_length(length)
        if length < self.least_length:
            raise ValueError(f"length {length}: lengths of this {self.name} start at {self.least_length}; raise it")

    def refuse_below(self, **least: int) -> None:
        """Refuses (ValueError) fields below their least value."""
        for field, value in least.items():
            if getattr(self, field) < value:
                name = type(self).__name__
                raise ValueError(f"{name}: {field} = {getattr(self, field)} must be at least {value}: raise it")


def answered(tokens: Array, answers: Array, asked: Array, length: Array) -> Example:
    """An example whose answers stand inside the sequence: ``answers [S]`` are predicted where ``asked [S]``.

    ``tokens [S]`` are read; from index ``length []`` on there is padding, token 0.
    """
    real = jnp.arange(tokens.shape[0]) < length
    asked = asked & real
    return Example(
        inputs=jnp.where(real, tokens, 0).astype(jnp.int32),
        targets=jnp.where(asked, answers, 0).astype(jnp.int32),
        weights=asked.astype(jnp.float32),
        length=jnp.asarray(length, jnp.int32),
        segment_ids=real.astype(jnp.int32),
    )
