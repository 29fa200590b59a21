import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import CAPE, Sequence

KEY = jax.random.key(0)


@functools.partial(jax.jit, static_argnums=(0, 3))
def _map(encoding, sequence, key, train):
    return encoding.map_positions(sequence, key=key, train=train)


def mapped(encoding, positions, rows=3, *, train=True, length=(8,)):
    sequence = Sequence(jnp.asarray(positions, jnp.int32), jnp.asarray(length), example_ids=np.arange(rows))
    return np.asarray(_map(encoding, sequence, KEY, train), np.float64)


ORDER = np.arange(12)[None]


def test_global_shift_is_one_for_each_sequence():
    shift = mapped(CAPE(5.0, 0.0, 1.0), ORDER, 2000) - ORDER
    np.testing.assert_allclose(shift, np.broadcast_to(shift[:, :1], shift.shape), atol=2e-6)
    counts, _ = np.histogram(shift[:, 0], bins=10, range=(-5, 5))
    assert counts.sum() == 2000
    assert ((counts - 200) ** 2 / 200).sum() < 27.9  # 0.1 % point of chi square, 9 degrees of freedom


def test_scaling_is_one_for_each_sequence_uniform_in_its_logarithm():
    positions = ORDER + 1
    scale = mapped(CAPE(0.0, 0.0, 1.03), positions, 2000) / positions
    np.testing.assert_allclose(scale, np.broadcast_to(scale[:, :1], scale.shape), rtol=3e-7)
    counts, _ = np.histogram(np.log(scale[:, 0]), bins=10, range=(-math.log(1.03) - 1e-7, math.log(1.03) + 1e-7))
    assert counts.sum() == 2000
    assert ((counts - 200) ** 2 / 200).sum() < 27.9


def test_local_shift_is_one_for_each_token():
    local = CAPE(0.0, 0.5, 1.0)
    jitter = mapped(local, ORDER, 500) - ORDER
    counts, _ = np.histogram(jitter, bins=10, range=(-0.5, 0.5))
    assert counts.sum() == 6000
    assert ((counts - 600) ** 2 / 600).sum() < 27.9
    correlations = np.corrcoef(jitter.T)[np.triu_indices(12, 1)]
    assert np.abs(correlations).max() < 0.2  # 66 correlations of 500 pairs: four standard deviations
    assert len(np.unique(jitter)) > 5900


def test_jitter_belongs_to_the_position_not_to_the_array():
    encoding = CAPE()
    whole = mapped(encoding, ORDER)
    np.testing.assert_array_equal(mapped(encoding, np.arange(30)[None])[:, :12], whole)
    np.testing.assert_array_equal(mapped(encoding, ORDER[:, 7:9]), whole[:, 7:9])
    np.testing.assert_array_equal(mapped(encoding, np.array([[-2, -1, 0, 1]]))[:, 2:], whole[:, :2])


@pytest.mark.parametrize("zero_mean", [False, True])
def test_agrees_with_the_formula(zero_mean):
    shift = mapped(CAPE(5.0, 0.0, 1.0), np.array([[0]]))[:, 0]
    scale = mapped(CAPE(0.0, 0.0, 1.4), np.array([[1]]))[:, 0]
    jitter = mapped(CAPE(0.0, 0.5, 1.0), ORDER) - ORDER
    got = mapped(CAPE(5.0, 0.5, 1.4, zero_mean=zero_mean), ORDER, length=(8,))
    assert np.abs(jitter).min() > 0
    for row in range(3):
        for p in range(12):
            mean = sum(range(8)) / 8 if zero_mean else 0
            assert got[row, p] == pytest.approx((p - mean + shift[row] + jitter[row, p]) * scale[row], abs=4e-6)


def test_evaluation_moves_nothing():
    sequence = Sequence.of_length(5)
    assert CAPE().map_positions(sequence, key=None, train=False) is sequence.positions
    assert mapped(CAPE(), ORDER, train=False).tolist() == ORDER.tolist()
    centred = CAPE(zero_mean=True).map_positions(sequence, key=None, train=False)
    assert isinstance(centred, np.ndarray)
    assert centred.tolist() == [[-2, -1, 0, 1, 2]]
    got = mapped(CAPE(zero_mean=True), ORDER, train=False, length=(8, 1, 12))
    np.testing.assert_array_equal(got, ORDER - np.array([[3.5], [0], [5.5]]))


def test_largest_position():
    encoding = CAPE(3.0, 1.0, 2.0)
    assert encoding.mapped_max_len(10) == 27  # (9 + 3 + 1) * 2 + 1
    assert mapped(encoding, np.array([[9]]), 3000).max() <= 26
    assert mapped(encoding, np.array([[9]]), 3000).max() > 24
