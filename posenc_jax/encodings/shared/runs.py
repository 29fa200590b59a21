"""Runs and counts along a sequence of tokens, for positions that tokens decide.

A run is a stretch of neighbouring tokens of one kind. Packed sequences and padding (segment 0) end every run and every
count.
"""

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Sequence


def kinds(sequence: Sequence, *ids: tuple[int, ...]) -> tuple[Array, ...]:
    """``[B, S]`` segment ids, then for each tuple of token ids which real tokens are among them, ``[B, S]`` bool."""
    tokens = jnp.asarray(sequence.tokens)
    segments = jnp.ones((1, 1), jnp.int32) if sequence.segment_ids is None else jnp.asarray(sequence.segment_ids)
    segments = jnp.broadcast_to(segments, tokens.shape)
    return segments, *(jnp.isin(tokens, np.array(some, np.int32)) & (segments != 0) for some in ids)


def index_in_run(member: Array, segments: Array, *, from_end: bool = False) -> Array:
    """1, 2, 3, ... along each run of members, from its start or towards its end; 0 for tokens that are no members.

    >>> index_in_run(jnp.array([[1, 1, 0, 1, 1]], bool), jnp.array([[1, 1, 1, 1, 2]])).tolist()
    [[1, 2, 0, 1, 1]]
    """
    if from_end:
        return index_in_run(member[:, ::-1], segments[:, ::-1])[:, ::-1]
    follows = _before(member, False) & (_before(segments, 0) == segments)
    return jnp.where(member, _since(member & ~follows) + 1, 0)


def sum_before(values: Array, segments: Array) -> Array:
    """The sum of the values before each token in its packed sequence; of marks their number.

    >>> sum_before(jnp.array([[0, 1, 0, 1, 0]], bool), jnp.array([[1, 1, 1, 2, 2]])).tolist()
    [[0, 0, 1, 0, 1]]
    >>> sum_before(jnp.array([[2, -3, 1, 5, 0]]), jnp.array([[1, 1, 1, 2, 2]])).tolist()
    [[0, 2, -1, 0, 5]]
    """
    values = values.astype(jnp.int32) if values.dtype == bool else values
    total = jnp.cumsum(values, axis=1, dtype=values.dtype) - values
    since = _since(_before(segments, 0) != segments)
    index = jnp.broadcast_to(jnp.arange(values.shape[1], dtype=jnp.int32)[None], since.shape)
    return total - jnp.take_along_axis(total, index - since, axis=1)


def index_after(marks: Array, segments: Array) -> Array:
    """0, 1, 2, ... along each packed sequence, starting anew behind every mark.

    >>> index_after(jnp.array([[0, 1, 0, 0, 0]], bool), jnp.array([[1, 1, 1, 1, 2]])).tolist()
    [[0, 1, 0, 1, 0]]
    """
    return _since(_before(marks, False) | (_before(segments, 0) != segments))


def largest(values: Array, segments: Array) -> Array:
    """The largest of the values of each token's packed sequence, ``[B, S]``; values are integers from 0 to S.

    >>> largest(jnp.array([[1, 3, 0, 2, 1]]), jnp.array([[1, 1, 1, 2, 2]])).tolist()
    [[3, 3, 3, 2, 2]]
    """

    def so_far(values: Array, segments: Array) -> Array:
        order = jnp.cumsum(_before(segments, 0) != segments, axis=1, dtype=jnp.int32) * (values.shape[1] + 1)
        return jax.lax.cummax(order + values, axis=1) - order

    return jnp.maximum(so_far(values, segments), so_far(values[:, ::-1], segments[:, ::-1])[:, ::-1])


def check_reading(name: str, ids: tuple[int, ...], dims: Dims) -> None:
    """Refuses token ids that the model's vocabulary lacks; ``name`` is that of the field."""
    if dims.vocab_size and max(ids) >= dims.vocab_size:
        raise ValueError(
            f"{name} has token {max(ids)}, but the vocabulary has ids 0 .. {dims.vocab_size - 1}: name the ids that "
            "the tokenizer gives these tokens"
        )


def check_ids(name: str, ids: tuple[int, ...], example: str) -> None:
    """Refuses no ids, negative ones and the same twice; ``name`` is that of the field."""
    if not ids or min(ids) < 0 or len(set(ids)) < len(ids):
        raise ValueError(f"{name} = {ids} must be different token ids from 0 on, one at least: for instance {example}")


def check_tokens(name: str, sequence: Sequence) -> None:
    """Refuses a sequence without token ids; ``name`` is that of the encoding."""
    if sequence.tokens is None:
        raise ValueError(f"{name} finds positions by token ids, and the sequence has none: pass tokens=")


def _before(array: Array, first: bool | int) -> Array:
    """Each token's left neighbour's value, ``first`` for the first."""
    return jnp.concatenate([jnp.full_like(array[:, :1], first), array[:, :-1]], axis=1)


def _since(starts: Array) -> Array:
    """Tokens since the last start; since the first token before any."""
    index = jnp.broadcast_to(jnp.arange(starts.shape[1], dtype=jnp.int32)[None], starts.shape)
    return index - jax.lax.cummax(jnp.where(starts, index, 0), axis=1)
