"""Multiplicative GRAPE: commuting planes, general planes, phases that the tokens move."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from planes import exponential, turned

from posenc_jax.encodings import GRAPEM, Dims, Geometry, GRAPEMContext, GRAPEMPlanes, RoPE, Sequence

DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16)


def encoded(encoding, params, x, positions):
    """Queries, and every other of them as keys, at known positions."""

    @jax.jit
    def program(params, x):
        queries = encoding.encode_queries(params, x, positions, None)
        return queries, encoding.encode_keys(params, x[:, ::2], positions, None)

    return tuple(map(np.asarray, program(params, x)))


@pytest.mark.parametrize("shared", [True, False])
def test_frequencies_are_the_exponentials_of_the_scaled_parameters(random, shared):
    logs = random.normal(size=(1 if shared else 2, 4)) * 20
    x, positions = random.normal(size=(1, 4, 3, 8)), np.array([[0, 2, 11]])
    with jax.enable_x64(True):
        q, k = encoded(GRAPEM(shared=shared), {"log_frequencies": logs}, x, positions)
    for got, heads in ((q, range(4)), (k, range(0, 4, 2))):
        for (i, h), s in itertools.product(enumerate(heads), range(3)):
            frequencies = np.exp(logs[0 if shared else h // 2] / 16)
            want = turned(x[0, h, s], positions[0, s] * frequencies, "half")
            np.testing.assert_allclose(got[0, i, s], want, atol=1e-9)


def test_training_starts_at_rope(random):
    x, positions = random.normal(size=(1, 4, 3, 8)).astype(np.float32), np.array([[0, 2, 11]])
    want = RoPE(layout="half").encode_queries({}, x, positions, np.array([12]))
    params = initial(GRAPEM(shared=False), DIMS)
    assert params["log_frequencies"].shape == (2, 4)
    np.testing.assert_allclose(params["log_frequencies"][0], 16 * np.log(10000) * -np.arange(4) / 4, rtol=1e-6)
    np.testing.assert_allclose(GRAPEM().encode_queries(params, x, positions, None), want, atol=1e-5)


@pytest.mark.parametrize("planes", [1, 3, None])
def test_general_planes_are_the_matrix_exponential(random, planes):
    """Planes that neither commute nor are normalised; one plane also by the closed form of section 2.3."""
    m = planes or 4
    a, b, logs = random.normal(size=(2, m, 8)), random.normal(size=(2, m, 8)), random.normal(size=(2, m)) / 2
    x, positions = random.normal(size=(1, 4, 3, 8)), np.array([[0, 1, -7]])
    with jax.enable_x64(True):
        got, keys = encoded(GRAPEMPlanes(planes=planes), {"a": a, "b": b, "log_frequencies": logs}, x, positions)
    np.testing.assert_allclose(keys, got[:, ::2], atol=1e-12)
    for h in range(4):
        g = h // 2
        generator = sum(np.exp(w) * (np.outer(u, v) - np.outer(v, u)) for w, u, v in zip(logs[g], a[g], b[g]))
        for s in range(3):
            n = positions[0, s]
            np.testing.assert_allclose(got[0, h, s], exponential(n * generator) @ x[0, h, s], atol=1e-9)
            if m == 1:
                u, v, omega = a[g, 0], b[g, 0], np.exp(logs[g, 0])
                plane, size = np.outer(u, v) - np.outer(v, u), math.sqrt(u @ u * (v @ v) - (u @ v) ** 2)
                z = n * omega * size
                closed = np.eye(8) + math.sin(z) / size * plane + (1 - math.cos(z)) / size**2 * plane @ plane
                np.testing.assert_allclose(got[0, h, s], closed @ x[0, h, s], atol=1e-9)


def test_general_planes_start_orthonormal_at_the_frequencies_of_rope(random):
    params = initial(GRAPEMPlanes(planes=3), DIMS)
    frame = np.concatenate([params["a"], params["b"]], axis=1)
    np.testing.assert_allclose(frame @ np.swapaxes(frame, 1, 2), np.eye(6)[None].repeat(2, axis=0), atol=1e-6)
    np.testing.assert_allclose(np.exp(params["log_frequencies"]), [[1, 0.1, 0.01]] * 2, rtol=1e-6)
    x = random.normal(size=(1, 2, 3, 8)).astype(np.float32)

    @jax.jit
    @jax.grad
    def gradient_of(params):
        return (GRAPEMPlanes(planes=3).encode_keys(params, x, np.array([[0, 1, 2]]), None) * np.float32(0.1)).sum()

    gradient = gradient_of(params)
    assert all(np.isfinite(g).all() and g.any() for g in jax.tree.leaves(gradient))


def test_phases_are_sums_over_the_tokens_before(random):
    """Two sequences packed into a row, with padding between them, in mixed slots."""
    encoding = GRAPEMContext()
    d_model, slots = 5, np.array([[3, 0, 5, 1, 4, 2]])
    segments = np.array([[1, 1, 2, 0, 2, 1]])
    with jax.enable_x64(True):
        weight = 30 * random.normal(size=d_model)
        params = {"log_frequencies": random.normal(size=4), "weight": weight, "bias": np.array(2.0)}
        x, q, k = (random.normal(size=(1, *shape)) for shape in ((6, d_model), (2, 6, 8), (2, 6, 8)))
        tokens = Sequence(np.zeros((1, 6), np.int32), np.array([6]), segment_ids=segments, places=slots)
        geometry = Geometry.between(tokens, tokens, num_heads=2, causal=True)
        part = geometry.block(slice(2, 4), slice(None))

        @jax.jit
        def program(params, x, q, k):
            terms = encoding.token_terms(params, x, tokens)
            whole = encoding.score(params, q, k, geometry, terms)
            return terms, whole, encoding.score(params, q[:, :, 2:4], k, part, terms)

        terms, got, of_part = map(np.asarray, program(params, x, q, k))
    np.testing.assert_allclose(of_part, got[:, :, 2:4], atol=1e-12)
    omega = 1 / (1 + np.exp(-(x[0] @ params["weight"] + 2.0) / 16))
    np.testing.assert_allclose(terms[0], omega, atol=1e-12)

    def phase(t):
        return sum(omega[s] for s in range(6) if segments[0, s] == segments[0, t] and slots[0, s] < slots[0, t])

    for i in range(6):
        for j in range(6):
            if segments[0, i] == segments[0, j] != 0 and slots[0, j] <= slots[0, i]:
                for h in range(2):
                    angles = [at * np.exp(params["log_frequencies"]) for at in (phase(i), phase(j))]
                    query, key = turned(q[0, h, i], angles[0], "half"), turned(k[0, h, j], angles[1], "half")
                    np.testing.assert_allclose(got[0, h, i, j], query @ key / math.sqrt(8), atol=1e-9)


def test_initial_steps():
    omega = GRAPEMContext().token_terms(initial(GRAPEMContext(), DIMS), jnp.zeros((1, 1, 32)), None)
    np.testing.assert_allclose(omega, 1 / (1 + math.exp(6.907255 / 16)), rtol=1e-5)
