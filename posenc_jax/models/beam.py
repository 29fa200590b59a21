"""Beam search with a key-value cache."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.slots import elements
from posenc_jax.models.cache import Cache
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.decoding_config import Beam
from posenc_jax.models.decoding_rows import DecodingRows
from posenc_jax.models.encoder_decoder import EncoderDecoder

# Side by side every beginning is compared with the tokens of all: of 16 that takes as long as copying.
WIDEST = 8


class Hypotheses(NamedTuple):
    """K outputs of each of B prompts: tokens ``[B, K, T]``, the others ``[B, K]``; none where the score is -inf."""

    tokens: Array
    log_probs: Array
    scores: Array
    lengths: Array

    def best(self, others: Hypotheses) -> Hypotheses:
        """The best hypotheses of both, as many as there are here, best first; ties go to these before the others."""
        both = Hypotheses(*(jnp.concatenate(pair, axis=1) for pair in zip(self, others, strict=True)))
        _, indices = jax.lax.top_k(both.scores, self.scores.shape[1])
        return Hypotheses(*(_take(x, indices) for x in both))


class _State(NamedTuple):
    index: Array  # type: ignore[assignment]  # [], number of new tokens
    cache: Cache  # of B * K rows, or of B rows of K branches
    tokens: Array  # [B, K, T], of the beginnings
    log_probs: Array  # [B, K], of the beginnings, best first; minus infinity is none
    finished: Hypotheses
    done: Array  # [B]


def beam_search(rows: DecodingRows, cache: Cache, beam: Beam, *, max_new_tokens: int, eos: Any, pad: Any) -> Hypotheses:
    """The outputs of `Beam` for ``rows`` and their ``cache``, one row per prompt, with pads after eos. A cache with
    `branches` is never copied; another one is reordered in every step.
    """
    batch, size = rows.last.shape[0], beam.size
    last = jnp.repeat(rows.last, size)
    if cache.sees is None:
        rows, cache = rows.repeat(size), cache.take_rows(np.repeat(np.arange(batch, dtype=np.int32), size))
    first = jnp.arange(batch, dtype=jnp.int32)[:, None] * size  # row of each prompt's first beginning
    none = jnp.full((batch, size), -jnp.inf, rows.dtype)
    blank = jnp.full((batch, size, max_new_tokens), pad, jnp.int32)

    def unfinished(state: _State) -> Array:
        return (state.index < max_new_tokens) & ~jnp.all(state.done)

    def step(state: _State) -> _State:
        index = state.index
        before = jax.lax.dynamic_index_in_dim(state.tokens, jnp.maximum(index - 1, 0), axis=2, keepdims=False)
        token = jnp.where(index == 0, last, before.reshape(-1))
        logits, cache = rows.next_logits(state.cache, token, index)
        log_probs, parents, tokens = _continuations(logits, state.log_probs)
        ends = jnp.zeros(tokens.shape, bool) if eos is None else tokens == eos
        done, finished = state.done, state.finished

        def extended(parents: Array, tokens: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(_take(state.tokens, parents), tokens[:, :, None], index, axis=2)

        if eos is not None:
            ended = jnp.where(ends[:, :size] & ~done[:, None], log_probs[:, :size], -jnp.inf)
            finished = finished.best(
                Hypotheses(
                    extended(parents[:, :size], tokens[:, :size]),
                    ended,
                    ended / penalty(beam, index + 1, rows.dtype),
                    jnp.full((batch, size), index + 1, jnp.int32),
                )
            )
        log_probs, indices = jax.lax.top_k(jnp.where(ends, -jnp.inf, log_probs), size)
        parents, tokens = _take(parents, indices), _take(tokens, indices)
        if eos is not None:
            done = done | _ended(beam, finished, log_probs, index + 1, max_new_tokens)
        cache = cache.go_on(parents) if cache.sees is not None else cache.take_rows((first + parents).reshape(-1))
        return _State(index + 1, cache, extended(parents, tokens), log_probs, finished, done)

    state = jax.lax.while_loop(
        unfinished,
        step,
        _State(
            jnp.int32(0),
            cache,
            blank,
            none.at[:, 0].set(0),  # all beginnings are the prompt: one of them goes on
            Hypotheses(blank, none, none, jnp.zeros((batch, size), jnp.int32)),
            jnp.zeros((batch,), bool),
        ),
    )
    cut_off = jnp.where(state.done[:, None], -jnp.inf, state.log_probs)
    found = state.finished.best(
        Hypotheses(
            state.tokens,
            cut_off,
            cut_off / penalty(beam, max_new_tokens, rows.dtype),
            jnp.full((batch, size), max_new_tokens, jnp.int32),
        )
    )
    exists = found.scores > -jnp.inf
    return found._replace(
        tokens=jnp.where(exists[:, :, None], found.tokens, pad), lengths=jnp.where(exists, found.lengths, 0)
    )


def branches(model: DecoderOnly | EncoderDecoder, beam: Beam) -> int:
    """The number of hypotheses that one row of the cache holds: all of them if encodings are `by_pairs` and the beam is
    narrow, else one.
    """
    by_pairs = all(e.by_pairs for e in elements(model.slots.decoder))
    return beam.size if by_pairs and beam.size <= WIDEST else 1


def penalty(beam: Beam, length: Array | int, dtype: Any) -> Array:
    """``lp`` of an output of ``length`` new tokens, eos included."""
    length = jnp.asarray(length, dtype)
    if beam.length_penalty == "none":
        return jnp.ones_like(length)
    return (length if beam.length_penalty == "huggingface" else (5 + length) / 6) ** beam.alpha


def _continuations(logits: Array, log_probs: Array) -> tuple[Array, Array, Array]:
    """The best ``2 K`` continuations of K beginnings: log-probabilities, beginnings and tokens, ``[B, 2 K]``.

    ``logits [B K, V]``, ``log_probs [B, K]``. At most K of them end, as one token of each beginning does, so at least K
    go on. The best K + 1 tokens of each beginning are enough: the best K that go on, and eos.
    """
    batch, size = log_probs.shape
    best, tokens = jax.lax.top_k(logits, min(size + 1, logits.shape[1]))
    best = best - jax.nn.logsumexp(logits, axis=1, keepdims=True)
    width = best.shape[1]
    sums = (log_probs[:, :, None] + best.reshape(batch, size, width)).reshape(batch, -1)
    log_probs, indices = jax.lax.top_k(sums, min(2 * size, size * width))
    return log_probs, indices // width, _take(tokens.reshape(batch, -1), indices)


def _ended(beam: Beam, finished: Hypotheses, log_probs: Array, length: Array, longest: int) -> Array:
    """``[B]``, whether a row's search is over; ``log_probs [B, K]`` of its beginnings of ``length`` tokens."""
    worst = finished.scores[:, -1]
    full = worst > -jnp.inf
    if beam.early_stopping:
        return full
    # A log-probability only falls, so this is the best score that it can come to, one token on or at the longest.
    largest = jnp.maximum(*(penalty(beam, n, log_probs.dtype) for n in (length + 1, longest)))
    return full & (worst >= log_probs[:, 0] / largest)


def _take(x: Array, indices: Array) -> Array:
    """``[B, K, ...]``: entries ``indices [B, K]`` along the second axis of ``x [B, N, ...]``."""
    return jnp.take_along_axis(x, indices.reshape(*indices.shape, *(1,) * (x.ndim - 2)), axis=1)
