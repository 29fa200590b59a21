import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import TAPA

Q_AT, K_AT = np.array([[2, 9], [0, 40]], np.int32), np.array([[0, 2, 9], [0, 7, 40]], np.int32)


@pytest.mark.parametrize("phase", ["quadratic", "linear"])
@pytest.mark.parametrize("theta", [0.5, 0.25])
def test_logits_are_the_papers(random, phase, theta):
    """Equations 12 and 16, a pair at a time."""
    d, split = 8, int(8 * theta)
    q, k = random.normal(size=(2, 2, 2, d)), random.normal(size=(2, 2, 3, d))
    want = np.zeros((2, 2, 2, 3))
    for b, h, i, j in np.ndindex(want.shape):
        a, c = q[b, h, i], k[b, h, j]
        phi = a[split:] @ c[split:] if phase == "quadratic" else a[split:].sum() + c[split:].sum()
        phi /= math.sqrt((1 - theta) * d)
        distance = abs(int(Q_AT[b, i]) - int(K_AT[b, j]))
        want[b, h, i, j] = a[:split] @ c[:split] / math.sqrt(theta * d) * math.cos(2 * math.pi * distance**0.1 * phi)
    with jax.enable_x64(True):
        got = TAPA(theta=theta, phase=phase).score({}, q, k, geometry_at(Q_AT, K_AT, num_heads=2), None)
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_gradient_of_positions_is_finite_at_distance_zero(random):
    q, k = (jnp.asarray(random.normal(size=(2, 2, s, 4)), jnp.float32) for s in (2, 3))
    gradient = jax.grad(lambda p: TAPA().score({}, q, k, geometry_at(jnp.asarray(Q_AT), p, num_heads=2), None).sum())
    found = gradient(jnp.asarray(K_AT, jnp.float32))
    assert np.isfinite(found).all()
    assert found.any()
