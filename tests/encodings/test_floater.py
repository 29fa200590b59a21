import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import FLOATER, Dims

DIMS = Dims(d_model=4, num_heads=2, num_kv_heads=2, head_dim=2, num_layers=3, max_len=64)
ENCODING = FLOATER(step=0.1, substeps=2, max_len=64)
PARAMS = {
    name: np.random.default_rng(a.size).normal(size=a.shape) / 2
    for name, a in jax.eval_shape(lambda: ENCODING.init(jax.random.key(0), DIMS)).items()
}


def velocity(t, p):
    x = np.append(p, t)
    hidden = np.maximum([x @ PARAMS["w_1"][:, m] for m in range(4)] + PARAMS["b_1"], 0)
    x = np.append(hidden, t)
    return np.array([x @ PARAMS["w_2"][:, m] for m in range(4)]) + PARAMS["b_2"]


def path(which, count, step=0.1, substeps=2):
    """Vectors of the first positions, [count, 4], by Kutta's 3/8 rule."""
    p, t, h, found = PARAMS["start"][which], 0.0, step / substeps, []
    for i in range(count * substeps):
        if i % substeps == 0:
            found.append(p)
        slopes = []
        for c, row in ((0, []), (1 / 3, [1 / 3]), (2 / 3, [-1 / 3, 1]), (1, [1, -1, 1])):  # Butcher's tableau
            slopes.append(velocity(t + c * h, p + h * sum(a * slope for a, slope in zip(row, slopes))))
        p = p + h * np.dot([1, 3, 3, 1], slopes) / 8
        t += h
    return np.array(found)


def test_agrees_with_runge_and_kutta(random):
    x = random.normal(size=(1, 2, 40, 2))
    positions = np.arange(40, dtype=np.int32)[None]
    weights, geometry = random.random((1, 2, 3, 40)), geometry_at(positions[:, :3], positions)

    def hooks(params, x, positions):
        encoded = (encode(params, x, positions, None) for encode in (ENCODING.encode_queries, ENCODING.encode_keys))
        return *encoded, ENCODING.value_term(params, weights, geometry)

    want = [x + path(which, 40).reshape(1, 40, 2, 2).swapaxes(1, 2) for which in (0, 1)]
    want.append(np.einsum("bhqk,khd->bhqd", weights, path(2, 40).reshape(40, 2, 2)))
    with jax.enable_x64(True):
        known = jax.jit(lambda params, x: hooks(params, x, positions))(PARAMS, x)
        for found in (known, jax.jit(hooks)(PARAMS, x, positions)):
            for got, wanted in zip(found, want, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-9)


def test_positions_at_the_ends():
    params = jax.tree.map(np.float32, PARAMS)
    positions = np.array([[-3, 0, 31, 32, 63, 64, 700]])
    known = jax.jit(lambda params: ENCODING.vectors(params, positions, 0, jnp.float32))
    traced = jax.jit(lambda params, p: ENCODING.vectors(params, p, 0, jnp.float32))
    for got in (known(params), traced(params, positions)):
        got = np.asarray(got)[0]
        np.testing.assert_array_equal(got[0], got[1])
        assert np.isfinite(got[:5]).all()
        assert np.isnan(got[5:]).all()
    # What is not solved is not used: rows up to the largest position do not depend on it.
    few, many = (np.array([[3, 7, 20, 5, 1, 0, last]]) for last in (9, 60))
    np.testing.assert_array_equal(traced(params, few)[:, :-1], traced(params, many)[:, :-1])


def test_gradient(random):
    with jax.enable_x64(True):
        params, positions = PARAMS, jnp.array([[1, 34]])

        @jax.jit
        def loss(params):
            return (ENCODING.vectors(params, positions, 2, jnp.float64) ** 2).sum()

        gradient = jax.jit(jax.grad(loss))(params)
        for name in params:
            direction = random.normal(size=params[name].shape)
            up, down = (loss(params | {name: params[name] + e * direction}) for e in (1e-6, -1e-6))
            assert float((gradient[name] * direction).sum()) == pytest.approx(float(up - down) / 2e-6, rel=1e-5)
