import math

import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, Geometry, SSMax, attend

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=(2, 3, 5, 4)) for _ in range(3))
DIMS = Dims(d_model=12, num_heads=3, num_kv_heads=3, head_dim=4, num_layers=2, max_len=5)
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
    params = initial(SSMax(offset=True), DIMS)
    np.testing.assert_allclose(params["scale"], [0.168] * 3, rtol=1e-6)
    np.testing.assert_array_equal(params["offset"], np.zeros(3))
    mean = sum(math.log(n) for n in range(1, 1025)) / 1024
    assert abs(0.168 * mean - 1) < 0.005
    assert initial(SSMax(), DIMS).keys() == {"scale"}


def test_what_it_counts():
    assert SSMax().causal_only
    assert SSMax().position_axes is None
    assert not SSMax("length").causal_only
    assert SSMax("length").position_axes == "any"
