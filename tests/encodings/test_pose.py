import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import PoSE, Sequence

KEY = jax.random.key(0)


@functools.partial(jax.jit, static_argnums=0)
def _map(encoding, sequence, key):
    return encoding.map_positions(sequence, key=key, train=True)


def mapped(encoding, positions, length, rows, key=KEY):
    sequence = Sequence(jnp.asarray(positions, jnp.int32), jnp.asarray(length), example_ids=np.arange(rows))
    return np.asarray(_map(encoding, sequence, key))


@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.slow), 5, pytest.param(6, marks=pytest.mark.slow)])
def test_all_cuts_and_skips_are_equally_likely(n):
    # First chunk 1 .. (n+1)//2 long, skip 0 .. target - n, both ends included.
    target, rows = n + 2, 6000
    counts = collections.Counter()
    for row in mapped(PoSE(target), np.arange(n)[None], [n], rows):
        steps = np.diff(row) - 1
        gaps = np.flatnonzero(steps)
        assert row[0] == 0
        assert len(gaps) <= 1
        counts[(int(gaps[0]) + 1, int(steps[gaps[0]])) if len(gaps) else (0, 0)] += 1
    if n == 1:
        assert counts == {(0, 0): rows}  # the only token is in the first chunk
        return
    cuts = (n + 1) // 2
    expected = {(0, 0): rows / 3} | {(c, u): rows / 3 / cuts for c in range(1, cuts + 1) for u in (1, 2)}
    assert counts.keys() == expected.keys()
    chi_square = sum((counts[k] - e) ** 2 / e for k, e in expected.items())
    assert chi_square < 22.5  # 0.1 % point with 6 degrees of freedom, the most there are here


def test_draw_knows_nothing_of_the_padded_size_nor_of_the_slice():
    encoding = PoSE(1000)
    short = mapped(encoding, np.arange(9)[None], [9, 4, 7], 3)
    assert short.max() > 8
    np.testing.assert_array_equal(mapped(encoding, np.arange(40)[None], [9, 4, 7], 3)[:, :9], short)
    np.testing.assert_array_equal(mapped(encoding, [[4, 5]], [9, 4, 7], 3), short[:, 4:6])
    assert (mapped(encoding, np.arange(9)[None], [9], 3, key=jax.random.key(1)) != short).any()


def test_a_packed_sequence_has_the_draw_of_its_own_length():
    """What it would have alone, in a row of the same number."""
    positions = np.array([[0, 1, 2, 3, 4, 5, 0, 1, 2, 3]])
    packed = mapped(PoSE(20), positions, np.array([[6] * 6 + [4] * 4]), 8)
    np.testing.assert_array_equal(packed[:, :6], mapped(PoSE(20), positions[:, :6], [6], 8))
    np.testing.assert_array_equal(packed[:, 6:], mapped(PoSE(20), positions[:, 6:], [4], 8))
    assert (packed[:, :4] != packed[:, 6:]).any()


def test_an_example_as_long_as_the_target_has_no_gap():
    for target in (9, 5):
        assert mapped(PoSE(target), np.arange(9)[None], [9], 5).tolist() == [list(range(9))] * 5


def test_evaluation_moves_nothing():
    sequence = Sequence.of_length(5)
    assert PoSE(100).map_positions(sequence, key=None, train=False) is sequence.positions
    assert PoSE(100).mapped_max_len(10) == 100
    assert PoSE(100).mapped_max_len(200) == 200
