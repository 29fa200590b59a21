"""Training text larger than memory: measured in one pass, then read and tokenized when its turn comes.

Each step is fed the numbers of its examples together with a small corpus of just these, from which the device composes
the very batch that it would compose from the whole corpus.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.data.plan import Buckets, Packing, Plain
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.encodings.interface.base import Array
from posenc_jax.extras import needed

READING = "a corpus that is read in turn (data.in_memory = False)"
# Calls that wait ready: enough to hide the reading of one, few enough to be no matter of memory.
_CALLS_AHEAD = 4
_NOTED = 1_000_000
# Rows of one call of the tokenizer: few enough to be no matter of memory, long documents too.
CHUNK = 256
# 64 MiB of documents; a corpus of that size is tokenized once.
REMEMBERED_TOKENS = 2**24


class Texts(Protocol):
    """The rows of a split."""

    def __len__(self) -> int: ...
    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, str]]: ...


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Fed:
    """``count`` steps, each with its own examples.

    Attributes:
      ids: ``[count, B, G]`` int32 numbers in the records of the step, -1 = none.
      records: those of each step, every array with a leading axis ``[count]``, of fixed shapes for a width.
    """

    ids: Array
    records: Records


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Training examples that are single rows of text, as ``task.encode`` makes them.

    Attributes:
      kept: ``[n]`` rows that training uses; the others are left out.
      sizes: ``[n]`` or ``[n, 2]`` tokens that each example takes.
      truncated: ``[]`` how many are cut.
    """

    task: Any
    tokenizer: Tokenizer
    split: Texts
    kept: np.ndarray
    sizes: np.ndarray
    truncated: np.ndarray

    @classmethod
    def measure(
        cls, task: Any, tokenizer: Tokenizer, split: Texts, note: Callable[[str], None]
    ) -> dict[str, np.ndarray]:
        """The attributes that stand for all rows, from one pass over them."""
        kept, sizes, truncated = [], [], 0
        for start, rows in _chunks(split, note):
            part = task.encode(tokenizer, rows, training=True)
            kept.append(start + part.kept)
            sizes.append(part.records.sizes())
            truncated += part.truncated
        return {
            "kept": np.concatenate(kept),
            "sizes": np.concatenate(sizes).astype(np.int32),
            "truncated": np.asarray(truncated),
        }

    @property
    def left_out(self) -> int:
        """Rows that are not used."""
        return len(self.split) - len(self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    def records(self, indices: np.ndarray) -> Records:
        """The examples of these numbers, in their order."""
        rows = self.split.__getitems__(self.kept[indices].tolist())
        records = self.task.encode(self.tokenizer, rows, training=True).records
        if len(records) != len(rows) or np.any(records.sizes() != self.sizes[indices]):
            raise _changed(self.task)
        return records


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """Training examples that are windows of ``task.max_length + 1`` tokens of all documents, each after a BOS, end to
    end.

    Attributes:
      starts: ``[documents + 1]`` int64, where in all tokens each document starts, BOS first.
    """

    task: Any
    tokenizer: Tokenizer
    split: Texts
    starts: np.ndarray
    left_out, truncated = 0, 0
    _recent: _Recent = dataclasses.field(default_factory=lambda: _Recent(REMEMBERED_TOKENS), init=False, repr=False)

    @classmethod
    def measure(
        cls, task: Any, tokenizer: Tokenizer, split: Texts, note: Callable[[str], None]
    ) -> dict[str, np.ndarray]:
        """The attribute that stands for all documents, from one pass over them."""
        chunks = (tokenizer.encode_all([row["text"] for row in rows]) for _, rows in _chunks(split, note))
        counts = np.fromiter((1 + len(document) for chunk in chunks for document in chunk), np.int64)
        return {"starts": np.concatenate([[0], np.cumsum(counts)])}

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """All alike."""
        return np.full(len(self), self.task.max_length, np.int32)

    def __len__(self) -> int:
        return int(self.starts[-1]) // (self.task.max_length + 1)

    def records(self, indices: np.ndarray) -> Records:
        """The windows of these numbers, in their order."""
        # Read in their order in the text: windows of one document after each other.
        windows = {index: self._window(index) for index in np.unique(indices).tolist()}
        tokens = Ragged.of(windows[index] for index in indices.tolist())
        return Records(tokens, given=np.ones(len(indices), np.int32))

    def _window(self, index: int) -> np.ndarray:
        size = self.task.max_length + 1
        first = index * size
        begin, end = np.searchsorted(self.starts, [first, first + size - 1], side="right") - 1
        tokens = np.concatenate(self._documents(range(begin, end + 1)))
        at = first - int(self.starts[begin])
        return tokens[at : at + size]

    def _documents(self, numbers: range) -> list[np.ndarray]:
        found = {number: self._recent.get(number) for number in numbers}
        missing = [number for number, document in found.items() if document is None]
        if missing:
            rows = self.split.__getitems__(missing)
            encoded = self.tokenizer.encode_all([row["text"] for row in rows])
            for number, tokens in zip(missing, encoded, strict=True):
                document = np.array([self.tokenizer.bos, *tokens], np.int32)
                if len(document) != self.starts[number + 1] - self.starts[number]:
                    raise _changed(self.task)
                found[number] = document
                self._recent.put(number, document)
        return [document for document in found.values() if document is not None]


class _Recent:
    """The documents used last, up to so many tokens; threads share it."""

    def __init__(self, tokens: int) -> None:
        self._room = tokens
        self._documents: OrderedDict[int, np.ndarray] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, number: int) -> np.ndarray | None:
        with self._lock:
            if number in self._documents:
                self._documents.move_to_end(number)
            return self._documents.get(number)

    def put(self, number: int, document: np.ndarray) -> None:
        with self._lock:
            if number not in self._documents:
                self._documents[number] = document
                self._room -= len(document)
            while self._room < 0:
                self._room += len(self._documents.popitem(last=False)[1])


OnDemand = Examples | Windows


class Feed:
    """The batches of one seed as a function of the step; fast if asked in the order of the calls.

    Threads, not processes, read ahead from where it was asked last: starting a process takes longer than reading
    hundreds of batches. `close` ends them.
    """

    def __init__(
        self, examples: OnDemand, plan: Packing | Buckets | Plain, row: int, steps_per_call: int, num_threads: int = 2
    ) -> None:
        self._examples, self._plan, self._row = examples, plan, row
        self._steps, self._num_threads = steps_per_call, num_threads
        self._calls: Iterator[Fed] | None = None
        self._next = 0
        self._last: tuple[int, Fed] | None = None

    def __call__(self, step: int) -> Fed:
        """The steps of the call that begins at ``step``, a multiple of ``steps_per_call``."""
        if self._last is not None and self._last[0] == step:
            return self._last[1]
        if self._calls is None or self._next != step:
            self.close()
            self._calls = self._from(step // self._steps)
        self._last = (step, next(self._calls))
        self._next = step + self._steps
        return self._last[1]

    def close(self) -> None:
        """Ends the threads; asked again, it starts new ones."""
        if self._calls is not None:
            self._calls.close()  # type: ignore[attr-defined]  # a generator
        self._calls = self._last = None

    def _from(self, call: int) -> Iterator[Fed]:
        with needed("text", READING):
            import grain  # takes more than a second

        options = grain.ReadOptions(num_threads=self._num_threads, prefetch_buffer_size=_CALLS_AHEAD)
        # An element's number is its call's: to begin anywhere is plain random access.
        numbers = grain.MapDataset.range(call, sys.maxsize)
        iterator = iter(numbers.map(self.read).to_iter_dataset(options))
        try:
            yield from iterator
        finally:
            iterator.close()

    def read(self, call: int) -> Fed:
        """Call number ``call``, the same bytes each time."""
        batches = self._plan.batches(call * self._steps, self._steps)
        width, ids = batches if isinstance(batches, tuple) else (self._row, batches)
        real, (_, rows, members) = ids >= 0, ids.shape
        found = self._examples.records(ids[real])
        ends = real.sum((1, 2)).cumsum()
        steps = (found.take(np.arange(*own)) for own in itertools.pairwise([0, *ends]))
        shaped = [own.padded(rows * members, rows * width) for own in steps]
        numbers = real.reshape(len(ids), -1).cumsum(axis=1).reshape(ids.shape) - 1
        return Fed(np.where(real, numbers, -1).astype(np.int32), jax.tree.map(lambda *own: np.stack(own), *shaped))


def _chunks(split: Texts, note: Callable[[str], None]) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """(number of the first, rows) from beginning to end."""
    for start in range(0, len(split), CHUNK):
        if start and start // _NOTED > (start - CHUNK) // _NOTED:
            note(f"measured {start:,} of {len(split):,} training examples")
        yield start, split.__getitems__(range(start, min(start + CHUNK, len(split))))


def _changed(task: Any) -> DataError:
    from posenc_jax.data.corpora.store import data_directory

    return DataError(
        f"training examples of {task.data.name!r} have other lengths than when they were measured: the data has "
        f"changed under its name; remove {data_directory() / 'derived'} to have it measured again"
    )
