import jax
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, LMInfinite, RoPE


@pytest.mark.parametrize(("window", "first", "limit"), [(3, 2, None), (4, 0, None), (2, 3, 7)])
def test_near_keys_first_keys_and_no_others(random, window, first, limit):
    """detailed_lambda_attention of the authors, and its attention in blocks, pair by pair."""
    q, k = random.normal(size=(2, 1, 2, 9, 4))
    geometry = Geometry.of_length(9, num_heads=2, causal=True)
    with jax.enable_x64(True):
        got = np.asarray(LMInfinite(window, first, limit, RoPE(100.0)).score({}, q, k, geometry, None))
    for h, i, j in np.ndindex(2, 9, 9):
        if j > i:
            continue
        if i - j >= window and j >= first:
            assert got[0, h, i, j] == np.finfo(np.float64).min
            continue
        distance = i - j if i - j < window else limit or window
        a, b = (x[0, h, t, ::2] + 1j * x[0, h, t, 1::2] for x, t in ((q, i), (k, j)))
        turned = (a * np.exp(1j * distance * np.array([1, 0.1])) * np.conj(b)).real.sum()
        assert got[0, h, i, j] == pytest.approx(turned / 2, abs=1e-9)
