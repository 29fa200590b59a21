import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Interpolated, Sequence


def divided(factor, positions):
    return Interpolated(factor).map_positions(Sequence(positions, np.array([4])), key=None, train=False)


def test_known_positions_are_divided_in_float64_and_stay_known():
    got = divided(3, np.arange(7, dtype=np.int32)[None])
    assert isinstance(got, np.ndarray)
    np.testing.assert_array_equal(got[0], [p / 3 for p in range(7)])


def test_traced_positions_are_divided_in_float32_at_least():
    got = divided(3, jnp.arange(7)[None])
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got[0], np.arange(7) / 3, rtol=1e-7)
    assert divided(3, jnp.ones((1, 2), jnp.bfloat16)).dtype == jnp.float32
    with jax.enable_x64(True):
        assert divided(3, jnp.ones((1, 2), jnp.float64)).dtype == jnp.float64


@pytest.mark.parametrize(("factor", "rows"), [(1, 9), (2, 5), (3, 4), (8, 2), (0.5, 17)])
def test_longest_position(factor, rows):
    assert Interpolated(factor).mapped_max_len(9) == rows
