"""Tokenized examples as arrays, and the rows that models read: composed on the device from example numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.example import Example
from posenc_jax.data.ragged import Ragged, padded
from posenc_jax.encodings.interface.base import Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Records:
    """Tokenized examples, ``n`` of them.

    Attributes:
      inputs: what the model reads: a source with its EOS, a document, or a whole sequence ``BOS .. EOS`` whose every
        next token is a target.
      targets: ``BOS .. EOS`` of an encoder-decoder's decoder, else None.
      given: ``[n]`` for sequences: how many of their first tokens are given and no target, else None.
      types: token types of ``inputs.tokens``, else None.
      labels: ``[n]`` classes, else None.
      outline: ``[N, 4]`` where the ``inputs.tokens`` stand in their documents (`structure.Coordinates`), else None.
    """

    inputs: Ragged
    targets: Ragged | None = None
    given: Array | None = None
    types: Array | None = None
    labels: Array | None = None
    outline: Array | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def sizes(self) -> np.ndarray:
        """``[n]`` or, with targets, ``[n, 2]``: tokens that each example takes in a row."""
        inputs = np.asarray(self.inputs.lengths) - (self.given is not None)
        return inputs if self.targets is None else np.stack([inputs, self.targets.lengths - 1], axis=1)

    def take(self, ids: np.ndarray) -> Records:
        """Examples ``ids [k]`` in that order (on the host)."""

        def beside(values: Array | None) -> Array | None:
            return None if values is None else dataclasses.replace(self.inputs, tokens=values).take(ids).tokens

        return Records(
            inputs=self.inputs.take(ids),
            targets=None if self.targets is None else self.targets.take(ids),
            given=None if self.given is None else self.given[ids],
            types=beside(self.types),
            labels=None if self.labels is None else self.labels[ids],
            outline=beside(self.outline),
        )

    def padded(self, count: int, tokens: int) -> Records:
        """The examples in arrays of the shapes of ``count`` that take ``tokens`` tokens in rows (on the host).

        Of a side whose next tokens are targets each example has one more token than it takes in a row.
        """
        ahead = tokens + count
        return Records(
            inputs=self.inputs.padded(count, tokens if self.given is None else ahead),
            targets=None if self.targets is None else self.targets.padded(count, ahead),
            given=None if self.given is None else padded(self.given, count),
            types=None if self.types is None else padded(self.types, tokens),
            labels=None if self.labels is None else padded(self.labels, count),
            outline=None if self.outline is None else padded(self.outline, tokens),
        )


def compose_rows(records: Records, ids: Array, width: int, decoder_width: int = 0) -> Example:
    """A batch with row ``b`` made of the examples ``ids[b]``, one after the other, each a segment of its own.

    Args:
      records: the examples.
      ids: ``[B, G]`` numbers of examples, -1 = none.
      width, decoder_width: tokens of a row; the examples of a row must fit, which is the plan's business.

    Returns:
      Targets and weights of ``[B, W]``, or ``[B, 1]`` with labels. For ``G = 1`` positions are None (they are
      ``0 .. W-1``) and ``length`` is ``[B]``; else they begin at 0 in every segment, and ``length`` is ``[B, W]``, for
      every token that of its own segment.
    """
    records = jax.tree.map(jnp.asarray, records)
    return jax.vmap(lambda members: _row(records, members, width, decoder_width))(jnp.asarray(ids))


def _row(records: Records, members: Array, width: int, decoder_width: int) -> Example:
    many = members.shape[0] > 1
    shift = int(records.given is not None)
    side = _packed(records.inputs, members, width, shift)
    inputs = jnp.where(side.real, records.inputs.tokens[side.index], 0)
    common: dict[str, Any] = dict(
        inputs=inputs,
        length=side.lengths if many else side.size,
        segment_ids=side.segment_ids,
        positions=side.positions if many else None,
        token_types=None if records.types is None else jnp.where(side.real, records.types[side.index], 0),
        grid_positions=(
            None if records.outline is None else jnp.where(side.real[:, None], records.outline[side.index], 0)
        ),
    )
    if records.labels is not None:
        there = members[:1] >= 0
        label = jnp.where(there, records.labels[jnp.maximum(members[:1], 0)], 0)
        return Example(targets=label, weights=there.astype(jnp.float32), **common)
    if records.targets is None:
        assert records.given is not None
        given = records.given[side.member]
        return Example(
            targets=jnp.where(side.real, records.inputs.tokens[side.index + 1], 0),
            weights=(side.real & (side.positions >= given - 1)).astype(jnp.float32),
            **common,
        )
    target = _packed(records.targets, members, decoder_width, 1)
    return Example(
        targets=jnp.where(target.real, records.targets.tokens[target.index + 1], 0),
        weights=target.real.astype(jnp.float32),
        decoder_inputs=jnp.where(target.real, records.targets.tokens[target.index], 0),
        decoder_length=target.lengths if many else target.size,
        decoder_segment_ids=target.segment_ids if many else None,
        decoder_positions=target.positions if many else None,
        **common,
    )


@dataclasses.dataclass(frozen=True)
class _Side:
    """``[W]`` each: the index of every token in the flat array, its example, its segment, position and the segment's
    length (0 in padding); if it is real. And ``size []``, the real tokens of the row.
    """

    index: Array
    member: Array
    segment_ids: Array
    positions: Array
    lengths: Array
    real: Array
    size: Array


def _packed(ragged: Ragged, members: Array, width: int, shift: int) -> _Side:
    """Segments without their last ``shift`` tokens, one after the other in a row of ``width`` tokens."""
    chosen = jnp.maximum(members, 0)
    begin = ragged.starts[chosen]
    sizes = jnp.where(members >= 0, ragged.starts[chosen + 1] - begin - shift, 0)
    ends = jnp.cumsum(sizes)
    indices = jnp.arange(width, dtype=jnp.int32)
    real = indices < ends[-1]
    # How many segments ended before an index is the number of its own; empty ones are passed over.
    which = jnp.minimum(jnp.sum(indices[:, None] >= ends[None, :], axis=1, dtype=jnp.int32), len(members) - 1)
    positions = jnp.where(real, indices - (ends - sizes)[which], 0)
    return _Side(
        index=jnp.where(real, begin[which] + positions, 0),
        member=chosen[which],
        segment_ids=jnp.where(real, which + 1, 0),
        positions=positions,
        lengths=jnp.where(real, sizes[which], 0),
        real=real,
        size=ends[-1],
    )
