"""Masked language modelling: hidden tokens in windows of long documents."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.example import Example
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.text.base import Encoded, Row, mixed
from posenc_jax.data.text.windows import WindowTask
from posenc_jax.data.tokenizer import UNK, Tokenizer
from posenc_jax.encodings.interface.base import Array

_LEAST = 3


@dataclasses.dataclass(frozen=True)
class MaskedLanguageModel(WindowTask):
    """Predict tokens that are masked, in windows ``BOS text EOS`` of ``max_length`` tokens, cut from the documents,
    each of which ends with EOS.

    Attributes:
      mask: the token that replaces hidden ones: that of a checkpoint's tokenizer, or by default the unknown token,
        which our tokenizers give to no text.
      share: the share of tokens to predict. In training four fifths of these are masked, a tenth become random tokens
        and a tenth stay; in validation and testing all are masked, the same ones for all seeds and encodings.

    An evaluated length is the length of the test windows. Perplexity is that of the masked tokens, not of whole texts.
    Token types are all 0.

    Departure: Devlin et al. also ask whether two parts of an input follow one another, which later models leave out.
    """

    mask: int = UNK
    share: float = 0.15

    name = "masked_language_model"
    citation = """@inproceedings{devlin2019bert, author = {Devlin and others}, title = {{BERT: Pre-training of Deep
        Bidirectional Transformers for Language Understanding}}, booktitle = {NAACL}, year = {2019},
        eprint = {1810.04805}}"""
    model_kind = "encoder_only"
    has_token_types = True

    def check_fields(self) -> None:
        super().check_fields()
        if self.max_length < _LEAST:
            raise ValueError(f"task.max_length = {self.max_length} must be at least {_LEAST}: BOS, a token and EOS")
        if not 0 < self.share <= 1:
            raise ValueError(f"task.share = {self.share} must be above 0, and at most 1")
        if not 0 <= self.mask < self.vocab_size:
            raise ValueError(f"task.mask = {self.mask} must be a token of the {self.vocab_size:,} that there are")
        if not self.data.in_memory:
            raise ValueError("data.in_memory = False: windows of masked tokens are read into memory; set it to True")

    def check_length(self, length: int) -> None:
        super().check_length(length)
        if length < _LEAST:
            raise ValueError(f"length {length}: lengths of {self.name} start at {_LEAST}: BOS, a token and EOS")

    @property
    def num_token_types(self) -> int:
        return 1

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """Windows for training; for testing the whole text, from which each length cuts its own windows."""
        documents = tokenizer.encode_all([row["text"] for row in split])
        text = np.array([token for document in documents for token in (*document, tokenizer.eos)], np.int32)
        piece = self.max_length - 2 if training else len(text)
        count = len(text) // piece if piece else 0
        ends = (np.full((count, 1), token, np.int32) for token in (tokenizer.bos, tokenizer.eos))
        first, last = ends
        windows = np.concatenate([first, text[: count * piece].reshape(count, piece), last], axis=1)
        size = windows.shape[1]
        records = Records(Ragged(windows.reshape(-1), np.arange(count + 1, dtype=np.int32) * size))
        return Encoded(records, np.arange(count), np.full(count, size, np.int32))

    def train_batch(self, data: Any, fed: Any, key: Array, batch_size: int) -> Example:
        """The windows that the plan chose for this step, with tokens hidden anew in every step."""
        numbers = jnp.asarray(fed)[:, 0]
        keys = _keys(key, jnp.arange(numbers.shape[0]))
        return self._masked(self._windows(data["train"], numbers), numbers >= 0, keys, training=True)

    def validation_batch(self, data: Any, key: Array, index: Array, batch_size: int) -> Example:
        """Batch ``index`` of the validation split; without weight beyond its end."""
        ids = data["validation_ids"]
        rows = index * batch_size + jnp.arange(batch_size)
        numbers = jnp.where(rows < len(ids), ids[jnp.minimum(rows, len(ids) - 1), 0], -1)
        keys = _keys(jax.random.key(0), numbers)
        return self._masked(self._windows(data["validation"], numbers), numbers >= 0, keys)

    def test_batch(self, data: Any, key: Array, length: Array, indices: Array, max_length: int) -> Example:
        """Windows of ``length`` tokens, in a mixed order."""
        stream = data["test"].inputs.tokens
        piece = length - 2
        window = mixed(indices, (len(stream) - 2) // piece)
        position = jnp.arange(max_length, dtype=jnp.int32)[None]
        inside = (position > 0) & (position <= piece) & (window >= 0)[:, None]
        index = jnp.where(inside, window[:, None] * piece + position, jnp.where(position == 0, 0, len(stream) - 1))
        tokens = jnp.where(position < length, stream[index], 0)
        return self._masked(tokens, window >= 0, _keys(jax.random.key(0), window), size=length)

    def _windows(self, records: Records, numbers: Array) -> Array:
        place = jnp.arange(self.max_length, dtype=jnp.int32)[None]
        return jnp.asarray(records.inputs.tokens)[jnp.maximum(numbers, 0)[:, None] * self.max_length + place]

    def _masked(
        self, tokens: Array, there: Array, keys: Array, *, size: Array | None = None, training: bool = False
    ) -> Example:
        """Examples of windows ``[B, W]``, of which ``there [B]`` are some, with ``size`` tokens each, by default W."""
        rows, width = tokens.shape
        length = jnp.where(there, width if size is None else size, 0).astype(jnp.int32)
        position = jnp.arange(width, dtype=jnp.int32)[None]
        real = position < length[:, None]
        ends = tokens == tokens[jnp.arange(rows), jnp.maximum(length - 1, 0)][:, None]  # those of documents too
        hidden = real & (position > 0) & ~ends & (_draws(keys, 0, width) < self.share)
        inputs = jnp.where(hidden, self.mask, tokens)
        if training:
            draw, other = _draws(keys, 1, width), _draws(keys, 2, width)
            foreign = jnp.minimum((other * self.vocab_size).astype(jnp.int32), self.vocab_size - 1)
            inputs = jnp.where(hidden & (draw >= 0.8), jnp.where(draw < 0.9, foreign, tokens), inputs)
        return Example(
            inputs=jnp.where(real, inputs, 0).astype(jnp.int32),
            targets=jnp.where(real, tokens, 0).astype(jnp.int32),
            weights=hidden.astype(jnp.float32),
            length=length,
            segment_ids=real.astype(jnp.int32),
            token_types=jnp.zeros((rows, width), jnp.int32),
        )

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the perplexity of the hidden tokens, NaN without an example."""
        return {**scores, "perplexity": float(np.exp(scores["loss"]))}


def _keys(key: Array, numbers: Array) -> Array:
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)


def _draws(keys: Array, kind: int, width: int) -> Array:
    return jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, kind), (width,)))(keys)
