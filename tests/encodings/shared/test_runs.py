import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Dims, Sequence
from posenc_jax.encodings.shared.runs import (
    check_ids,
    check_reading,
    check_tokens,
    index_after,
    index_in_run,
    kinds,
    largest,
    sum_before,
)

RNG = np.random.default_rng(0)
MEMBER = RNG.random((40, 12)) < 0.6
SEGMENTS = np.sort(RNG.integers(0, 4, (40, 12)), axis=1)  # packed, padding first
SEGMENTS[20:] = SEGMENTS[20:, ::-1]  # padding last
MEMBER &= SEGMENTS > 0


def runs(row, segments):
    """Lists of neighbouring members of one segment."""
    found = []
    for i in range(len(row)):
        if row[i] and i and row[i - 1] and segments[i] == segments[i - 1]:
            found[-1].append(i)
        elif row[i]:
            found.append([i])
    return found


def test_places_in_runs():
    forward, backward = np.zeros(MEMBER.shape, int), np.zeros(MEMBER.shape, int)
    for b in range(len(MEMBER)):
        for run in runs(MEMBER[b], SEGMENTS[b]):
            for place, i in enumerate(run):
                forward[b, i], backward[b, i] = place + 1, len(run) - place
    assert forward.max() > 4
    np.testing.assert_array_equal(index_in_run(jnp.asarray(MEMBER), jnp.asarray(SEGMENTS)), forward)
    np.testing.assert_array_equal(index_in_run(jnp.asarray(MEMBER), jnp.asarray(SEGMENTS), from_end=True), backward)


def test_counts_and_places_between_marks():
    counts, places = np.zeros(MEMBER.shape, int), np.zeros(MEMBER.shape, int)
    for b in range(len(MEMBER)):
        for i in range(MEMBER.shape[1]):
            start = min(j for j in range(i + 1) if (SEGMENTS[b, j : i + 1] == SEGMENTS[b, i]).all())
            marks = [j for j in range(start, i) if MEMBER[b, j]]
            counts[b, i] = len(marks)
            places[b, i] = i - (marks[-1] + 1 if marks else start)
    assert counts.max() > 3
    np.testing.assert_array_equal(sum_before(jnp.asarray(MEMBER), jnp.asarray(SEGMENTS)), counts)
    np.testing.assert_array_equal(index_after(jnp.asarray(MEMBER), jnp.asarray(SEGMENTS)), places)


def test_largest_of_a_packed_sequence():
    values = np.random.default_rng(1).integers(0, 13, MEMBER.shape)
    want = np.zeros_like(values)
    for b in range(len(values)):
        for segment in set(SEGMENTS[b].tolist()):
            members = SEGMENTS[b] == segment
            want[b, members] = values[b, members].max()
    np.testing.assert_array_equal(largest(jnp.asarray(values), jnp.asarray(SEGMENTS)), want)


def test_kinds_are_of_real_tokens():
    tokens = np.array([[5, 6, 7, 5]])
    segments, fives, high = kinds(
        Sequence.of_length(4, tokens=tokens, segment_ids=np.array([[1, 1, 2, 0]])), (5,), (6, 7)
    )
    assert segments.tolist() == [[1, 1, 2, 0]]
    assert fives.tolist() == [[True, False, False, False]]
    assert high.tolist() == [[False, True, True, False]]
    assert kinds(Sequence.of_length(4, tokens=tokens), (5,))[1].tolist() == [[True, False, False, True]]


@pytest.mark.parametrize("ids", [(), (1, 2, 1), (0, -1)])
def test_ids_that_cannot_be(ids):
    with pytest.raises(
        ValueError, match=r"X.digits = \(.*\) must be different token ids from 0 on, one at least: for ins"
    ):
        check_ids("X.digits", ids, "1")


def test_tokens_that_are_not_there():
    dims = Dims(d_model=4, num_heads=1, num_kv_heads=1, head_dim=4, num_layers=1, max_len=9, vocab_size=16)
    check_reading("X.digits", (15,), dims)
    with pytest.raises(
        ValueError, match=r"X.digits has token 16, but the vocabulary has ids 0 .. 15: name the ids that"
    ):
        check_reading("X.digits", (3, 16), dims)
    with pytest.raises(ValueError, match=r"X finds positions by token ids, and the sequence has none: pass tokens="):
        check_tokens("X", Sequence.of_length(3))
