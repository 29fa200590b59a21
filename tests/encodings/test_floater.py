import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import FLOATER, Dims, Geometry, attend, init_slot

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
    with jax.enable_x64(True):
        for encode, which in ((ENCODING.encode_queries, 0), (ENCODING.encode_keys, 1)):
            want = x + path(which, 40).reshape(1, 40, 2, 2).swapaxes(1, 2)
            known = jax.jit(lambda params, x, encode=encode: encode(params, x, positions, None))
            np.testing.assert_allclose(known(PARAMS, x), want, rtol=1e-9)
            traced = jax.jit(lambda params, x, p, encode=encode: encode(params, x, p, None))
            np.testing.assert_allclose(traced(PARAMS, x, positions), want, rtol=1e-9)
        weights = random.random((1, 2, 3, 40))
        geometry = geometry_at(positions[:, :3], positions)
        want = np.einsum("bhqk,khd->bhqd", weights, path(2, 40).reshape(40, 2, 2))
        program = jax.jit(lambda params, weights: ENCODING.value_term(params, weights, geometry))
        np.testing.assert_allclose(program(PARAMS, weights), want, rtol=1e-9)
    single = jax.tree.map(np.float32, PARAMS)
    got = jax.jit(lambda params: ENCODING.vectors(params, positions, 0, jnp.bfloat16))(single)
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got[0], path(0, 40), rtol=2e-5, atol=2e-5)


def test_solves_the_equation():
    # With identity matrices and a positive state, h(t, p) = p / 2 + 0.3 t: the solution is known.
    start, a, c = np.array([1.0, 2.0, 0.5, 3.0]), 0.5, 0.3
    time = np.zeros((1, 4))
    params = {
        "start": np.stack([start] * 3),
        "w_1": np.concatenate([np.eye(4), time]),
        "b_1": np.zeros(4),
        "w_2": np.concatenate([a * np.eye(4), time + c]),
        "b_2": np.zeros(4),
    }
    with jax.enable_x64(True):
        positions = np.array([[0, 1, 5, 33]])
        got = jax.jit(lambda params: FLOATER(step=0.2).vectors(params, positions, 1, jnp.float64))(params)
    for row, p in zip(np.asarray(got)[0], (0, 1, 5, 33)):
        t = 0.2 * p
        want = (start + c / a**2) * math.exp(a * t) - c / a * t - c / a**2
        np.testing.assert_allclose(row, want, rtol=1e-7)


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


def test_initial_values_one_set_for_each_layer():
    layers = jax.jit(lambda key: init_slot(key, (ENCODING,), DIMS)[0])(jax.random.key(0))
    assert len(layers) == 3
    shapes = {"start": (3, 4), "w_1": (5, 4), "b_1": (4,), "w_2": (5, 4), "b_2": (4,)}
    assert jax.tree.map(jnp.shape, layers[1]) == shapes
    dims = Dims(512, 8, 8, 64, num_layers=6, max_len=64)
    wide = jax.tree.map(np.asarray, jax.jit(lambda key: FLOATER().init(key, dims))(jax.random.key(0)))
    bound = math.sqrt(6 / (9 * 512))
    assert 0.99 * bound < float(np.abs(wide["start"]).max()) <= bound
    assert float(wide["w_1"].std()) == pytest.approx(math.sqrt(2 / (513 + 512)), rel=0.01)


def test_grouped_keys(random):
    dims = Dims(d_model=4, num_heads=2, num_kv_heads=1, head_dim=2, num_layers=1, max_len=64)
    q, k, v = (random.normal(size=(1, h, 3, 2)).astype(np.float32) for h in (2, 1, 1))
    geometry = Geometry.of_length(3, num_heads=2)

    @jax.jit
    def program(key, q, k, v):
        params = ENCODING.init(key, dims)
        keys = ENCODING.encode_keys(params, k, geometry.k_positions, None)
        vectors = ENCODING.vectors(params, geometry.k_positions, 1, q.dtype)
        return keys, vectors, attend(q, k, v, (ENCODING,), (params,), geometry)

    keys, vectors, out = map(np.asarray, program(jax.random.key(0), q, k, v))
    np.testing.assert_array_equal(keys[0, 0], k[0, 0] + vectors[0, :, :2])
    assert out.shape == (1, 2, 3, 2)
