"""Examples made of token sequences: of a prompt and a target, of two texts, or with answers inside the sequence."""

import jax.numpy as jnp

from posenc_jax.data.example import Example
from posenc_jax.encodings.interface.base import Array

# Special tokens of the tasks with a prompt; a task's own tokens follow from NUM_SPECIAL on.
PAD, BOS, SEP, EOS = range(4)
SPECIAL_NAMES = ("PAD", "BOS", "SEP", "EOS")
NUM_SPECIAL = len(SPECIAL_NAMES)


def prompted(prompt: Array, prompt_length: Array | int, target: Array, target_length: Array | int) -> Example:
    """Decoder-only: the model reads ``BOS prompt SEP target`` and predicts ``target EOS``.

    Args:
      prompt: ``[P]`` tokens, the first ``prompt_length []`` of them real.
      target: ``[T]`` tokens, the first ``target_length []`` of them real.

    Returns:
      An example of width ``P + T + 2``. Weights are 1 from SEP (which predicts the first target token) to the last
      target token (which predicts EOS); the prompt's own tokens are predicted nowhere.
    """
    position = jnp.arange(prompt.shape[0] + target.shape[0] + 3)
    separator = 1 + prompt_length
    end = separator + 1 + target_length
    sequence = jnp.where(position < separator, _take(prompt, position - 1), _take(target, position - separator - 1))
    for token, index in ((BOS, 0), (SEP, separator), (EOS, end)):
        sequence = jnp.where(position == index, token, sequence)
    sequence = jnp.where(position <= end, sequence, PAD).astype(jnp.int32)
    real = position[:-1] < end
    return Example(
        inputs=jnp.where(real, sequence[:-1], PAD),
        targets=sequence[1:],
        weights=(real & (position[:-1] >= separator)).astype(jnp.float32),
        length=jnp.asarray(end, jnp.int32),
        segment_ids=real.astype(jnp.int32),
    )


def translated(source: Array, source_length: Array, target: Array, target_length: Array) -> Example:
    """Encoder-decoder: the encoder reads ``BOS source EOS``, the decoder ``BOS target``, and predicts ``target EOS``.

    Args:
      source: ``[P]`` tokens, the first ``source_length []`` of them real.
      target: ``[T]`` tokens, the first ``target_length []`` of them real.

    Returns:
      An example of source width ``P + 2`` and decoder width ``T + 1``.
    """
    position = jnp.arange(source.shape[0] + 2)
    inputs = jnp.where(position <= source_length, _take(source, position - 1), PAD)
    inputs = jnp.where(position == 0, BOS, jnp.where(position == source_length + 1, EOS, inputs))
    step = jnp.arange(target.shape[0] + 1)
    before = jnp.where(step <= target_length, _take(target, step - 1), PAD)
    after = jnp.where(step < target_length, _take(target, step), PAD)
    return Example(
        inputs=inputs.astype(jnp.int32),
        targets=jnp.where(step == target_length, EOS, after).astype(jnp.int32),
        weights=(step <= target_length).astype(jnp.float32),
        length=jnp.asarray(source_length + 2, jnp.int32),
        segment_ids=(position <= source_length + 1).astype(jnp.int32),
        decoder_inputs=jnp.where(step == 0, BOS, before).astype(jnp.int32),
        decoder_length=jnp.asarray(target_length + 1, jnp.int32),
    )


def answered(tokens: Array, answers: Array, asked: Array, length: Array | int) -> Example:
    """An example whose answers stand inside the sequence: ``answers [S]`` are predicted where ``asked [S]``.

    ``tokens [S]`` are read; from index ``length []`` on there is padding, token 0.
    """
    real = jnp.arange(tokens.shape[0]) < length
    asked = asked & real
    return Example(
        inputs=jnp.where(real, tokens, 0).astype(jnp.int32),
        targets=jnp.where(asked, answers, 0).astype(jnp.int32),
        weights=asked.astype(jnp.float32),
        length=jnp.asarray(length, jnp.int32),
        segment_ids=real.astype(jnp.int32),
    )


def _take(tokens: Array, index: Array) -> Array:
    return jnp.asarray(tokens)[jnp.clip(index, 0, tokens.shape[0] - 1)]
