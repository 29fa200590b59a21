"""Training text larger than memory: measured in one pass, then read and tokenized when its turn comes.

Each step is fed the numbers of its examples together with a small corpus of just these, from which the device composes
the very batch that it would compose from the whole corpus.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.plan import Buckets, Packing, Plain
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.reading import Call, Reader
from posenc_jax.data.records import Records
from posenc_jax.data.tokenizer import BOS, Tokenizer
from posenc_jax.encodings.base import Array

Sides = tuple[Sequence[int] | np.ndarray, ...]
"""An example's token sequences, one for each field that its `Records` have."""

_FIELDS = ("inputs", "targets", "given", "types", "labels")
_NOTED = 1_000_000
CHUNK = 256
"""Rows of one call of the tokenizer: few enough to be no matter of memory, long documents too."""
REMEMBERED_TOKENS = 2**24
"""64 MiB of documents; a corpus of that size is tokenized once."""


class Texts(Protocol):
    """The rows of a split."""

    def __len__(self) -> int: ...
    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, str]]: ...


@functools.partial(jax.tree_util.register_dataclass, data_fields=["ids", "records"], meta_fields=[])
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
      kept: ``[n]`` rows that training uses; the others are left out. sizes: ``[n]`` or ``[n, 2]`` tokens that each
        example takes. truncated: how many are cut.
    """

    task: Any
    tokenizer: Tokenizer
    split: Texts
    kept: np.ndarray
    sizes: np.ndarray
    left_out: int
    truncated: int

    @classmethod
    def measure(
        cls, task: Any, tokenizer: Tokenizer, split: Texts, note: Callable[[str], None]
    ) -> dict[str, np.ndarray]:
        """Statistics of all rows, from one pass over them."""
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

    @classmethod
    def of(cls, task: Any, tokenizer: Tokenizer, split: Texts, measured: dict[str, np.ndarray]) -> Examples:
        """These examples, from what `measure` found."""
        kept = measured["kept"]
        left_out, truncated = len(split) - len(kept), int(measured["truncated"])
        return cls(task, tokenizer, split, kept, measured["sizes"], left_out, truncated)

    def __len__(self) -> int:
        return len(self.kept)

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of the first example."""
        records = self._records([0])
        return tuple(field for field in _FIELDS if getattr(records, field) is not None)

    def __getitem__(self, index: int) -> Sides:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Sides]:
        records = self._records(indices)
        sides: list[Any] = []
        for field in self.fields:
            values = getattr(records, field)
            if field == "types":
                values = dataclasses.replace(records.inputs, tokens=values)
            single = not isinstance(values, Ragged)
            sides.append(values[:, None] if single else [values.row(i) for i in range(len(values))])
        return list(zip(*sides, strict=True))

    def _records(self, indices: Sequence[int]) -> Records:
        rows = self.split.__getitems__(self.kept[np.asarray(indices)].tolist())
        records = self.task.encode(self.tokenizer, rows, training=True).records
        if len(records) != len(rows) or np.any(records.sizes() != self.sizes[np.asarray(indices)]):
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
    fields: tuple[str, ...] = ("inputs", "given")
    left_out: int = 0
    truncated: int = 0
    _recent: _Recent = dataclasses.field(default_factory=lambda: _Recent(REMEMBERED_TOKENS), repr=False)

    @classmethod
    def measure(
        cls, task: Any, tokenizer: Tokenizer, split: Texts, note: Callable[[str], None]
    ) -> dict[str, np.ndarray]:
        """Tokens of every document, its BOS included, by one pass."""
        chunks = (tokenizer.encode_all([row["text"] for row in rows]) for _, rows in _chunks(split, note))
        counts = np.fromiter((1 + len(document) for chunk in chunks for document in chunk), np.int64)
        return {"starts": np.concatenate([[0], np.cumsum(counts)])}

    @classmethod
    def of(cls, task: Any, tokenizer: Tokenizer, split: Texts, measured: dict[str, np.ndarray]) -> Windows:
        """These examples, from what `measure` found."""
        return cls(task, tokenizer, split, measured["starts"])

    @functools.cached_property
    def sizes(self) -> np.ndarray:
        """All alike."""
        return np.full(len(self), self.task.max_length, np.int32)

    def __len__(self) -> int:
        return int(self.starts[-1]) // (self.task.max_length + 1)

    def __getitem__(self, index: int) -> Sides:
        size = self.task.max_length + 1
        first = index * size
        begin, end = np.searchsorted(self.starts, [first, first + size - 1], side="right") - 1
        tokens = np.concatenate(self._documents(range(begin, end + 1)))
        at = first - int(self.starts[begin])
        return tokens[at : at + size], (1,)

    def __getitems__(self, indices: Sequence[int]) -> list[Sides]:
        # In their order in the text: windows of one document after each other.
        windows = {index: self[index] for index in sorted(set(indices))}
        return [windows[index] for index in indices]

    def _documents(self, numbers: range) -> list[np.ndarray]:
        found = {number: self._recent.get(number) for number in numbers}
        missing = [number for number, document in found.items() if document is None]
        if missing:
            rows = self.split.__getitems__(missing)
            encoded = self.tokenizer.encode_all([row["text"] for row in rows])
            for number, tokens in zip(missing, encoded, strict=True):
                document = np.array([BOS, *tokens], np.int32)
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

    Threads read ahead from where it was asked last; `close` ends them.
    """

    def __init__(
        self, examples: OnDemand, plan: Packing | Buckets | Plain, row: int, steps_per_call: int, num_threads: int = 2
    ) -> None:
        fields = examples.fields
        # One value each beside tokens, which is "extra" and is not counted; so is the token that a target is ahead.
        single = {"given", "labels"}
        ahead = {"targets", "given", "labels"} | ({"inputs"} if "given" in fields else set())
        self._extra = [int(field in ahead) for field in fields]
        self._fields = fields
        self._row = row
        self._reader = Reader(
            examples,
            tuple,  # each is its sides already
            plan,
            steps_per_call,
            # Of buckets it is the width.
            None if isinstance(plan, Buckets) else [0 if field in single else row for field in fields],
            self._extra,
        )
        self._num_threads = num_threads
        self._calls: Iterator[Call] | None = None
        self._next = 0
        self._last: tuple[int, Fed] | None = None

    def __call__(self, step: int) -> Fed:
        """The steps of the call that begins at ``step``."""
        if self._last is not None and self._last[0] == step:
            return self._last[1]
        if self._calls is None or self._next != step:
            self.close()
            self._calls = self._reader.calls(step, self._num_threads)
        self._last = (step, self._by_step(next(self._calls)))
        self._next = step + self._reader.steps_per_call
        return self._last[1]

    def close(self) -> None:
        """Ends the threads; asked again, it starts new ones."""
        if self._calls is not None:
            self._calls.close()  # type: ignore[attr-defined]  # a generator
        self._calls = self._last = None

    def _by_step(self, call: Call) -> Fed:
        """The small corpus of a call taken apart: that of each step, padded to one shape."""
        count, rows, members = call.ids.shape
        real = call.ids >= 0
        ends = np.concatenate([[0], np.cumsum(real.sum((1, 2)))])
        ids = np.where(real, call.ids - ends[:-1, None, None], -1).astype(np.int32)
        width = call.width or self._row
        made: dict[str, Any] = {}
        for field, side, extra in zip(self._fields, call.sides, self._extra, strict=True):
            if field in ("given", "labels"):
                made[field] = np.zeros((count, rows * members), np.int32)
                for step in range(count):
                    values = side.tokens[ends[step] : ends[step + 1]]
                    made[field][step, : len(values)] = values
                continue
            tokens = np.zeros((count, rows * (width + members * extra)), np.int32)
            starts = np.zeros((count, rows * members + 1), np.int32)
            for step in range(count):
                of_step = side.starts[ends[step] : ends[step + 1] + 1]
                part = side.tokens[of_step[0] : of_step[-1]]
                tokens[step, : len(part)] = part
                starts[step] = len(part)
                starts[step, : len(of_step)] = of_step - of_step[0]
            made[field] = tokens if field == "types" else Ragged(tokens, starts)
        return Fed(ids, Records(**made))


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
