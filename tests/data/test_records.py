"""Rows composed on the device against plain lists."""

import functools

import jax
import numpy as np
import pytest

from posenc_jax.data.plan import order, packed
from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records, compose_rows


def sequences(count, longest, shortest=1):
    draw = np.random.default_rng([count, longest, shortest])
    return [draw.integers(5, 99, draw.integers(shortest, longest + 1)).tolist() for _ in range(count)]


compose = functools.partial(jax.jit, static_argnums=(2, 3))(compose_rows)


def test_pairs_of_a_row_stand_one_after_the_other():
    sources, targets = sequences(30, 7), sequences(30, 9, shortest=2)
    records = Records(Ragged.of(sources), Ragged.of(targets))
    np.testing.assert_array_equal(records.sizes(), [[len(s), len(t) - 1] for s, t in zip(sources, targets)])
    ids = packed(records.sizes(), (16, 16), 6, order(30, 0, 0))
    batch = compose(records, ids, 16, 16)
    assert sorted(i for i in ids.ravel() if i >= 0) == list(range(30))
    assert (np.sum(ids >= 0, axis=1) > 1).any()
    for b, members in enumerate(ids):
        members = [i for i in members if i >= 0]
        for name, positions, segments, whole in (
            ("inputs", batch.positions, batch.segment_ids, [sources[i] for i in members]),
            ("decoder_inputs", batch.decoder_positions, batch.decoder_segment_ids, [targets[i][:-1] for i in members]),
            ("targets", batch.decoder_positions, batch.decoder_segment_ids, [targets[i][1:] for i in members]),
        ):
            used = sum(map(len, whole))
            expected = {
                name: [token for part in whole for token in part],
                "positions": [p for part in whole for p in range(len(part))],
                "segments": [number for number, part in enumerate(whole, 1) for _ in part],
            }
            got = {name: getattr(batch, name)[b], "positions": positions[b], "segments": segments[b]}
            for what, values in got.items():
                np.testing.assert_array_equal(values[:used], expected[what], err_msg=f"{name} {what} of row {b}")
                np.testing.assert_array_equal(values[used:], 0)
        np.testing.assert_array_equal(batch.weights[b], np.asarray(batch.decoder_segment_ids[b]) != 0)
        for lengths, sizes in (
            (batch.length[b], [len(sources[i]) for i in members]),
            (batch.decoder_length[b], [len(targets[i]) - 1 for i in members]),
        ):
            own = [size for size in sizes for _ in range(size)]
            assert lengths.tolist() == own + [0] * (len(lengths) - len(own)), "every token has the length of its own"


def test_a_sequence_has_targets_after_what_is_given():
    texts = sequences(12, 10, shortest=4)
    given = np.array([len(text) // 2 for text in texts], np.int32)
    records = Records(Ragged.of(texts), given=given)
    ids = packed(records.sizes(), 20, 4, order(12, 1, 0))
    batch = compose(records, ids, 20, None)
    for b, members in enumerate(ids):
        start = 0
        for i in (i for i in members if i >= 0):
            size = len(texts[i]) - 1
            np.testing.assert_array_equal(batch.inputs[b, start : start + size], texts[i][:-1])
            np.testing.assert_array_equal(batch.targets[b, start : start + size], texts[i][1:])
            weights = np.arange(size) >= given[i] - 1  # the last given token predicts the first target
            np.testing.assert_array_equal(batch.weights[b, start : start + size], weights)
            start += size
        np.testing.assert_array_equal(batch.weights[b, start:], 0)


def test_documents_carry_types_and_one_class():
    texts, labels = sequences(5, 6), np.array([2, 0, 1, 1, 2], np.int32)
    types = [[1 + place % 3 for place in range(len(text))] for text in texts]
    records = Records(Ragged.of(texts), types=Ragged.of(types).tokens, labels=labels)
    batch = compose(records, np.array([[3], [-1], [0]], np.int32), 8, None)
    assert batch.positions is None, "one example a row stands at 0 .. W-1, known before the program runs"
    np.testing.assert_array_equal(batch.targets[:, 0], [1, 0, 2])
    np.testing.assert_array_equal(batch.weights[:, 0], [1, 0, 1])
    for b, i in ((0, 3), (2, 0)):
        np.testing.assert_array_equal(batch.token_types[b, : len(types[i])], types[i])
        np.testing.assert_array_equal(batch.token_types[b, len(types[i]) :], 0)
    assert not np.any(batch.segment_ids[1])
    assert batch.length.tolist() == [len(texts[3]), 0, len(texts[0])]


@pytest.mark.parametrize("ids", [[[-1, -1]], [[0, -1]], [[-1, 0]]])
def test_absent_examples_take_no_slot(ids):
    records = Records(Ragged.of([[7, 8]]), Ragged.of([[1, 9, 2]]))
    batch = compose(records, np.array(ids, np.int32), 4, 4)
    there = 0 in ids[0]
    assert np.sum(batch.segment_ids != 0) == 2 * there
    np.testing.assert_array_equal(batch.inputs[0], [7, 8, 0, 0] if there else [0, 0, 0, 0])
    np.testing.assert_array_equal(batch.targets[0], [9, 2, 0, 0] if there else [0, 0, 0, 0])
    np.testing.assert_array_equal(batch.weights[0], [1, 1, 0, 0] if there else [0, 0, 0, 0])
