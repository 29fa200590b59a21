import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.interface.base import Geometry
from posenc_jax.encodings.shared import distances
from posenc_jax.encodings.shared.distances import by_distance, init_perceptron, perceptron, row_blocks, toeplitz


def initial_perceptron(sizes):
    return jax.tree.map(np.asarray, jax.jit(lambda key: init_perceptron(key, sizes))(jax.random.key(0)))


def test_toeplitz():
    values = np.arange(2 * 6.0).reshape(2, 6)
    want = [[[v[j - i + 2] for j in range(4)] for i in range(3)] for v in values]
    np.testing.assert_array_equal(toeplitz(jnp.asarray(values), 3, 4), want)
    np.testing.assert_array_equal(toeplitz(jnp.asarray(values), 1, 6)[:, 0], values)


@pytest.mark.parametrize("width", [1, 3])
def test_every_form_is_the_function_of_every_pair(width, monkeypatch):
    monkeypatch.setattr(distances, "BLOCK", 2 * 5 * 3 * 2)  # two queries at a time, of three
    q_positions, k_positions = np.arange(4, 7)[None], np.arange(5)[None]
    seen = []

    def function(x):
        seen.append(x.shape)
        return jnp.stack([jnp.asarray(x) ** 2, 10.0 - x], axis=1)

    def check(got, q_positions, k_positions):
        got = np.asarray(got)
        for b, i, j in np.ndindex(got.shape[0], 3, 5):
            d = int(k_positions[b, j] - q_positions[b, i])
            assert got[b, :, i, j].tolist() == [d * d, 10 - d]

    line = jax.jit(lambda: by_distance(function, geometry_at(q_positions, k_positions, contiguous=True), width))()
    check(line, q_positions, k_positions)
    assert seen == [(1, 7)]  # contiguous: 3 + 5 - 1 distances
    rows = np.array([[0, 2, 9], [4, 4, 7]]), np.array([[0, 1, 2, 3, 4], [9, 2, 0, 0, 7]])
    seen.clear()
    check(jax.jit(lambda: by_distance(function, geometry_at(*rows), width))(), *rows)
    distinct = {int(k - q) for q_row, k_row in zip(*rows) for q in q_row for k in k_row}
    assert seen == [(2, 15) if width == 1 else (1, len(distinct))]
    seen.clear()
    check(jax.jit(lambda q, k: by_distance(function, geometry_at(q, k), width))(*rows), *rows)
    assert max(math.prod(shape) for shape in seen) <= (30 if width == 1 else 20)


def test_blocks_of_queries_have_the_gradient_of_the_whole(monkeypatch):
    params = initial_perceptron((1, 8, 2))
    x, weights = (np.random.default_rng(0).normal(size=s).astype(np.float32) for s in ((1, 5, 3), (1, 2, 5, 3)))

    def loss(params, x):
        return (row_blocks(lambda x: perceptron(params, x[..., None], jax.nn.relu), x, 8) * weights).sum()

    whole = jax.jit(jax.grad(loss, (0, 1)))(params, x)
    monkeypatch.setattr(distances, "BLOCK", 2 * 3 * 8)
    program = jax.jit(jax.grad(loss, (0, 1)))
    blocks = program(params, x)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(blocks), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert "5x3x8" not in program.lower(params, x).as_text()


def test_perceptron():
    params = initial_perceptron((3, 100, 50))
    assert {name: p.shape for name, p in params.items()} == {
        **{"weight_0": (3, 100), "bias_0": (100,), "weight_1": (100, 50), "bias_1": (50,)}
    }
    for name, p in params.items():
        limit = (1 / 3 if name.endswith("0") else 1 / 100) ** 0.5
        assert 0.9 * limit < np.abs(p).max() <= limit
    assert not np.array_equal(params["weight_0"][:2, :50], params["weight_1"][:2])
    x = np.random.default_rng(0).normal(size=(1, 2, 3)).astype(np.float32)
    weight_0, bias_0, weight_1, bias_1 = (params[n] for n in ("weight_0", "bias_0", "weight_1", "bias_1"))
    hidden = np.tanh(x @ weight_0 + bias_0)
    program = jax.jit(lambda params, x: perceptron(params, x, jnp.tanh))
    got = np.asarray(program(params, x))
    np.testing.assert_allclose(got, np.swapaxes(hidden @ weight_1 + bias_1, 1, 2), atol=1e-5)
    apart = got - program({name: p for name, p in params.items() if name != "bias_1"}, x)
    np.testing.assert_allclose(apart, np.broadcast_to(bias_1[:, None], apart.shape), atol=1e-5)


def test_no_constant_of_all_pairs_in_the_program():
    geometry = dataclasses.replace(Geometry.of_length(64, num_heads=2), contiguous=False)
    jaxpr = jax.make_jaxpr(lambda: by_distance(lambda x: jnp.asarray(x)[:, None], geometry))()
    assert max((np.size(c) for c in jaxpr.consts), default=0) <= 64
