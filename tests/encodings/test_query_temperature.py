import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import QueryTemperature

Q = np.random.default_rng(0).normal(size=(2, 2, 6, 3))
POSITIONS = np.array([[0, 7, 8, 15, 16, 2_000_000_000], [-9, -1, 30, 31, 32, 1_000_003]])


@pytest.mark.parametrize("offset", [0, 1])
def test_queries_are_scaled_in_steps(offset):
    encoding = QueryTemperature(scale=0.3, floor=8, offset=offset)
    with jax.enable_x64(True):
        got = encoding.encode_queries({}, Q, POSITIONS, None)
    for b, s in np.ndindex(2, 6):
        steps = max((int(POSITIONS[b, s]) + offset) // 8, 0)
        np.testing.assert_allclose(got[b, :, s], Q[b, :, s] * (1 + 0.3 * math.log(steps + 1)), rtol=1e-12)
    assert encoding.encode_keys({}, Q, POSITIONS, None) is Q


def test_values():
    """Llama 4's factor at its first steps, and that of Ministral 3 at 131072 positions (transformers' 1.22)."""
    one, ends = np.ones((1, 1, 3, 1), np.float32), np.array([[8190, 8191, 16383]])
    got = QueryTemperature().encode_queries({}, one, ends, None).ravel()
    np.testing.assert_allclose(got, [1, 1 + 0.1 * math.log(2), 1 + 0.1 * math.log(3)], rtol=1e-6)
    far = QueryTemperature(floor=16384, offset=0).encode_queries({}, one[:, :, :1], np.array([[131072]]), None)
    np.testing.assert_allclose(far, 1 + 0.1 * math.log(9), rtol=1e-6)


def test_fractional_positions_step_as_whole_ones():
    got = QueryTemperature(floor=2, offset=0).encode_queries(
        {}, np.ones((1, 1, 2, 1), np.float32), np.array([[1.75, 2.25]], np.float32), None
    )
    np.testing.assert_allclose(got.ravel(), [1, 1 + 0.1 * math.log(2)], rtol=1e-6)
