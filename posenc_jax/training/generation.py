"""Decoding the outputs of test examples, as programs of one replica."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from posenc_jax.config import Run
from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.example import Example
from posenc_jax.encodings.interface.base import Array, Params
from posenc_jax.models import Decoded, Decoding, Streams, decode
from posenc_jax.training.precision import at_precision
from posenc_jax.training.step import model_of, spread
from posenc_jax.training.streams import stream

CHUNK = 32
"""Examples that are decoded together."""


def new_tokens(run: Run, max_length: int) -> int:
    """The longest output for inputs of up to ``max_length``."""
    task: Any = run.task
    longest: int = task.decoder_width(max_length) or task.max_summary + 1
    return longest


def decode_chunk(
    run: Run, length: int, params: Params, seed: Array, shared: tuple[Any, ...], mesh: Mesh | None = None
) -> Array:
    """``[CHUNK, T]`` outputs for the test examples ``start ..`` of one length; of those beyond the last, anything.

    T is the room that this length has, and encodings that read the length see it: so a program serves one length, and
    its outputs do not depend on the others. shared: (start, the arrays of the data).
    """
    start, data = shared
    indices = start + jnp.arange(CHUNK, dtype=jnp.int32)
    key = jax.random.fold_in(stream(seed, "evaluation"), length)
    position_key = jax.random.fold_in(stream(seed, "evaluation_positions"), length)
    example = spread(run.task.test_batch(data, key, jnp.int32(length), indices, length), mesh)
    streams, decoding = Streams(positions=position_key), run.evaluation.decoding
    found = decoded(run, params, example, decoding, new_tokens(run, length), streams, key, indices)
    return found.tokens[:, 0]  # the best


@at_precision
def decoded(
    run: Run,
    params: Params,
    example: Example,
    decoding: Decoding,
    max_new_tokens: int,
    streams: Streams,
    key: Array,
    example_ids: Array,
    room: int | None = None,
) -> Decoded:
    """Outputs for the inputs of each example: an encoder-decoder's source, or a decoder's tokens before its first
    target.

    Args:
      room: the largest number of new tokens as encodings see it, at least ``max_new_tokens`` (None: that): so an output
        that is cut off earlier begins as the whole one does.
    """
    room = max_new_tokens if room is None else room
    model = model_of(run, params)
    task: Any = run.task
    ids: AnswerIds = task.ids
    call: dict[str, Any] = dict(max_new_tokens=max_new_tokens, example_ids=example_ids, streams=streams, key=key)
    call |= dict(eos=ids.eos, pad=ids.pad, never=ids.never)
    batch = example.inputs.shape[0]
    if task.model_kind == "encoder_decoder":
        memory = model.encode(
            example.inputs,
            segment_ids=example.segment_ids,
            length=example.length,
            example_ids=example_ids,
            streams=streams,
        )
        prompt = jnp.full((batch, 1), ids.start, jnp.int32)
        return decode(model, prompt, decoding, memory=memory, length=np.full((1,), 1 + room, np.int32), **call)
    given = jnp.argmax(example.weights > 0, axis=1) + 1
    width = example.inputs.shape[1] - room + 1
    shown = jnp.arange(width)[None] < given[:, None]
    prompt = jnp.where(shown, example.inputs[:, :width], ids.pad)
    segment_ids = shown.astype(jnp.int32)
    count = jnp.sum(segment_ids, axis=1, dtype=jnp.int32)
    return decode(model, prompt, decoding, segment_ids=segment_ids, length=count + room, **call)
