"""Corpora larger than memory: the examples of each call are read and tokenized when their turn comes, ahead by threads.

The result is a small corpus of exactly those examples, of a fixed shape, and ids into it: the device composes its
rows from these as it would from the whole corpus.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from posenc_jax.data.plan import Buckets, Packing, Plain
from posenc_jax.data.ragged import Ragged
from posenc_jax.extras import needed

Encode = Callable[[Any], Sequence[Sequence[int]]]
"""A row of text to its token sequences, one a side: (source, target), or (tokens,); the same number for every row."""

READING = "a corpus that is read in turn (data.in_memory = False)"

# Calls that wait ready: enough to hide the reading of one, few enough to be no matter of memory.
_CALLS_AHEAD = 4


class Source(Protocol):
    """Random access to rows of text, or of whatever ``encode`` takes; several at once with ``__getitems__``."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Any: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """The examples of ``count`` steps, of fixed shapes for a width.

    Attributes:
      ids: ``[count, rows, G]`` int32 into ``sides``, ascending as they are read; -1 = none. An example that comes twice
        (where an epoch ends and the next begins) is here twice.
      sides: for each side the sequences, padded to ``count * rows * (capacity + G * extra)`` tokens of 0 and, with
        empty ones, to ``count * rows * G`` sequences.
      width: of the bucket, or None without buckets.
    """

    ids: np.ndarray
    sides: tuple[Ragged, ...]
    width: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Reader:
    """Reads the calls of a plan, any of them at any time: the same call is the same bytes.

    Attributes:
      source: where examples are read by number. encode: makes tokens of them.
      plan: which examples each step has; its lengths are those of this source and ``encode``, less ``extra``.
      steps_per_call: steps that are read together.
      capacities: tokens of a row, one for all sides or one a side. None: those of `Packing`, the width of `Buckets`.
      extra: tokens that an example has beyond those that the plan counts (1 where inputs and targets are one
        sequence, shifted), one for all sides or one a side.

    ValueError: `Plain` without capacities.
    """

    source: Source
    encode: Encode
    plan: Packing | Buckets | Plain
    steps_per_call: int
    capacities: int | Sequence[int] | None = None
    extra: int | Sequence[int] = 0

    def __post_init__(self) -> None:
        if self.capacities is None and isinstance(self.plan, Plain):
            raise ValueError(
                "a Reader of a Plain plan needs capacities: give the tokens of the longest example on each side"
            )

    def read(self, call: int) -> Call:
        """Call number ``call``: steps ``call * steps_per_call`` and on.

        ValueError: examples with more tokens than the plan has room for.
        """
        step = call * self.steps_per_call
        if isinstance(self.plan, Buckets):
            width, ids = self.plan.batches(step, self.steps_per_call)
        else:
            width, ids = None, self.plan.batches(step, self.steps_per_call)
        real = ids >= 0
        sequences = [self.encode(row) for row in _rows(self.source, ids[real].tolist())]
        num_sides = len(sequences[0])
        capacities = self.plan.capacities if isinstance(self.plan, Packing) else width
        if self.capacities is not None:
            capacities = self.capacities
        assert capacities is not None
        room = np.broadcast_to(capacities, num_sides) + ids.shape[-1] * np.broadcast_to(self.extra, num_sides)
        num_rows = ids.shape[0] * ids.shape[1]
        sides = tuple(
            _padded(Ragged.of(sequence[side] for sequence in sequences), num_rows * int(room[side]), ids.size)
            for side in range(num_sides)
        )
        renumbered = np.where(real, np.cumsum(real).reshape(ids.shape) - 1, -1).astype(np.int32)
        return Call(renumbered, sides, width)

    def calls(self, step: int = 0, num_threads: int = 2) -> Iterator[Call]:
        """The calls from the one that begins at ``step`` on, without end, read ahead by threads in the background.

        Threads, not processes: starting a process takes longer than reading hundreds of batches. Close the iterator
        (`contextlib.closing`) to end them.

        ValueError: ``step`` is not the first of a call.
        """
        if step < 0 or step % self.steps_per_call:
            raise ValueError(
                f"step {step} is not the first of a call of {self.steps_per_call} steps: ask from a multiple of "
                f"{self.steps_per_call}"
            )
        return self._calls(step // self.steps_per_call, num_threads)

    def _calls(self, first: int, num_threads: int) -> Iterator[Call]:
        with needed("text", READING):
            import grain  # takes more than a second

        options = grain.ReadOptions(num_threads=num_threads, prefetch_buffer_size=_CALLS_AHEAD)
        # An element's number is its call's: to begin anywhere is plain random access.
        numbers = grain.MapDataset.range(first, sys.maxsize)
        iterator = iter(numbers.map(self.read).to_iter_dataset(options))
        try:
            yield from iterator
        finally:
            iterator.close()


def _rows(source: Source, numbers: list[int]) -> Sequence[Any]:
    together = getattr(source, "__getitems__", None)
    return [source[i] for i in numbers] if together is None else together(numbers)


def _padded(ragged: Ragged, num_tokens: int, num_sequences: int) -> Ragged:
    missing = num_tokens - len(ragged.tokens)
    if missing < 0:
        raise ValueError(
            f"the examples of a call have {len(ragged.tokens)} tokens, and the plan has room for {num_tokens}: make "
            "the plan of the lengths that the same source and encode have (less extra)"
        )
    return Ragged(
        np.pad(ragged.tokens, (0, missing)),
        np.pad(ragged.starts, (0, num_sequences - len(ragged)), mode="edge"),
    )
