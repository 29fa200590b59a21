"""The programs of finished runs on text: outputs written, and probabilities of classes."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.config import Run
from posenc_jax.data.example import Example
from posenc_jax.data.records import Records, compose_rows
from posenc_jax.encodings.base import Array, Params
from posenc_jax.models import Decoded, Decoding, Streams
from posenc_jax.training.generation import decoded, new_tokens
from posenc_jax.training.replicas import over_rows
from posenc_jax.training.step import forward
from posenc_jax.training.streams import stream


@functools.partial(jax.jit, static_argnames=("run", "decoding", "max_length", "max_new_tokens", "devices"))
def decode(
    params: Params,
    records: Records,
    draws: Array,
    *,
    random_seed: Array,
    run: Run,
    decoding: Decoding,
    max_length: int,
    max_new_tokens: int | None,
    devices: int,
) -> Decoded:
    """The outputs for a batch of records, each in a row of its own."""
    room = new_tokens(run, max_length)
    most = room if max_new_tokens is None else min(max_new_tokens, room)

    def outputs(shared: tuple[Params, Array], rows: tuple[Example, Array]) -> Decoded:
        (params, seed), (example, draws) = shared, rows
        key, streams = stream(seed, "evaluation"), _streams(seed)
        return decoded(run, params, example, decoding, most, streams, key, draws, room)

    return over_rows(outputs, devices)((params, random_seed), (_examples(run, records, max_length), draws))


@functools.partial(jax.jit, static_argnames=("run", "max_length", "devices"))
def probabilities(
    params: Params, records: Records, draws: Array, *, random_seed: Array, run: Run, max_length: int, devices: int
) -> Array:
    """The probabilities of the classes for a batch of records, ``[B, C]``."""
    example = _examples(run, records, max_length)
    logits = forward(run, params, example, streams=_streams(random_seed), example_ids=draws, train=False)
    return jax.nn.softmax(logits[:, 0], axis=-1)


def _streams(random_seed: Array) -> Streams:
    return Streams(positions=stream(random_seed, "evaluation_positions"))


def _examples(run: Run, records: Records, max_length: int) -> Example:
    """Every record in a row of its own, as test examples are."""
    task: Any = run.task
    numbers = jnp.arange(len(records))[:, None]
    return compose_rows(records, numbers, task.width(max_length), task.decoder_width(max_length))
