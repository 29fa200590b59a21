"""Token sequences of unequal lengths in two flat arrays, so that a whole corpus is one pytree on the device."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import jax
import numpy as np

from posenc_jax.encodings.interface.base import Array

# What one `Ragged` holds: its starts are int32.
MAX_TOKENS = np.iinfo(np.int32).max


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """``n`` token sequences end to end; sequence ``i`` is ``tokens[starts[i] : starts[i + 1]]``.

    A pytree: NumPy arrays on the host, put on the device as any other. After ``starts[n]`` there may be more tokens:
    padding, that a fixed shape asks for.

    Attributes:
      tokens: ``[N]`` int32 (or ``[N, ...]``, what is known of each).
      starts: ``[n + 1]`` int32, ascending, ``starts[0] = 0``.
    """

    tokens: Array
    starts: Array

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int] | np.ndarray]) -> Ragged:
        """The sequences in their order, empty ones too.

        Raises:
          ValueError: more tokens than int32 can number.
        """
        sequences = list(sequences)
        ends = np.cumsum(np.fromiter(map(len, sequences), np.int64, len(sequences)))
        total = int(ends[-1]) if len(ends) else 0
        if total > MAX_TOKENS:
            raise ValueError(
                f"{total} tokens are too many for one Ragged, whose starts are int32 (at most {MAX_TOKENS}): "
                "read a corpus of that size in parts"
            )
        tokens = np.fromiter(itertools.chain.from_iterable(sequences), np.int32, total)
        return cls(tokens, np.concatenate([[0], ends]).astype(np.int32))

    @property
    def lengths(self) -> Array:
        """``[n]`` int32, tokens of each sequence."""
        return self.starts[1:] - self.starts[:-1]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, index: int) -> Array:
        """``[length]`` tokens of one sequence (on the host: its length gives the shape). IndexError beyond ``n``."""
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self.tokens[self.starts[index] : self.starts[index + 1]]

    def padded(self, count: int, size: int) -> Ragged:
        """The sequences, then empty ones up to ``count``, in ``size`` tokens (on the host)."""
        return Ragged(padded(self.tokens, size), np.pad(self.starts, (0, count - len(self)), mode="edge"))

    def take(self, ids: Array) -> Ragged:
        """Sequences ``ids [k]`` in that order, also repeated (on the host). IndexError beyond ``n``."""
        ids = np.asarray(ids, np.int64)
        if ids.size and not (ids.min() >= 0 and ids.max() < len(self)):
            raise IndexError(f"sequences {ids.min()} to {ids.max()} of {len(self)}")
        starts = np.asarray(self.starts, np.int64)
        lengths = starts[ids + 1] - starts[ids]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        if total > MAX_TOKENS:
            raise ValueError(f"{total} tokens are too many for one Ragged (at most {MAX_TOKENS}): take fewer at once")
        # Each token's index in the source: its index in the result, moved by how far its sequence moved.
        indices = np.arange(total) + np.repeat(starts[ids] - (ends - lengths), lengths)
        return Ragged(np.asarray(self.tokens)[indices], np.concatenate([[0], ends]).astype(np.int32))


def padded(values: Array, size: int) -> np.ndarray:
    """``[size, ...]``: ``values [n, ...]``, then zeros."""
    return np.pad(values, [(0, size - len(values))] + [(0, 0)] * (values.ndim - 1))
