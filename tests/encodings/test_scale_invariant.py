import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import ALiBi, Geometry, ScaleInvariant, attend

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=(1, 2, 6, 4)) for _ in range(3))


@pytest.mark.parametrize("slot", [(ScaleInvariant(2.5),), (ALiBi(), ScaleInvariant(2.5))])
def test_logits_are_scaled_and_lowered_by_the_distance(slot):
    geometry = Geometry.of_length(6, num_heads=2, causal=True)
    with jax.enable_x64(True):
        params = ({},) * len(slot)
        weights = jax.jit(lambda q: attend(q, K, V, slot, params, geometry, return_weights=True)[1])(Q)
        assert weights.dtype == np.float64
    for h, i in np.ndindex(2, 6):
        logits = []
        for j in range(i + 1):
            score = Q[0, h, i] @ K[0, h, j] / 2 - (2.0 ** (-4 * (h + 1)) * (i - j) if len(slot) == 2 else 0)
            a = math.sqrt(2 * (math.log((i - j) / 2.5 + 1) - 0.5 + 1))  # equations 16a and b, alpha = beta = e^0.5
            logits.append(a * score - a**2 + 1)
        want = np.exp(logits) / np.sum(np.exp(logits))
        np.testing.assert_allclose(weights[0, h, i, : i + 1], want, atol=1e-9)


def test_masked_keys_stay_finite():
    got = ScaleInvariant().adjust_logits({}, np.ones((1, 1, 4, 4)), None, Geometry.of_length(4, num_heads=1))
    assert np.isfinite(got).all()
