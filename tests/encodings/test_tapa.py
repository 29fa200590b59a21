import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import TAPA

Q_AT, K_AT = np.array([[2, 9], [0, 40]], np.int32), np.array([[0, 2, 9], [0, 7, 40]], np.int32)


def geometry(array, q_at=Q_AT, k_at=K_AT):
    return geometry_at(array(q_at), array(k_at), num_heads=2)


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
    encoding = TAPA(theta=theta, phase=phase)
    for dtype, array, tolerance in (
        (np.float64, np.asarray, 1e-9),
        (np.float64, jnp.asarray, 1e-9),
        (np.float32, jnp.asarray, 2e-5),
    ):
        with jax.enable_x64(dtype == np.float64):
            got = encoding.score({}, jnp.asarray(q, dtype), jnp.asarray(k, dtype), geometry(array), None)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, atol=tolerance)


def test_gradient_of_positions_is_finite_at_distance_zero(random):
    q, k = (jnp.asarray(random.normal(size=(2, 2, s, 4)), jnp.float32) for s in (2, 3))
    k_at = jnp.asarray(K_AT, jnp.float32)
    gradient = jax.grad(lambda p: TAPA().score({}, q, k, geometry(jnp.asarray, Q_AT, p), None).sum())(k_at)
    assert np.isfinite(gradient).all()
    assert gradient.any()
