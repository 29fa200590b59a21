"""The arrays of an example, which tasks make, models read and scores compare."""

import dataclasses

import jax

from posenc_jax.encodings.interface.base import Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Example:
    """One example, padded to a static width (or, with a leading ``B`` on every leaf, a batch of them).

    Attributes:
      inputs: ``[S]`` int32 tokens that the model reads: decoder-only the whole sequence from BOS without its last
        token, encoder-only the input and its empty output tokens, encoder-decoder the source.
      targets: ``[S]`` int32, the token to predict at each position (``[T]``, the width of ``decoder_inputs``, for an
        encoder-decoder; ``[1]``, a class, for a model that pools).
      weights: of the shape of ``targets``, float32, 1 where loss, accuracy and exact match count, else 0. All zero: the
        example does not exist and counts nowhere.
      length: ``[]`` int32, number of real tokens of ``inputs``; the rest is padding on the right. In a packed row
        ``[S]``, for every token the length of its own sequence, 0 for padding.
      segment_ids: ``[S]`` int32, 1 = real, 0 = padding.
      decoder_inputs: ``[T]`` int32 starting with BOS, or None.
      decoder_length: ``[]`` int32, its real tokens (``[T]`` in a packed row), or None.
      decoder_segment_ids, positions, decoder_positions: ``[T]``, ``[S]``, ``[T]`` where a row is packed with several
        sequences, each a segment with positions from 0; else None.
      token_types: ``[S]`` int32, 1 = header, 2 = body, 3 = footer, 0 = padding, or None.
      group: ``[]`` int32, which of the task's own kinds of example this is, for scores by kind, or None.
      grid_positions: ``[S, A]`` int32, or float32 of a task with `Task.real_positions`, where tokens stand on several
        axes, which encodings that read so many are given; others get ``0 .. S-1``, the order of reading. Or None.
    """

    inputs: Array
    targets: Array
    weights: Array
    length: Array
    segment_ids: Array
    decoder_inputs: Array | None = None
    decoder_length: Array | None = None
    decoder_segment_ids: Array | None = None
    positions: Array | None = None
    decoder_positions: Array | None = None
    token_types: Array | None = None
    group: Array | None = None
    grid_positions: Array | None = None
