"""Decoding: outputs of a decoder for a batch of prompts."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.arrays import check_ids, check_key, check_size
from posenc_jax.encodings.base import Array
from posenc_jax.models.beam import beam_search, branches
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.decoding_config import Beam, Decoding, Greedy, Sampling
from posenc_jax.models.decoding_rows import prefill
from posenc_jax.models.embedding import of_vocabulary
from posenc_jax.models.encoder_decoder import EncoderDecoder, Memory
from posenc_jax.models.randomness import Streams
from posenc_jax.models.sampling import drawn, most_probable, one_by_one


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["tokens", "log_probs", "scores", "lengths"], meta_fields=[]
)
@dataclasses.dataclass(frozen=True)
class Decoded:
    """N outputs of each of B prompts.

    Attributes:
      tokens: ``[B, N, T]`` int32 new tokens, the last one eos unless the output was cut off; padding after it.
      log_probs: ``[B, N]`` the model's log-probability of the output given the prompt, eos included.
      scores: ``[B, N]`` what a beam's outputs are ranked by, best first (see `Beam`); otherwise the log-probability.
        Samples are not ranked: they stand in the order in which they were drawn.
      lengths: ``[B, N]`` int32 number of new tokens, eos included.

    A beam that found fewer than N outputs (tiny vocabularies have no more) fills up with padding of length 0 and score
    minus infinity. Other outputs end where logits are NaN, as they are after a token that the vocabulary lacks; the
    log-probability is then NaN.
    """

    tokens: Array
    log_probs: Array
    scores: Array
    lengths: Array


def decode(
    model: DecoderOnly | EncoderDecoder,
    prompt: Array,
    decoding: Decoding,
    *,
    max_new_tokens: int,
    memory: Memory | None = None,
    segment_ids: Array | None = None,
    token_types: Array | None = None,
    length: Array | None = None,
    example_ids: Array | None = None,
    eos: int | None = None,
    pad: int = 0,
    never: tuple[int, ...] = (),
    streams: Streams = Streams(),  # noqa: B008  (frozen)
    key: Array | None = None,
) -> Decoded:
    """Outputs for ``prompt [B, P]``, by cached steps of all rows together in a `jax.lax.while_loop` that ends with the
    last row. Rows do not depend on each other. ``decoding`` and ``max_new_tokens`` are static under `jax.jit`.

    Args:
      prompt: at least one real token a row; for an encoder-decoder what the decoder starts from.
      max_new_tokens: T; longer outputs are cut off.
      memory: the source of an encoder-decoder, from its `encode`; padding in it is known from its segment ids.
      segment_ids: ``[B, P]``, 0 = padding, on either side; a row's real tokens stand at positions 0, 1, ...
      token_types: ``[#B, P]``, for decoder-only models whose encodings or embeddings read them. New tokens have the
        type of the last real token of their prompt: they go on with its section.
      length: ``[#B]`` as encodings see it; default: real tokens of the prompt plus ``max_new_tokens``.
      example_ids: ``[B]`` numbers of the rows in the whole data; drawn positions and tokens depend on them.
      eos: ends a row when generated (a prompt may hold it); None: all outputs have T tokens.
      pad: what stands after it.
      never: tokens that no output has, whose logits are minus infinity.
      streams: the positions key, for encodings that draw positions.
      key: for `Sampling`; folded with example, sample and step, so a row's draws do not depend on its batch.

    Raises:
      ValueError: for an encoder-decoder without memory or with token types, a decoder-only model with a memory,
        sampling without key, ``max_new_tokens`` below 1, an eos or (where they are known) other tokens that the
        vocabulary lacks, and arrays that are not of the same tokens.
    """
    check_size("max_new_tokens", max_new_tokens)
    check_ids("prompt", prompt)
    size = model.embedding_of("decoder").table.shape[0]
    prompt = of_vocabulary(prompt, size, segment_ids)
    if isinstance(eos, int) and not 0 <= eos < size:
        raise ValueError(f"eos = {eos} is outside a vocabulary of {size} (0 .. {size - 1}): pass None for no end")
    if wrong := [token for token in never if not 0 <= token < size]:
        raise ValueError(f"never = {never} has {wrong[0]}, which a vocabulary of {size} lacks (0 .. {size - 1})")
    if isinstance(model, EncoderDecoder) and memory is None:
        raise ValueError("an encoder-decoder decodes from its source: pass memory=model.encode(...)")
    if isinstance(model, EncoderDecoder) and token_types is not None:
        raise ValueError("an encoder-decoder has no token types: leave token_types out")
    if isinstance(model, DecoderOnly) and memory is not None:
        raise ValueError("a decoder-only model attends to no memory: put the source into the prompt")
    rows, cache = prefill(
        model,
        prompt,
        max_new_tokens=max_new_tokens,
        branches=branches(model, decoding) if isinstance(decoding, Beam) else 1,
        memory=memory,
        segment_ids=segment_ids,
        token_types=token_types,
        length=length,
        example_ids=example_ids,
        streams=streams,
        never=never,
    )
    call: dict[str, Any] = {"max_new_tokens": max_new_tokens, "eos": eos, "pad": pad}
    if isinstance(decoding, Beam):
        found = beam_search(rows, cache, decoding, **call)
        return Decoded(found.tokens, found.log_probs, found.scores, found.lengths)
    choose: Callable[[Array, Array], Array] = most_probable
    if not isinstance(decoding, Greedy | Sampling):
        raise TypeError(f"decoding = {decoding!r} is none of Greedy, Beam and Sampling: pass one of these")
    if isinstance(decoding, Sampling):
        if key is None:
            raise ValueError(f"{decoding!r} draws tokens: pass key=jax.random.key(...)")
        check_key("key", key)
        choose = drawn(decoding, key, rows.example_ids)
        batch = jnp.arange(prompt.shape[0], dtype=jnp.int32)
        rows, cache = rows.repeat(decoding.num_samples), cache.take_rows(jnp.repeat(batch, decoding.num_samples))
    tokens, log_probs, lengths = (
        x.reshape(prompt.shape[0], decoding.num_outputs, *x.shape[1:]) for x in one_by_one(rows, cache, choose, **call)
    )
    return Decoded(tokens, log_probs, log_probs, lengths)


def greedy(
    model: DecoderOnly | EncoderDecoder, prompt: Array, *, max_new_tokens: int, eos: int | None = None, **call: Any
) -> Array:
    """``[B, max_new_tokens]``: the tokens of `decode` with `Greedy`; after its first ``eos`` a row repeats it."""
    pad = 0 if eos is None else eos
    return decode(model, prompt, Greedy(), max_new_tokens=max_new_tokens, eos=eos, pad=pad, **call).tokens[:, 0]
