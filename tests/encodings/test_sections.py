"""Positions in documents with sections: places and sections by loops, and what they make of a slot."""

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Dims, Learned, SectionIndex, Sequence, WithinSection, embed, init_slot, parse

DIMS = Dims(d_model=8, num_heads=1, num_kv_heads=1, head_dim=8, num_layers=1, max_len=50)
STRUCTURED = parse("sinusoidal|within_section|sinusoidal|section_index|learned")


def mapped(element, sequence):
    return np.asarray(element.map_positions(sequence, key=None, train=False))


def documents(seed=0, rows=20, size=17):
    """Token types, and segments with padding on either side and two documents a row."""
    rng = np.random.default_rng(seed)
    types = np.sort(rng.integers(1, 4, (rows, size)), axis=1)
    types[::2] = np.where(rng.random((rows // 2, size)) < 0.3, rng.integers(1, 4, (rows // 2, size)), types[::2])
    segments = np.sort(rng.integers(0, 4, (rows, size)), axis=1) % 3
    return np.where(segments == 0, 0, types).astype(np.int32), segments.astype(np.int32)


def places(types, segments):
    """By hand, of real tokens."""
    found = np.zeros_like(types)
    for b, i in np.argwhere(segments != 0):
        start = i
        while start > 0 and types[b, start - 1] == types[b, i] and segments[b, start - 1] == segments[b, i]:
            start -= 1
        found[b, i] = i - start
    return found


def test_agrees_with_a_count_by_hand():
    types, segments = documents()
    sequence = Sequence.of_length(types.shape[1], token_types=types, segment_ids=segments)
    real = segments != 0
    np.testing.assert_array_equal(mapped(WithinSection(), sequence)[real], places(types, segments)[real])
    np.testing.assert_array_equal(mapped(SectionIndex(), sequence), types)
    unpadded = Sequence.of_length(types.shape[1], token_types=types)
    np.testing.assert_array_equal(mapped(WithinSection(), unpadded), places(types, np.ones_like(types)))
    assert mapped(WithinSection(), unpadded).max() > 4  # the documents have sections worth counting


def test_types_and_segments_may_be_of_one_row():
    types, segments = np.array([[1, 1, 2, 2, 2]]), np.array([[1, 1, 1, 2, 2], [1, 1, 1, 1, 1]])
    sequence = Sequence.of_length(5, token_types=types, segment_ids=segments)
    assert mapped(WithinSection(), sequence).tolist() == [[0, 1, 0, 0, 1], [0, 1, 0, 1, 2]]


def test_the_structured_slot_is_the_sum_of_three_vectors():
    types, segments = documents(2)
    params = init_slot(jax.random.key(0), STRUCTURED, DIMS)
    table = np.asarray(params[-1]["table"], np.float64)
    assert table.shape == (4, 8)  # a row per type, however long documents are
    sequence = Sequence.of_length(types.shape[1], token_types=types, segment_ids=segments)
    aligned = tuple(params[[*dict.fromkeys(STRUCTURED)].index(e)] for e in STRUCTURED)
    x = np.random.default_rng(0).normal(size=(*types.shape, 8))
    with jax.enable_x64(True):
        got = np.asarray(embed(STRUCTURED, aligned, x, sequence))
    place = places(types, segments)

    def wave(position, k):
        angle = position / 10000 ** (2 * (k // 2) / 8)
        return np.cos(angle) if k % 2 else np.sin(angle)

    for b, i in np.argwhere(segments != 0):
        for k in range(8):
            wanted = x[b, i, k] + wave(i, k) + wave(place[b, i], k) + table[types[b, i], k]
            assert got[b, i, k] == pytest.approx(wanted, abs=1e-9)


def test_a_type_beyond_the_table_is_nan():
    types = np.array([[1, 2, 4]], np.int32)
    slot = (SectionIndex(), Learned())
    params = init_slot(jax.random.key(0), slot, DIMS)
    run = jax.jit(
        lambda types: embed(slot, params, jax.numpy.zeros((1, 3, 8)), Sequence.of_length(3, token_types=types))
    )
    np.testing.assert_array_equal(np.isnan(run(types)).all(axis=2), [[False, False, True]])
    assert SectionIndex(7).mapped_max_len(50) == 7
    assert WithinSection().mapped_max_len(50) == 50
