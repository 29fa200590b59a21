import dataclasses

import jax
import numpy as np
import pytest

from posenc_jax.encodings import (
    ALiBi,
    Dims,
    Interpolated,
    Learned,
    RoPE,
    SegmentIndex,
    Sequence,
    WithinSegment,
    alibi_slopes,
    geometries,
    init_slot,
    map_slot,
)

SEPARATORS = (13, 869)


def levels(tokens, **fields):
    sequence = Sequence.of_length(tokens.shape[1], tokens=tokens, **fields)
    elements = (WithinSegment(SEPARATORS), SegmentIndex(SEPARATORS))
    return tuple(np.asarray(e.map_positions(sequence, key=None, train=False)) for e in elements)


def test_agrees_with_a_count_by_hand():
    tokens = np.random.default_rng(0).choice([13, 869, 5, 6, 7], (30, 15))
    within, index = levels(tokens)
    for b in range(30):
        place = segment = 0
        for i in range(15):
            assert (within[b, i], index[b, i]) == (place, segment)
            place += 1
            if tokens[b, i] in SEPARATORS:  # the separator was the last of its segment
                place, segment = 0, segment + 1
    assert index.max() > 4


@pytest.mark.slow
def test_packed_sequences_start_anew():
    tokens = np.array([[5, 13, 5, 6, 13, 5, 5, 13]])
    within, index = levels(tokens, segment_ids=np.array([[0, 0, 1, 1, 1, 1, 2, 2]]))
    assert within[:, 2:].tolist() == [[0, 1, 2, 0, 0, 1]]
    assert index[:, 2:].tolist() == [[0, 0, 0, 1, 0, 0]]


def test_long_segments_repeat_the_last_place():
    tokens = np.full((1, 6), 5)
    sequence = Sequence.of_length(6, tokens=tokens)
    assert WithinSegment((1,), 4).map_positions(sequence, key=None, train=False).tolist() == [[0, 1, 2, 3, 3, 3]]
    assert WithinSegment((1,), None).map_positions(sequence, key=None, train=False).tolist() == [[0, 1, 2, 3, 4, 5]]
    assert [WithinSegment((1,), 4).mapped_max_len(n) for n in (3, 9)] == [3, 4]
    assert WithinSegment((1,), None).mapped_max_len(9) == 9


def test_a_chunk_looks_back():
    tokens = np.array([[5, 13, 5, 6, 13, 5]])
    whole = Sequence.of_length(6, tokens=tokens)
    want = np.stack(levels(tokens))
    for cut in range(1, 6):
        past = dataclasses.replace(whole, segment_ids=(np.arange(6) <= cut)[None].astype(np.int32))
        chunk = Sequence(np.array([[cut]]), np.array([6]), tokens[:, [cut]], context=past, places=np.array([[cut]]))
        for element, level in zip((WithinSegment(SEPARATORS), SegmentIndex(SEPARATORS)), want):
            assert element.map_positions(chunk, key=None, train=False).tolist() == [[level[0, cut]]]


def test_the_slot_gives_each_encoding_its_level():
    tokens = np.array([[5, 13, 5, 6, 13, 5]])
    slot = (WithinSegment(SEPARATORS), Learned(), SegmentIndex(SEPARATORS), RoPE())
    _, learned, _, rope = map_slot(slot, Sequence.of_length(6, tokens=tokens))
    assert learned.positions.tolist() == [[0, 1, 0, 1, 2, 0]]
    assert rope.positions.tolist() == [[0, 0, 1, 1, 1, 2]]
    dims = Dims(d_model=8, num_heads=1, num_kv_heads=1, head_dim=8, num_layers=1, max_len=5000)
    assert init_slot(jax.random.key(0), slot, dims)[1]["table"].shape == (1024, 8)


def test_slopes_of_bipe_alibi():
    tokens = np.array([[5, 13, 5, 6, 13, 5]])
    slot = (SegmentIndex(SEPARATORS), Interpolated(1 / 96), ALiBi())
    sequence = Sequence.of_length(6, tokens=tokens)
    *_, last = geometries(slot, sequence, sequence, num_heads=4, causal=True)
    got = np.asarray(ALiBi().bias({}, last))
    segment = [0, 0, 1, 1, 1, 2]
    for h, slope in enumerate(alibi_slopes(4)):
        for i in range(6):
            for j in range(i + 1):
                assert got[0, h, i, j] == pytest.approx(96 * slope * (segment[j] - segment[i]), rel=1e-6)


def test_what_cannot_be():
    with pytest.raises(ValueError, match="SegmentIndex finds positions by token ids, and the sequence has none"):
        SegmentIndex((1,)).map_positions(Sequence.of_length(3), key=None, train=False)
