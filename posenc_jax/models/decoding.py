"""Greedy decoding."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.encoder_decoder import EncoderDecoder, Memory
from posenc_jax.models.streams import Streams


def greedy(
    model: DecoderOnly | EncoderDecoder,
    prompt: Array,
    *,
    max_new_tokens: int,
    memory: Memory | None = None,
    segment_ids: Array | None = None,
    length: Array | None = None,
    example_ids: Array | None = None,
    eos: int | None = None,
    streams: Streams = Streams(),  # noqa: B008  (frozen)
) -> Array:
    """``[B, max_new_tokens]``: again and again the most probable next token, by one cached step in a `jax.lax.scan`.

    Args:
      prompt: ``[B, P]``, at least one real token a row; for an encoder-decoder what the decoder starts from.
      memory: the source of an encoder-decoder, from its `encode`.
      segment_ids: ``[B, P]``, 0 = padding, on either side; a row's real tokens stand at positions 0, 1, ...
      length: ``[#B]`` as encodings see it; default: real tokens of the prompt plus ``max_new_tokens``.
      eos: after its first ``eos`` a row repeats it; None decodes all rows to the end.
      streams: the positions key, for encodings that draw positions.
    """
    batch, width = prompt.shape
    real = jnp.ones((batch, width), jnp.int32) if segment_ids is None else (segment_ids != 0).astype(jnp.int32)
    count = jnp.sum(real, axis=1, dtype=jnp.int32)
    length = count + max_new_tokens if length is None else length

    def extend(tokens, cache, positions, segments):
        past = (cache,) if memory is None else (cache, memory)
        return model.extend(
            tokens,
            *past,
            positions=positions,
            segment_ids=segments,
            length=length,
            example_ids=example_ids,
            streams=streams,
        )

    def choose(logits, before):
        token = jnp.argmax(logits, axis=-1).astype(prompt.dtype)
        return token if eos is None else jnp.where(before == eos, eos, token)

    def step(carry, index):
        cache, token = carry
        logits, cache = extend(token[:, None], cache, (count + index)[:, None], jnp.ones((batch, 1), jnp.int32))
        token = choose(logits[:, 0], token)
        return (cache, token), token

    cache = model.new_cache(batch, width + max_new_tokens)
    logits, cache = extend(prompt, cache, jnp.maximum(jnp.cumsum(real, axis=1, dtype=jnp.int32) - 1, 0), real)
    last = jnp.max(jnp.where(real == 1, jnp.arange(width), 0), axis=1)
    # A prompt may hold eos itself, as many decoders start from it: only generated tokens end a row.
    first = choose(logits[jnp.arange(batch), last], jnp.full((batch,), -1, prompt.dtype))
    _, others = jax.lax.scan(step, (cache, first), jnp.arange(max_new_tokens - 1, dtype=jnp.int32))
    return jnp.concatenate([first[:, None], others.T], axis=1)
