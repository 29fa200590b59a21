"""Ragged against the list of lists that it was made of."""

import numpy as np
import pytest

import posenc_jax.data.ragged
from posenc_jax.data.ragged import Ragged


def lists(ragged):
    return [ragged.row(i).tolist() for i in range(len(ragged))]


def test_rows_lengths_and_any_choice_of_them_are_those_of_the_lists():
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 50):
        sequences = [rng.integers(0, 9, rng.integers(0, 5)).tolist() for _ in range(n)]
        ragged = Ragged.of(sequences)
        assert lists(ragged) == sequences
        assert (ragged.tokens.dtype, ragged.starts.dtype) == (np.int32, np.int32)
        assert ragged.lengths.tolist() == [len(sequence) for sequence in sequences]
        for count in (0, 1, 60) if n else (0,):
            ids = rng.integers(0, n or 1, count)
            taken = ragged.take(ids)
            assert lists(taken) == [sequences[i] for i in ids]
            assert (taken.tokens.dtype, taken.starts.dtype) == (np.int32, np.int32)


def test_padding_after_the_last_sequence_is_no_part_of_any():
    padded = Ragged(np.asarray([7, 8, 9, 0, 0], np.int32), np.asarray([0, 2, 3, 3], np.int32))
    assert lists(padded) == [[7, 8], [9], []]
    assert lists(padded.take([2, 1, 1])) == [[], [9], [9]]


def test_what_is_not_there_is_refused(monkeypatch):
    ragged = Ragged.of([[1, 2], [3]])
    for index in (-1, 2):  # a negative start or a slice beyond the end would pass in silence
        with pytest.raises(IndexError, match=f"sequence {index} of 2"):
            ragged.row(index)
        with pytest.raises(IndexError, match="of 2"):
            ragged.take([0, index])
    monkeypatch.setattr(posenc_jax.data.ragged, "MAX_TOKENS", 5)
    assert len(Ragged.of([[1, 2], [3, 4, 5]]).tokens) == 5
    with pytest.raises(ValueError, match=r"6 tokens are too many .*at most 5\): read a corpus of that size in parts"):
        Ragged.of([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ValueError, match=r"6 tokens are too many .*at most 5\): take fewer at once"):
        ragged.take([0, 0, 0])
