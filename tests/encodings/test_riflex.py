import math

import numpy as np
import pytest

from posenc_jax.encodings import RIFLEx


@pytest.mark.parametrize(
    ("base", "dim", "repeats_at", "length", "plane"),
    # HunyuanVideo and CogVideoX as in the authors' scripts: planes 4 and 2, counted from 1.
    [(256.0, 16, 50, 66, 3), (10000.0, 16, 20, 26, 1), (10000.0, 64, 1e9, 8, 31)],
)
def test_one_plane_is_lowered(base, dim, repeats_at, length, plane):
    found, nearest = [], min(range(dim // 2), key=lambda k: abs(math.tau * base ** (2 * k / dim) - repeats_at))
    assert nearest == plane
    for k in range(dim // 2):
        found.append(0.9 * math.tau / length if k == plane else base ** (-2 * k / dim))
    got = RIFLEx(repeats_at, length).frequencies(base, dim)
    np.testing.assert_allclose(got, found, rtol=1e-12)
    assert got[plane] * length < math.tau
