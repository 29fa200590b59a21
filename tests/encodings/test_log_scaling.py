import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import LogScaling

Q = np.random.default_rng(0).normal(size=(2, 2, 4, 3))
POSITIONS, LENGTH = np.array([[0, 3, 7, 100], [1, 2, 3, 4]]), np.array([101, 5])


@pytest.mark.parametrize("count", ["position", "length"])
@pytest.mark.parametrize("clip", [True, False])
def test_queries_are_scaled_by_log_n(count, clip):
    encoding = LogScaling(8, count=count, clip=clip)
    with jax.enable_x64(True):
        got = encoding.encode_queries({}, Q, POSITIONS, LENGTH)
    for b, s in np.ndindex(2, 4):
        n = POSITIONS[b, s] + 1 if count == "position" else LENGTH[b]
        factor = math.log(n) / math.log(8)
        np.testing.assert_allclose(got[b, :, s], Q[b, :, s] * (max(factor, 1) if clip else factor), rtol=1e-12)
    assert encoding.encode_keys({}, Q, POSITIONS, LENGTH) is Q


def test_values():
    """log_512(512) = 1; Chiang and Cholak's natural logarithm; a position before the sequence counts one key."""
    one = np.ones((1, 1, 1, 1), np.float32)
    assert LogScaling(512, "length", False).encode_queries({}, one, None, np.array([512])) == 1
    natural = LogScaling(math.e, "length", False).encode_queries({}, one, None, np.array([20]))
    np.testing.assert_allclose(natural, math.log(20), rtol=1e-6)
    assert LogScaling(8).encode_queries({}, one, np.array([[-5]]), None) == 1
    assert LogScaling(8).position_axes is None
    assert LogScaling(8, "length").position_axes == "any"
    assert LogScaling(8).causal_only
    assert not LogScaling(8, "length").causal_only
