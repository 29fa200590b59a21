import math

import jax
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.additive.sandwich import Sandwich


def test_published_values():
    """Of eight heads the first, at five distances."""
    positions = np.array([[0, 1, 10, 100, 1000]])
    got = Sandwich().bias({}, geometry_at(positions[:, :1], positions, num_heads=8))
    np.testing.assert_allclose(got[0, 0, 0], [0, -1.4466, -19.3409, -33.3189, -53.3896], atol=1e-4)


@pytest.mark.parametrize(("width", "base", "num_heads"), [(128, 10000.0, 3), (6, 50.0, 8)])
def test_bias_is_the_formula(width, base, num_heads):
    rows = np.array([[3, 7], [0, 2_000_000_000]], np.int32), np.array([[0, 3, 4], [0, 1, 1_999_999_999]], np.int32)
    want = np.zeros((2, num_heads, 2, 3))
    for b, h, i, j in np.ndindex(want.shape):
        distance = int(rows[0][b, i]) - int(rows[1][b, j])
        total = sum(math.cos(distance * base ** (-2 * m / width)) for m in range(1, width // 2 + 1))
        want[b, h, i, j] = (total - width / 2) / (8 * (h + 1) / num_heads)
    encoding = Sandwich(width, base)
    traced = jax.jit(lambda q, k: encoding.bias({}, geometry_at(q, k, num_heads=num_heads)))
    np.testing.assert_allclose(traced(*rows), want, rtol=2e-5, atol=2e-5)
    with jax.enable_x64(True):
        for got in (encoding.bias({}, geometry_at(*rows, num_heads=num_heads)), traced(*rows)):
            np.testing.assert_allclose(got[0], want[0], rtol=1e-9, atol=1e-11)
            # The oracle's own phase, 2e9 times a frequency, is right to 1e-7 only.
            np.testing.assert_allclose(got[1], want[1], atol=2e-5)
