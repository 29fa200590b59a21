"""Language modelling: the next token of long documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.data.example import Example
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.scoring import token_losses
from posenc_jax.data.text.base import Data, Encoded, Row, TextTask, mixed
from posenc_jax.data.text.on_demand import Windows
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.encodings.base import Array

RANGES = tuple(2**i for i in range(17))
"""Positions 0, 1, 2..3, 4..7, ...: where the loss by position is averaged."""

SHORTEST = 8
"""Tokens of the shortest windows that a small corpus is cut into."""

WINDOWS = 8
"""As many as a score should at least be the mean of."""


@dataclasses.dataclass(frozen=True)
class LanguageModel(TextTask):
    """Predict every next token in windows of ``max_length`` tokens, cut from the documents joined by BOS.

    An evaluated length is the length of the test windows: perplexity over all their positions and by position.
    """

    data: Data = Data(name="python_docs")  # noqa: RUF009  (frozen)
    max_length: int = 128
    row: int = 128
    batching: Literal["packed", "buckets", "fitted", "plain"] = "plain"

    name = "language_model"
    citation = """@inproceedings{press2022train, author = {Press and others}, title = {{Train Short, Test Long:
        Attention with Linear Biases Enables Input Length Extrapolation}}, booktitle = {ICLR}, year = {2022},
        eprint = {2108.12409}}"""
    metric = "perplexity"
    length_unit = "tokens of a window"
    model_kind = "decoder_only"
    columns = ("text",)
    on_demand = Windows
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

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """For training windows, for testing the whole text, of which every length cuts its own."""
        documents = tokenizer.encode_all([row["text"] for row in split])
        stream = np.array([token for document in documents for token in (tokenizer.bos, *document)], np.int32)
        size = self.max_length + 1 if training else len(stream)
        count = len(stream) // size if size else 0
        starts = np.arange(count + 1, dtype=np.int32) * size
        records = Records(Ragged(stream[: count * size], starts), given=np.ones(count, np.int32))
        return Encoded(records, np.arange(count), np.full(count, size - 1, np.int32))

    def spanning(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], longest: int) -> TextTask:
        """The task with the longest windows, in powers of two, of which every split has `WINDOWS`."""
        tokens = min(len(self.encode(tokenizer, rows, training=False).records.inputs.tokens) for rows in texts.values())
        length = 2 ** max(int(min(tokens / WINDOWS - 1, longest)).bit_length() - 1, SHORTEST.bit_length() - 1)
        return dataclasses.replace(self, max_length=length, row=length)

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with windows that are shorter than the text of each split."""
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

    def narrower(self) -> Iterator[LanguageModel]:
        """The task, then with windows of a half, a quarter, ... of their tokens, down to `SHORTEST`."""
        length, least = self.max_length, min(self.max_length, SHORTEST)
        yield self
        while length > least:
            length = max(length // 2, least)
            yield dataclasses.replace(self, max_length=length, row=length)

    def test_batch(self, data: Any, key: Array, length: Array, indices: Array, max_length: int) -> Example:
        """Windows of ``length`` tokens and the next one, in a mixed order."""
        stream = data["test"].inputs.tokens
        window = mixed(indices, len(stream) // (length + 1))
        position = jnp.arange(max_length, dtype=jnp.int32)
        there = (position[None] < length) & (window >= 0)[:, None]
        index = jnp.where(there, window[:, None] * (length + 1) + position[None], 0)
        size = jnp.where(window >= 0, length, 0).astype(jnp.int32)
        return Example(
            inputs=jnp.where(there, stream[index], 0),
            targets=jnp.where(there, stream[jnp.where(there, index + 1, 0)], 0),
            weights=there.astype(jnp.float32),
            length=size,
            segment_ids=there.astype(jnp.int32),
        )

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """Loss and weight in each of `RANGES` of positions."""
        positions = jnp.arange(logits.shape[1])
        ranges = jnp.sum(positions[:, None] >= jnp.asarray(RANGES)[None], axis=1)
        member = (ranges[:, None] == jnp.arange(len(RANGES) + 1)[None]).astype(jnp.float32)
        losses = jnp.where(example.weights != 0, token_losses(logits, example.targets), 0)
        return {
            "range_loss": jnp.sum(losses, axis=0) @ member,
            "range_weight": jnp.sum(example.weights, axis=0) @ member,
        }

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the perplexity, NaN without an example, and that of each range of positions:
        ``[[first, last, perplexity], ...]``.
        """
        rest = {name: value for name, value in scores.items() if not name.startswith("range_")}
        loss, weight = np.asarray(scores["range_loss"]), np.asarray(scores["range_weight"])
        first = (0, *RANGES)
        by_position = [
            [first[i], max(2 * first[i] - 1, 0), float(np.exp(loss[i] / weight[i]))]
            for i in range(len(weight))
            if weight[i] > 0
        ]
        return {**rest, "perplexity": float(np.exp(scores["loss"])), "perplexity_by_position": by_position}
