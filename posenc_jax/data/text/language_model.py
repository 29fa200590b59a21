"""Language modelling: the next token of long documents."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.data.example import Example
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.scoring import token_losses
from posenc_jax.data.text.base import Encoded, Row, mixed
from posenc_jax.data.text.on_demand import Windows
from posenc_jax.data.text.windows import WindowTask
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.encodings.interface.base import Array

# Positions 0, 1, 2..3, 4..7, ...: where the loss by position is averaged.
RANGES = tuple(2**i for i in range(17))


@dataclasses.dataclass(frozen=True)
class LanguageModel(WindowTask):
    """Predict every next token in windows of ``max_length`` tokens, cut from the documents joined by BOS.

    An evaluated length is the length of the test windows: perplexity over all their positions and by position.
    """

    name = "language_model"
    citation = """@inproceedings{press2022train, author = {Press and others}, title = {{Train Short, Test Long:
        Attention with Linear Biases Enables Input Length Extrapolation}}, booktitle = {ICLR}, year = {2022},
        eprint = {2108.12409}}"""
    model_kind = "decoder_only"
    on_demand = Windows

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """Windows for training; for testing the whole text, from which each length cuts its own windows."""
        documents = tokenizer.encode_all([row["text"] for row in split])
        stream = np.array([token for document in documents for token in (tokenizer.bos, *document)], np.int32)
        size = self.max_length + 1 if training else len(stream)
        count = len(stream) // size if size else 0
        starts = np.arange(count + 1, dtype=np.int32) * size
        records = Records(Ragged(stream[: count * size], starts), given=np.ones(count, np.int32))
        return Encoded(records, np.arange(count), np.full(count, size - 1, np.int32))

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
