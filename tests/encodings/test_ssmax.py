import math

import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, Geometry, SSMax, attend

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=(2, 3, 5, 4)) for _ in range(3))
PARAMS = {"scale": np.array([0.5, -0.2, 1.3]), "offset": np.array([0.1, 2.0, -0.4])}


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("count", ["position", "length"])
def test_the_weights_are_powers_of_the_number_of_keys(count, offset):
    """``n^(s z) / sum of n^(s z)``, and with a bias ``n^(s z) e^(b z)``."""
    causal = count == "position"
    geometry = Geometry.of_length(5, num_heads=3, causal=causal)
    slot = (SSMax(count, offset=offset),)
    params = PARAMS if offset else {"scale": PARAMS["scale"]}
    with jax.enable_x64(True):
        weights = jax.jit(lambda q: attend(q, K, V, slot, (params,), geometry, return_weights=True)[1])(Q)
        assert weights.dtype == np.float64
    for b, h, i in np.ndindex(2, 3, 5):
        keys = range(i + 1) if causal else range(5)
        n, s, b_h = len(keys), PARAMS["scale"][h], PARAMS["offset"][h] if offset else 0.0
        logits = [Q[b, h, i] @ K[b, h, j] / 2 for j in keys]
        powers = [n ** (s * z) * math.exp(b_h * z) for z in logits]
        np.testing.assert_allclose(weights[b, h, i, : len(powers)], np.array(powers) / sum(powers), atol=1e-12)


def test_training_starts_at_a_factor_of_one_on_average():
    scale = initial(SSMax(), Dims(12, 3, 3, 4, 2, 5))["scale"]
    mean = sum(math.log(n) for n in range(1, 1025)) / 1024
    np.testing.assert_allclose(scale * mean, 1, atol=0.005)
