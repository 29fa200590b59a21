"""Plans of batches: what every plan promises, checked on many random corpora, and first fit against plain loops."""

import itertools

import numpy as np
import pytest
from effort import counted

from posenc_jax.data import plan as plans
from posenc_jax.data.plan import Buckets, Packing, Plain, fitted_widths, order, packed


def corpora(seeds):
    """Random lengths of one side and of two, with capacities that hold them."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, longest = int(rng.integers(40, 200)), int(rng.integers(1, 30))
        sides = int(rng.integers(1, 3))
        lengths = rng.integers(1, longest + 1, (n, sides))
        capacities = tuple(int(c) for c in longest + rng.integers(0, 20, sides))
        yield seed, (lengths[:, 0], capacities[0]) if sides == 1 else (lengths, capacities)


def real(ids):
    return ids[ids >= 0].tolist()


# --- order ---


def test_an_order_is_that_of_all_versions():
    assert order(8, 0, 0).tolist() == [0, 2, 1, 5, 4, 3, 6, 7]
    assert order(8, 7, 3).tolist() == [2, 5, 7, 3, 0, 6, 4, 1]


# --- packed ---


def first_fit(lengths, capacities, max_examples, in_order, num_places):
    """First fit by its words, over a list of places."""
    rows, places = [], [None] * num_places
    for example in in_order:
        fitting = [row for row in places if row and all(row["free"] >= lengths[example])]
        if fitting:
            row = fitting[0]
        else:
            if None not in places:
                places[int(np.argmin([min(row["free"]) for row in places]))] = None
            row = {"free": np.array(capacities), "members": []}
            rows.append(row["members"])
            places[places.index(None)] = row
        row["free"] = row["free"] - lengths[example]
        row["members"].append(example)
        if len(row["members"]) == max_examples or any(row["free"] < lengths.min(axis=0)):
            places = [None if place is row else place for place in places]
    return rows


@pytest.mark.parametrize("num_places", [1, 4, 64])
def test_packing_is_first_fit(num_places, monkeypatch):
    monkeypatch.setattr(plans, "OPEN_ROWS", num_places)
    for seed, (lengths, capacities) in corpora(range(15)):
        for max_examples in (1, 3, 20):
            in_order = order(len(lengths), seed, 0)
            rows = packed(lengths, capacities, max_examples, in_order)
            by_side = lengths.reshape(len(lengths), -1)
            expected = first_fit(by_side, np.atleast_1d(capacities), max_examples, in_order, num_places)
            assert [real(row) for row in rows] == expected
            assert rows.shape == (len(expected), max_examples)
            assert rows.dtype == np.int32


def test_packing_is_tight_and_quick():
    # Sentences of a translation corpus by size: log-normal, 26 tokens in the mean; rows of 128 on both sides.
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3, 0.6, (26_000, 1)) * rng.uniform(0.8, 1.25, (26_000, 2)), 2, 100).astype(int)
    with counted() as effort:
        packing = Packing(lengths, (128, 128), 16, 64, 0)
    assert packing.padding_fraction() < 0.09
    assert effort.calls < 40 * len(lengths)


# --- Packing and Plain: a function of the step ---


def packing_and_plain(seeds):
    for seed, (lengths, capacities) in corpora(seeds):
        batch_size = 1 + seed % 5
        yield Packing(lengths, capacities, 4, batch_size, seed), range(len(lengths))
        yield Plain(len(lengths), batch_size, seed), range(len(lengths))


def test_steps_are_the_same_however_they_are_cut_and_in_any_order():
    for plan, _ in packing_and_plain(range(12)):
        rng = np.random.default_rng(plan.seed)
        total = 3 * plan.steps_per_epoch + 2
        whole = plan.batches(0, total)
        assert whole.shape[:2] == (total, plan.batch_size)
        assert whole.dtype == np.int32
        for _ in range(20):
            step = int(rng.integers(0, total))
            count = int(rng.integers(1, total - step + 1))
            np.testing.assert_array_equal(plan.batches(step, count), whole[step : step + count])


def test_an_epoch_has_every_row_once_but_for_the_remainder_others_each_time():
    for plan, _ in packing_and_plain(range(12)):
        rows = plan.rows if isinstance(plan, Packing) else np.arange(plan.n)[:, None]
        known = {tuple(row) for row in rows.tolist()}
        steps = plan.steps_per_epoch
        assert steps == len(rows) // plan.batch_size
        left_out = set()
        epochs = []
        for epoch in range(30):
            drawn = plan.batches(epoch * steps, steps).reshape(-1, rows.shape[1]).tolist()
            assert len({tuple(row) for row in drawn}) == len(drawn) == steps * plan.batch_size
            assert {tuple(row) for row in drawn} <= known
            left_out |= known - {tuple(row) for row in drawn}
            epochs.append(drawn)
        assert epochs[0] != epochs[1]
        remainder = len(rows) % plan.batch_size
        assert len(left_out) > remainder or remainder == 0


def test_statistics_by_hand():
    packing = Packing(np.array([6, 5, 4, 5, 1, 9]), 10, 4, 1, 3)
    rows = len(packing.rows)
    assert packing.padding_fraction() == pytest.approx(1 - 30 / (10 * rows))
    two = Packing(np.array([[3, 4], [2, 1]]), (8, 5), 2, 1, 0)
    assert two.padding_fraction() == pytest.approx(1 - 10 / 13)
    # Widths 4 and 8, a batch of one row of 8 or two of 4: 2 + 4 + 3 + 1 and 7 + 8 tokens in 16 places each.
    buckets = Buckets(np.array([2, 4, 3, 1, 7, 8]), (4, 8), 1, 0)
    assert buckets.padding_fraction(1) == pytest.approx(1 - 25 / 32)


# --- Buckets ---


def buckets(seeds):
    for seed, (lengths, _) in corpora(seeds):
        longest = int(lengths.max())
        widths = tuple({longest + 1, longest // 2 + 1, longest // 4 + 1})
        yield Buckets(lengths, widths, 1 + seed % 3, seed)


@pytest.mark.parametrize("seeds", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_an_epoch_of_buckets_has_every_example_once_but_for_less_than_a_call(seeds):
    for plan in buckets(range(seeds)):
        n = len(plan.lengths)
        longest = plan.lengths.reshape(n, -1).max(axis=1)
        for count in (1, 3):
            steps = plan.steps_per_epoch(count)
            assert steps == count * sum(plan.calls_per_epoch(count).values())
            for epoch in range(3):
                drawn, widths = [], {}
                for call in range(steps // count):
                    width, ids = plan.batches(epoch * steps + call * count, count)
                    assert ids.shape == (count, plan.batch_size * max(plan.widths) // width, 1)
                    assert ids.dtype == np.int32
                    assert all(longest[ids.ravel()] <= width)
                    drawn += ids.ravel().tolist()
                    widths[width] = widths.get(width, 0) + 1
                assert len(drawn) == len(set(drawn))
                held_by = min(width for width in plan.widths if width >= longest.max())
                assert n - len(drawn) < count * plan.rows(held_by)
                assert widths == {width: calls for width, calls in plan.calls_per_epoch(count).items() if calls}


def test_buckets_come_in_the_same_order_for_all_seeds_another_in_every_epoch():
    lengths = np.random.default_rng(0).integers(1, 33, (2000, 2))
    plan, *others = (Buckets(lengths, (8, 16, 32), 4, seed) for seed in (0, 1, 99))
    steps = plan.steps_per_epoch(2)
    widths = [[plan.batches(e * steps + s, 2)[0] for s in range(0, steps, 2)] for e in range(3)]
    assert widths[0] != widths[1] != widths[2]
    assert sorted(widths[0]) == sorted(widths[1])
    for other in others:
        assert [[other.batches(e * steps + s, 2)[0] for s in range(0, steps, 2)] for e in range(3)] == widths


def test_calls_can_be_asked_in_any_order_and_must_be_whole():
    plan = next(buckets([5]))
    in_turn = [plan.batches(step, 3) for step in range(0, 90, 3)]
    fresh = next(buckets([5]))
    for call in np.random.default_rng(0).permutation(30):
        width, ids = fresh.batches(3 * int(call), 3)
        assert width == in_turn[call][0]
        np.testing.assert_array_equal(ids, in_turn[call][1])
    with pytest.raises(ValueError, match=r"step 7 is not a multiple of 3, the steps of a call, .*: ask from step 6"):
        plan.batches(7, 3)


def test_where_small_buckets_and_remainders_go():
    # Calls take 4, 2 and 1 examples. 5 of width 2: one call, 1 goes on; 1 + 2 of width 4: one call, 1 goes on.
    plan = Buckets(np.array([1, 1, 2, 2, 2, 3, 4, 8]), (2, 4, 8), 1, 0)
    assert plan.calls_per_epoch(1) == {2: 1, 4: 1, 8: 2}
    # 3 of width 2 are too few for a call there: they go on.
    assert Buckets(np.array([1, 1, 2, 8]), (2, 4, 8), 1, 0).calls_per_epoch(1) == {2: 0, 4: 1, 8: 2}
    # Nothing needs width 8: remainders stop at 4.
    assert Buckets(np.array([1, 1, 2, 2, 2]), (2, 4, 8), 1, 0).calls_per_epoch(1) == {2: 1, 4: 0, 8: 0}
    # Width 8 would have 1 + 2 of the 4 that a call takes: the only call of width 2 is run at 8, as four.
    assert Buckets(np.array([2] * 18 + [8]), (2, 8), 4, 0).calls_per_epoch(1) == {2: 0, 8: 4}


# --- fitted widths ---


def empty_places(lengths, widths):
    """When each example stands in the narrowest width that holds it."""
    return sum(min(w for w in widths if w >= n) - n for n in lengths)


def test_fitted_widths_are_the_best_of_all():
    for seed, (lengths, _) in corpora(range(8)):
        by_side = lengths.reshape(len(lengths), -1)
        longest, batch_size = by_side.max(axis=1), 1 + seed % 4
        row = int(longest.max()) + seed % 5
        found = fitted_widths(lengths, row, batch_size, most=3)
        assert len(found) <= 3
        places = batch_size * row
        possible = sorted({places // (places // width) for width in range(1, row + 1)})
        choices = itertools.chain.from_iterable(itertools.combinations(possible, k) for k in (1, 2, 3))
        best = min(empty_places(longest, c) for c in choices if c[-1] >= longest.max())
        assert empty_places(longest, found) == best
        parts = 2 + seed % 2
        plan = Buckets(lengths, fitted_widths(lengths, row, 2 * parts, parts), 2 * parts, seed, row, parts)
        for width in plan.widths:
            assert plan.rows(width) % parts == 0
            assert row * 2 * parts // plan.rows(width) == width
        plan = Buckets(lengths, found, batch_size, seed, row)
        for width in found:  # the width follows from the rows of a batch
            assert row * batch_size // plan.rows(width) == width


TWO = np.array([[3, 4], [2, 9], [2, 8]])
REFUSED = [
    (
        lambda: packed(TWO, (8, 7), 2, [0, 1]),
        r"2 examples are longer than the capacity 7 \(example 1 has 9 .*: leave t",
    ),
    (lambda: packed(TWO, 8, 2, [0, 1, 2]), r"capacities \(8,\) for examples of 2 sides: give one int a side"),
    (lambda: packed(TWO, (9, 9), 0, [0, 1, 2]), "max_examples 0 is below 1: a row holds at least one"),
    (lambda: packed(np.array([1, 0]), 4, 2, [0, 1]), "example 1 has length 0: every side needs at least 1 token; leav"),
    (lambda: Packing(np.array([9, 9, 9]), 10, 2, 4, 0), "3 rows do not fill a batch of 4: lower batch_size to 3 or le"),
    (lambda: Plain(3, 4, 0), "3 examples do not fill a batch of 4: lower batch_size to 3 or less, or use"),
    (lambda: Plain(3, 0, 0), "batch_size 0 is below 1"),
    (lambda: Plain(9, 2, 0).batches(-1, 2), "steps -1 to 0 do not exist: steps start at 0, and count at 1"),
    (lambda: Buckets(np.ones(9, int), (2,), 2, 0).batches(0, 0), "do not exist"),
    (lambda: Buckets(TWO, (4, 8), 1, 0), r"1 examples are longer than the widest bucket 8 \(example 1 has 9 tokens\)"),
    (lambda: Buckets(np.array([1]), (0, 4), 1, 0), "of buckets must be positive, and at least one"),
    (lambda: Buckets(TWO, (256,), 16, 0, parts=3), "batch_size 16 does not make 3 equal parts"),
    (lambda: Buckets(TWO, (4, 16), 2, 0).batches(0, 2), "3 examples do not fill a call of 2 steps, which takes 4 at"),
    (lambda: fitted_widths(np.zeros(0, int), 8, 2), "there is no example to fit widths to"),
    (lambda: fitted_widths(np.asarray([3, 9]), 8, 2), "1 examples are longer than the row 8"),
]


@pytest.mark.parametrize(("ask", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
