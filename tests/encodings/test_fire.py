import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.additive.fire import FIRE

NAMES = ("c", "multiplier", "weight_0", "bias_0", "weight_1", "bias_1")


def bias(encoding, params, geometry):
    return jax.jit(lambda p: encoding.bias(p, geometry))(params)


def noise(width=5):
    rng = np.random.default_rng(0)
    shapes = ((1, width), (width,), (width, 3), (3,))
    return dict(zip(NAMES, (np.array([-0.3]), np.array([1.4]), *(rng.normal(size=s) for s in shapes)), strict=True))


def normalized(i, j, c, threshold):
    return math.log(abs(c * (i - j)) + 1) / (math.log(abs(c * max(i, abs(threshold))) + 1) + 1e-6)


def test_published_inputs():
    """c = 0.1, a threshold of 256: the query at 10, below it, and at 1000, beyond."""
    rows = np.array([[10], [1000]]), np.array([[0, 1, 2, 3], [0, 500, 999, 1000]])
    params = {
        name: np.ones(shape, np.float32) for name, shape in zip(NAMES, ((1,), (1,), (1, 1), 1, (1, 3), 3), strict=True)
    }
    params |= {"c": np.float32([0.1]), "bias_0": np.zeros(1, np.float32), "bias_1": np.float32([0, 1, 2])}
    got = bias(FIRE(threshold=256), params, geometry_at(*rows))
    want = [[0.21127, 0.19563, 0.17915, 0.16173], [1, 0.85194, 0.02065, 0]]
    np.testing.assert_allclose(got[:, 0, 0], want, atol=1e-5)
    np.testing.assert_allclose(got[:, 2, 0], np.add(want, 2), atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_bias_and_gradient_are_the_formula(causal):
    rows = np.array([[3, 7, 90], [0, 9, 12]]), np.array([[0, 3, 95, 4], [12, 0, 9, 1]])
    encoding, arrays = FIRE(threshold=8.0, width=5), noise()

    def values(p):
        want = np.zeros((2, 3, 3, 4))
        for b, h, i, j in np.ndindex(want.shape):
            x = normalized(rows[0][b, i], rows[1][b, j], p["c"][0], p["multiplier"][0] * 8.0)
            hidden = [max(0.0, x * w + s) for w, s in zip(p["weight_0"][0], p["bias_0"], strict=True)]
            want[b, h, i, j] = sum(a * w for a, w in zip(hidden, p["weight_1"][:, h], strict=True)) + p["bias_1"][h]
        return want

    want = values(arrays)
    single = {name: a.astype(np.float32) for name, a in arrays.items()}
    np.testing.assert_allclose(bias(encoding, single, geometry_at(*rows, causal=causal)), want, atol=2e-5)
    with jax.enable_x64(True):

        @jax.jit
        def of_pairs(params):
            got, pullback = jax.vjp(lambda p: encoding.bias(p, geometry_at(*rows, causal=causal)), params)
            return got, pullback(jnp.ones_like(got))[0]

        got, gradient = of_pairs(arrays)
        np.testing.assert_allclose(got, want, atol=1e-9)
        for name in ("c", "multiplier"):
            step = {name: arrays[name] + 1e-6}
            back = {name: arrays[name] - 1e-6}
            slope = (values(arrays | step).sum() - values(arrays | back).sum()) / 2e-6
            assert gradient[name][0] == pytest.approx(slope, rel=1e-5)


def test_gradients_at_distance_0_and_where_the_position_is_the_threshold():
    positions = np.array([[0, 8]])
    params = {name: a.astype(np.float32) for name, a in noise().items()}
    program = jax.jit(jax.grad(lambda p: FIRE(8.0).bias(p, geometry_at(positions, positions)).sum()))
    for multiplier in (0.0, 1.0):
        gradient = program(params | {"multiplier": np.array([multiplier], np.float32)})
        assert all(np.isfinite(g).all() for g in gradient.values())
