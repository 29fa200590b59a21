import numpy as np
import pytest

from posenc_jax.encodings import ALiBi, Interpolated, SegmentIndex, Sequence, WithinSegment, alibi_slopes, geometries

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


def test_long_segments_repeat_the_last_place():
    tokens = np.full((1, 6), 5)
    sequence = Sequence.of_length(6, tokens=tokens)
    assert WithinSegment((1,), 4).map_positions(sequence, key=None, train=False).tolist() == [[0, 1, 2, 3, 3, 3]]
    assert WithinSegment((1,), None).map_positions(sequence, key=None, train=False).tolist() == [[0, 1, 2, 3, 4, 5]]
    assert [WithinSegment((1,), 4).mapped_max_len(n) for n in (3, 9)] == [3, 4]
    assert WithinSegment((1,), None).mapped_max_len(9) == 9


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
