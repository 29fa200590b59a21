"""Row by row one token after another: the most probable, or a drawn one."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array
from posenc_jax.models.cache import Cache
from posenc_jax.models.decoding_config import Sampling
from posenc_jax.models.decoding_rows import DecodingRows


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
