"""The base of tasks that read long documents in windows of one length."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Literal

from posenc_jax.data.errors import DataError
from posenc_jax.data.text.base import Data, Row, TextTask
from posenc_jax.data.tokenizer import Tokenizer

# Tokens of the shortest windows that a small corpus is cut into.
SHORTEST = 8

# The fewest windows that a score should be the mean of.
WINDOWS = 8


@dataclasses.dataclass(frozen=True)
class WindowTask(TextTask):
    """Base class of the tasks whose examples are windows of ``max_length`` tokens of the joined documents."""

    data: Data = Data(name="own/python-docs")  # noqa: RUF009  (frozen)
    max_length: int = 128
    row: int = 128
    batching: Literal["packed", "buckets", "fitted", "plain"] = "plain"

    metric = "perplexity"
    length_unit = "tokens of a window"
    columns = ("text",)
    reads_checkpoints = True

    def check_fields(self) -> None:
        super().check_fields()
        if self.data.shuffle_words != "never":
            raise ValueError("data.shuffle_words cannot be used in language modelling, whose inputs are its targets")
        if self.batching != "plain" or self.row != self.max_length:
            raise ValueError(
                f"task.batching = {self.batching!r}, task.row = {self.row}: windows all have task.max_length = "
                f"{self.max_length} tokens; take batching = 'plain' and row = {self.max_length}"
            )

    def lengths_of(self, length: int) -> tuple[int, int]:
        """Windows have one length exactly."""
        return (length, length)

    def width(self, max_length: int) -> int:
        return max_length

    def tokenizer_lines(self, row: Row) -> list[str]:
        return row["text"].splitlines(keepends=True)

    def spanning(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], longest: int) -> TextTask:
        """The task with the longest windows, in powers of two, of which every split has `WINDOWS`."""
        tokens = min(len(self.encode(tokenizer, rows, training=False).records.inputs.tokens) for rows in texts.values())
        length = 2 ** max(int(min(tokens / WINDOWS - 1, longest)).bit_length() - 1, SHORTEST.bit_length() - 1)
        return dataclasses.replace(self, max_length=length, row=length)

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with windows that fit into the text of each split."""
        tokens = {
            name: sum(1 + len(tokens) for tokens in tokenizer.encode_all([row["text"] for row in texts[name]]))
            for name in lacking
        }
        name = min(tokens, key=lambda name: tokens[name])
        for task in self.narrower():
            if task.max_length < tokens[name]:
                return task, f"its {name} split has {tokens[name]} tokens, and a window takes one more than it predicts"
        needed = task.max_length + 1
        raise DataError(
            f"{self.data.name} has {tokens[name]} tokens in its {name} split, and the shortest window takes {needed}: "
            f"use at least {-(-needed // tokens[name])} times as much text"
        )

    def narrower(self) -> Iterator[WindowTask]:
        """The task with its windows, then with a half, a quarter, ... of their tokens, down to `SHORTEST`."""
        length, least = self.max_length, min(self.max_length, SHORTEST)
        yield self
        while length > least:
            length = max(length // 2, least)
            yield dataclasses.replace(self, max_length=length, row=length)
