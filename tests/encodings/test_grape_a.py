"""Additive GRAPE: gated slopes and path integrals."""

import math

import jax
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import GRAPEA, GRAPEAP, Geometry, Sequence

SLOPES = [0.0625, 0.00390625]  # ALiBi's for two heads


def softplus(x):
    return math.log1p(math.exp(x))


@pytest.mark.parametrize("gate", ["both", "key", "query"])
def test_slopes_are_gated(random, gate):
    q, k = random.normal(size=(1, 2, 3, 8)), random.normal(size=(1, 2, 4, 8))
    omega, u, v = random.normal(size=2), random.normal(size=(2, 8)), random.normal(size=(2, 8))
    q_at, k_at = np.array([[4, 9, 30]]), np.array([[0, 4, 9, 30]])
    params = {"omega": omega} | {side: value for side, value in (("key", u), ("query", v)) if gate in ("both", side)}
    geometry = geometry_at(q_at, k_at, places=(np.array([[1, 2, 3]]), None), causal=True, num_heads=2)
    with jax.enable_x64(True):
        got = jax.jit(lambda *arrays: GRAPEA(gate).content_bias(*arrays, geometry, None))(params, q, k)
    for h, i, j in np.ndindex(2, 3, 4):
        rate = 0.0
        if gate in ("both", "query"):
            rate += softplus(v[h] / np.linalg.norm(v[h]) @ q[0, h, i] / math.sqrt(8))
        if gate in ("both", "key"):
            rate += softplus(u[h] / np.linalg.norm(u[h]) @ k[0, h, j] / math.sqrt(8))
        want = -max(q_at[0, i] - k_at[0, j], 0) * softplus(omega[h]) * SLOPES[h] * rate
        np.testing.assert_allclose(got[0, h, i, j], want, atol=1e-9)


@pytest.mark.parametrize("normalized", ["keys", "both"])
def test_paths_are_summed_from_key_to_query(random, normalized):
    """Two sequences packed into a row, with padding between them, in mixed slots."""
    encoding = GRAPEAP(size=4, normalized=normalized)
    slots, segments = np.array([[3, 0, 5, 1, 4, 2]]), np.array([[1, 1, 2, 0, 2, 1]])
    positions = np.array([[2, 0, 1, 0, 0, 1]])
    with jax.enable_x64(True):
        params = {"weight": random.normal(size=(5, 2, 4))}
        x, q, k = (random.normal(size=(1, *shape)) for shape in ((6, 5), (2, 6, 8), (2, 6, 8)))
        tokens = Sequence(positions, np.array([6]), segment_ids=segments, places=slots)
        geometry = Geometry.between(tokens, tokens, num_heads=2, causal=True)
        part = geometry.block(slice(2, 4), slice(None))

        @jax.jit
        def program(params, x, q, k):
            terms = encoding.token_terms(params, x, tokens)
            whole = encoding.content_bias(params, q, k, geometry, terms)
            return whole, encoding.content_bias(params, q[:, :, 2:4], k, part, terms)

        got, of_part = map(np.asarray, program(params, x, q, k))
    np.testing.assert_allclose(of_part, got[:, :, 2:4], atol=1e-12)
    p = np.einsum("sm,mhp->hsp", x[0], params["weight"])

    def unit(vector):
        return vector / math.sqrt(np.mean(vector**2))

    def edge(h, t, token):
        numbers = unit(p[h, token])
        numbers = (numbers[:2] + 1j * numbers[2:]) * np.exp(-1j * positions[0, token])
        of_query = p[h, t] if normalized == "keys" else unit(p[h, t])
        inner = of_query @ np.concatenate([numbers.real, numbers.imag]) / 4
        return SLOPES[h] * -softplus(-inner)

    for i in range(6):
        for j in range(6):
            if segments[0, i] == segments[0, j] != 0 and slots[0, j] <= slots[0, i]:
                between = [
                    token
                    for token in range(6)
                    if segments[0, token] == segments[0, i] and slots[0, j] < slots[0, token] <= slots[0, i]
                ]
                for h in range(2):
                    want = sum(edge(h, i, token) for token in between)
                    np.testing.assert_allclose(got[0, h, i, j], want, atol=1e-9)
