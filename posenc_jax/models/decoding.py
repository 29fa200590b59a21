"""Decoding: outputs of a decoder for a batch of prompts."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import check_ids, check_key, check_size
from posenc_jax.encodings.interface.base import Array
from posenc_jax.models.beam import beam_search, branches
from posenc_jax.models.cache import Cache
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.decoding_config import Beam, Decoding, Greedy, Sampling
from posenc_jax.models.decoding_rows import DecodingRows, prefill
from posenc_jax.models.embedding import of_vocabulary
from posenc_jax.models.encoder_decoder import EncoderDecoder, Memory
from posenc_jax.models.randomness import Streams


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


def one_by_one(
    rows: DecodingRows,
    cache: Cache,
    choose: Callable[[Array, Array], Array],
    *,
    max_new_tokens: int,
    eos: Any,
    pad: Any,
) -> tuple[Array, Array, Array]:
    """New tokens ``[R, T]``, their log-probability and number, both ``[R]``: in step i each row goes on with the token
    ``choose(logits [R, V], i)``, until eos or logits that are NaN. The loop ends with the last row.
    """
    num_rows = rows.last.shape[0]

    def unfinished(state: tuple) -> Array:
        index, _, _, done, *_ = state
        return (index < max_new_tokens) & ~jnp.all(done)

    def step(state: tuple) -> tuple:
        index, cache, token, done, tokens, log_probs, lengths = state
        logits, cache = rows.next_logits(cache, token, index)
        token = choose(logits, index).astype(jnp.int32)
        log_prob = jnp.take_along_axis(logits, token[:, None], axis=1)[:, 0] - jax.nn.logsumexp(logits, axis=1)
        log_probs = log_probs + jnp.where(done, 0, log_prob)
        done = done | jnp.isnan(log_prob)  # no token is the most probable one
        lengths = lengths + ~done
        token = jnp.where(done, pad, token).astype(jnp.int32)
        tokens = jax.lax.dynamic_update_slice_in_dim(tokens, token[:, None], index, axis=1)
        done = done if eos is None else done | (token == eos)
        return index + 1, cache, token, done, tokens, log_probs, lengths

    start = (
        jnp.int32(0),
        cache,
        rows.last,
        jnp.zeros((num_rows,), bool),
        jnp.full((num_rows, max_new_tokens), pad, jnp.int32),
        jnp.zeros((num_rows,), rows.dtype),
        jnp.zeros((num_rows,), jnp.int32),
    )
    *_, tokens, log_probs, lengths = jax.lax.while_loop(unfinished, step, start)
    return tokens, log_probs, lengths


def most_probable(logits: Array, index: Array) -> Array:
    """``[R]`` indices of the largest ``logits [R, V]``, the first of equals; faster on CPU than an argmax."""
    return jax.lax.top_k(logits, 1)[1][:, 0]


def drawn(sampling: Sampling, key: Array, example_ids: Array) -> Callable[[Array, Array], Array]:
    """A choice for `one_by_one`: each draw depends on the key, the example, the sample's number and the step only.

    ``example_ids [B]``; the rows are ``num_samples`` of the first example, then those of the second, ...
    """
    fold = jax.vmap(jax.random.fold_in, in_axes=(0, None))
    of_examples = jax.vmap(functools.partial(jax.random.fold_in, key))(example_ids)
    samples = jnp.arange(sampling.num_samples, dtype=jnp.int32)
    of_rows = jax.vmap(jax.vmap(jax.random.fold_in, in_axes=(None, 0)), in_axes=(0, None))(of_examples, samples)
    of_rows = of_rows.reshape(-1)

    def choose(logits: Array, index: Array) -> Array:
        tokens, logits = candidates(sampling, logits)
        indices = jax.vmap(jax.random.categorical)(fold(of_rows, index), logits)
        return indices if tokens is None else jnp.take_along_axis(tokens, indices[:, None], axis=1)[:, 0]

    return choose


def candidates(sampling: Sampling, logits: Array) -> tuple[Array | None, Array]:
    """The candidates of a draw: tokens ``[R, C]``, None for all, and logits ``[R, C]``, minus infinity if excluded."""
    tokens = None
    logits = (logits - jnp.max(logits, axis=1, keepdims=True)) / sampling.temperature
    if sampling.top_k is not None:
        logits, tokens = jax.lax.top_k(logits, min(sampling.top_k, logits.shape[1]))
    if sampling.top_p is not None and sampling.top_p < 1.0:
        logits = _nucleus(logits, sampling.top_p)
    return tokens, logits


def _nucleus(logits: Array, top_p: float) -> Array:
    """``logits [R, C]`` of the nucleus, minus infinity elsewhere.

    The nucleus is all tokens of probability t or more for the largest t that gives them ``top_p`` together. As floats
    from 0 on are ordered like their bits, t is found bit by bit: on CPU far faster than sorting a vocabulary.
    """
    probs = jax.nn.softmax(logits, axis=1)
    integer = jnp.int32 if probs.dtype == jnp.float32 else jnp.int64
    bits = jax.lax.bitcast_convert_type(probs, integer)
    highest = 8 * probs.dtype.itemsize - 2  # below the sign

    def refine(step: Array, least: Array) -> Array:
        higher = least | (jnp.ones((), integer) << (highest - step).astype(integer))
        mass = jnp.sum(jnp.where(bits >= higher, probs, 0), axis=1, keepdims=True)
        return jnp.where(mass >= top_p, higher, least)

    least = jax.lax.fori_loop(0, highest + 1, refine, jnp.zeros((probs.shape[0], 1), integer))
    return jnp.where(bits >= least, logits, -jnp.inf)
