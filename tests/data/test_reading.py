"""Reading call by call against the whole corpus in memory."""

import contextlib
import itertools
import threading

import numpy as np
import pytest

from posenc_jax.data.plan import Buckets, Packing, Plain
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.reading import Reader
from posenc_jax.data.tokenizer import ByteTokenizer

N = 200
BYTES = ByteTokenizer()


class Rows:
    """A source that notes which rows are asked for."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.rows = [{side: "x" * rng.integers(1, 12) + f"{i}{side}" for side in ("en", "de")} for i in range(N)]
        self.asked = []

    def __len__(self):
        return N

    def __getitem__(self, index):
        self.asked.append(index)
        return self.rows[index]


def both(row):
    return BYTES.encode(row["en"]), BYTES.encode(row["de"])


def one(row):
    return (BYTES.encode(row["en"]),)


def plan_named(name, lengths):
    if name == "packing":
        return Packing(lengths, (40, 35), 4, 4, 3)
    if name == "buckets":
        return Buckets(lengths, (8, 16), 2, 3)
    return Plain(N, 4, 3)


def lengths_of(source, encode):
    return np.array([[len(side) for side in encode(row)] for row in source.rows], np.int32)


def composed(sides, ids):
    """``[count, rows, G, sides]`` the tokens of every place of the batches; None = nothing there."""
    return [
        [[[side.row(i).tolist() for side in sides] if i >= 0 else None for i in row] for row in batch]
        for batch in ids.tolist()
    ]


@pytest.mark.parametrize("name", ["packing", "buckets", "plain"])
def test_what_is_read_is_what_the_whole_corpus_gives_from_any_step_on(name):
    source = Rows()
    plan = plan_named(name, lengths_of(source, both))
    corpus = [Ragged.of([both(row)[side] for row in source.rows]) for side in (0, 1)]
    reader = Reader(source, both, plan, 3, capacities=16 if name == "plain" else None)
    shapes = {}
    for start in (0, 6, 27):
        with contextlib.closing(reader.calls(start)) as calls:
            for step, call in zip(range(start, start + 30, 3), calls, strict=False):
                batches = plan.batches(step, 3)
                width, ids = batches if name == "buckets" else (None, batches)
                assert composed(call.sides, call.ids) == composed(corpus, ids)
                assert call.width == width
                assert call.ids[call.ids >= 0].tolist() == list(range(np.sum(ids >= 0)))
                assert all(min(side.lengths) >= 0 for side in call.sides)  # of the sequences that only pad, too
                shape = [call.ids.shape, *(leaf.shape for side in call.sides for leaf in (side.tokens, side.starts))]
                assert shapes.setdefault(width, shape) == shape
    if name == "packing":
        assert shapes[None] == [(3, 4, 4), (12 * 40,), (49,), (12 * 35,), (49,)]
    assert len(shapes) == (2 if name == "buckets" else 1)


def test_only_what_a_call_needs_is_read_and_a_call_is_the_same_each_time():
    source = Rows()
    plan = Plain(N, 4, 0)
    reader = Reader(source, one, plan, 2, capacities=16)
    first = reader.read(5)
    assert source.asked == plan.batches(10, 2).ravel().tolist()
    again = reader.read(5)
    for a, b in ((first.ids, again.ids), (first.sides[0].tokens, again.sides[0].tokens)):
        np.testing.assert_array_equal(a, b)
    assert len(first.sides) == 1


def test_tokens_beyond_those_that_the_plan_counts_have_room():
    # Stored with one token that takes no slot, as a shifted sequence is: rows filled to the brim hold G more tokens.
    source = Rows()
    source.rows = [{"en": "abc"} for _ in range(N)]
    plan = Packing(lengths_of(source, one)[:, 0] - 1, 4, 2, 5, 0)
    call = Reader(source, one, plan, 1, extra=1).read(0)
    assert call.sides[0].starts[-1] == len(call.sides[0].tokens) == 5 * (4 + 2 * 1)
    with pytest.raises(ValueError, match=r"have 30 tokens, and the plan has room for 20: make the plan of the lengths"):
        Reader(source, one, plan, 1).read(0)


def test_misuse_is_refused():
    source = Rows()
    with pytest.raises(ValueError, match="a Reader of a Plain plan needs capacities: give the tokens of the longest"):
        Reader(source, one, Plain(N, 4, 0), 3)
    reader = Reader(source, one, Plain(N, 4, 0), 3, capacities=16)
    for step in (4, -3):
        with pytest.raises(ValueError, match=f"step {step} is not the first of a call of 3 steps: ask from a mul"):
            reader.calls(step)


def test_an_error_of_the_source_reaches_the_reader_and_threads_end():
    plan = Plain(N, 4, 0)

    class Broken(Rows):
        def __getitem__(self, index):
            if index in plan.batches(9, 3):
                raise OSError("the disk is gone")
            return super().__getitem__(index)

    def threads_end(threads):
        assert threads
        for thread in threads:
            thread.join(timeout=20)
            assert not thread.is_alive()

    before = set(threading.enumerate())
    with contextlib.closing(Reader(Rows(), one, plan, 3, capacities=16).calls()) as calls:
        next(calls)
        ahead = set(threading.enumerate()) - before
    threads_end(ahead)

    calls = Reader(Broken(), one, plan, 3, capacities=16).calls()
    next(calls)
    ahead = set(threading.enumerate()) - before
    with pytest.raises(OSError, match="the disk is gone") as error:
        list(itertools.islice(calls, 20))
    threads_end(ahead)  # though the traceback still holds all frames
    assert error.tb is not None
