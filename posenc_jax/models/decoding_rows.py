"""The rows of a batch that are decoded together: what every step needs beside the cache."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, at_least_float32
from posenc_jax.models.cache import Cache
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.encoder_decoder import EncoderDecoder, Memory
from posenc_jax.models.randomness import Streams


@dataclasses.dataclass(frozen=True)
class DecodingRows:
    """R rows of decoding, whose prompts are in a cache but for their last tokens.

    Attributes:
      last: ``[R]``, that last token.
      count: ``[R]`` real tokens of the prompt, or None without padding.
      token_types: ``[R]``, the type of that last token, which all new tokens have; or None.
      length: ``[#R]``, as encodings see it.
      example_ids: ``[R]``.
      memory: the source of each row, for an encoder-decoder.
      never: tokens that are not written.
    """

    model: DecoderOnly | EncoderDecoder
    last: Array
    count: Array | None
    token_types: Array | None
    length: Array
    example_ids: Array
    memory: Memory | None
    streams: Streams
    never: tuple[int, ...]

    @property
    def dtype(self) -> Any:
        """The dtype of logits."""
        return at_least_float32(self.model.config.compute_dtype or self.model.embedding.table.dtype)

    def next_logits(self, cache: Cache, tokens: Array, index: Array) -> tuple[Array, Cache]:
        """Logits ``[N, V]`` after ``tokens [N]``: `last` for index 0, then the new token number ``index``. N is R; of a
        `Cache.branched` the tokens of each row stand one after another.
        """
        tokens_info: dict[str, Array] = {}
        tokens = tokens.reshape(self.last.shape[0], -1)
        if self.count is not None:
            positions = jnp.broadcast_to((self.count - 1 + index)[:, None], tokens.shape)
            tokens_info = {"positions": positions, "segment_ids": jnp.ones_like(positions)}
        if self.token_types is not None:
            tokens_info["token_types"] = jnp.broadcast_to(self.token_types[:, None], tokens.shape)
        logits, cache = self.extend(tokens, cache, **tokens_info)
        logits = logits.reshape(-1, logits.shape[-1])
        if self.never:
            logits = jnp.asarray(logits).at[:, np.array(self.never)].set(-jnp.inf)
        return logits, cache

    def extend(self, tokens: Array, cache: Cache, **tokens_info: Any) -> tuple[Array, Cache]:
        """The model's ``extend``; ``tokens_info`` are positions, segment ids and token types."""
        past: Any = (cache,) if self.memory is None else (cache, self.memory)
        return self.model.extend(
            tokens, *past, **tokens_info, length=self.length, example_ids=self.example_ids, streams=self.streams
        )

    def repeat(self, times: int) -> DecodingRows:
        """Each row ``times`` times, one after another: its repetitions are the same example."""
        if times == 1:
            return self
        return dataclasses.replace(
            self,
            last=_repeat(self.last, times),
            count=None if self.count is None else _repeat(self.count, times),
            token_types=None if self.token_types is None else _repeat(self.token_types, times),
            length=_repeat_or_share(self.length, times),
            example_ids=_repeat(self.example_ids, times),
            memory=None if self.memory is None else _repeat_memory(self.memory, self.example_ids, times),
        )


def prefill(
    model: DecoderOnly | EncoderDecoder,
    prompt: Array,
    *,
    max_new_tokens: int,
    branches: int = 1,
    memory: Memory | None,
    segment_ids: Array | None,
    token_types: Array | None,
    length: Array | None,
    example_ids: Array | None,
    streams: Streams,
    never: tuple[int, ...],
) -> tuple[DecodingRows, Cache]:
    """The rows of ``prompt [B, P]`` and a cache with room for ``max_new_tokens``, filled in one pass; for several
    ``branches`` it is `Cache.branched`.

    The last token of each prompt is left to the first step: so no logits of a prompt are ever computed, and one program
    makes all new tokens.
    """
    batch, width = prompt.shape
    prompt = jnp.asarray(prompt, jnp.int32)
    ids = jnp.arange(batch, dtype=jnp.int32) if example_ids is None else example_ids
    room = {} if token_types is None else {"token_types": True}
    cache = model.new_cache(batch, width - 1 + branches * max_new_tokens, **room)
    tokens_info: dict[str, Array] = {}
    types = None if token_types is None else jnp.broadcast_to(token_types, (batch, width)).astype(jnp.int32)
    if segment_ids is None:
        count, cache = None, cache.unpadded()
        length = np.full((1,), width + max_new_tokens, np.int32) if length is None else length
    else:
        real = jnp.broadcast_to(segment_ids != 0, (batch, width)).astype(jnp.int32)
        # Padding goes to the left: encodings that read tokens take what lies on both sides of padding for two texts.
        in_order = np.arange(width, dtype=np.int32)[None]
        last = jnp.max(jnp.where(real == 1, in_order, 0), axis=1, keepdims=True)
        order = (in_order + last + 1) % width
        prompt, real = (jnp.take_along_axis(x, order, axis=1) for x in (prompt, real))
        types = None if types is None else jnp.take_along_axis(types, order, axis=1)
        count = jnp.sum(real, axis=1, dtype=jnp.int32)
        length = count + max_new_tokens if length is None else length
        positions = jnp.maximum(jnp.cumsum(real, axis=1, dtype=jnp.int32) - 1, 0)
        tokens_info = {"positions": positions[:, :-1], "segment_ids": real[:, :-1]}
    last_type = None
    if types is not None:
        last_type = types[:, -1]
        tokens_info["token_types"] = types[:, :-1]
    rows = DecodingRows(model, prompt[:, -1], count, last_type, length, ids, memory, streams, never)
    if width > 1:
        _, cache = rows.extend(prompt[:, :-1], cache, **tokens_info)
    return rows, cache.branched(branches, width - 1) if branches > 1 else cache


def _repeat(x: Array, times: int) -> Array:
    # What is known at trace time stays known.
    return np.repeat(x, times, axis=0) if isinstance(x, np.ndarray) else jnp.repeat(x, times, axis=0)


def _repeat_or_share(x: Any, times: int) -> Any:
    return x if x is None or x.shape[0] == 1 else _repeat(x, times)


def _repeat_memory(memory: Memory, example_ids: Array, times: int) -> Memory:
    source = memory.sequence
    ids = example_ids if source.example_ids is None else source.example_ids
    sequence = dataclasses.replace(
        jax.tree.map(lambda x: _repeat_or_share(x, times), source),
        tokens=None if source.tokens is None else _repeat(source.tokens, times),
        example_ids=_repeat(ids, times),
    )
    return Memory(jax.tree.map(lambda x: _repeat(x, times), memory.keys_values), sequence)
