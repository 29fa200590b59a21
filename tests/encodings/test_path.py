import jax
import numpy as np
import pytest
from rows_of_tokens import DIMS, K, Q, X, check, key_head, noise, params_of, sequence_of

from posenc_jax.encodings.additive.forgetting import FoX
from posenc_jax.encodings.data_dependent.path import PaTH, inverse_of_unit_lower, path_scores


def matrices(params, b, i, g):
    """H_t of key head g for the tokens t of i's sequence up to i, by the definition."""
    tokens = sequence_of(b, i)
    projected = {}
    for t in tokens:
        inner = X[b, t] @ params["down"] if "down" in params else X[b, t]
        projected[t] = inner @ params["up"][:, g]
    found = {}
    for n, t in enumerate(tokens):
        w = sum(params["kernel"][s, g] * projected[tokens[n - s]] for s in range(len(params["kernel"])) if n >= s)
        w = w / (1 + np.exp(-w))
        w = w / np.sqrt((w**2).sum() + 1e-6)
        beta = 2 / (1 + np.exp(-(X[b, t] @ params["beta_weight"][:, g] + params["beta_bias"][g])))
        found[t] = np.eye(DIMS.head_dim) - beta * np.outer(w, w)
    return found


def logits(params):
    found = {}

    def logit(b, h, i, j):
        key = b, i, key_head(h)
        if key not in found:
            found[key] = matrices(params, *key)
        x = K[b, key_head(h), j]
        for t in sorted(found[key]):  # nearest to the key first: H_i ... H_(j+1) k_j
            if j < t <= i:
                x = found[key][t] @ x
        return Q[b, h, i] @ x / np.sqrt(DIMS.head_dim)

    return logit


@pytest.mark.parametrize("encoding", [pytest.param(PaTH(), marks=pytest.mark.slow), PaTH(rank=None, kernel_size=4)])
def test_logits_are_the_papers(encoding):
    params = params_of(encoding)
    check((encoding,), (params,), logits(params))


def test_path_fox_adds_the_gates_of_the_paper():
    fox, path = FoX(), PaTH(rank=3)
    gates, params = params_of(fox, seed=20), params_of(path)
    product = logits(params)

    def logit(b, h, i, j):
        z = [X[b, t] @ gates["weight"][:, h] + gates["bias"][h] for t in sequence_of(b, i) if t > j]
        return product(b, h, i, j) + sum(np.log(1 / (1 + np.exp(-a))) for a in z)

    check((fox, path), (gates, params), logit)


def test_many_blocks_of_keys():
    """150 keys are three blocks, the last of them not full; reflections keep the queries' lengths."""
    keys, dim = 150, 4
    places = np.array([[0, 5, 63, 64, 65, 127, 128, 149]])
    q, k, w = noise(1, 1, 8, dim), noise(1, 1, keys, dim), noise(1, 1, keys, dim, seed=1)
    w /= np.linalg.norm(w, axis=-1, keepdims=True)
    beta = np.random.default_rng(0).uniform(0.0, 2.0, (1, 1, keys))
    beta[..., ::3] = 2
    want = np.zeros((8, keys))
    for n, i in enumerate(places[0]):
        r = q[0, 0, n]
        for j in range(i, -1, -1):
            want[n, j] = r @ k[0, 0, j]
            r = r - beta[0, 0, j] * (r @ w[0, 0, j]) * w[0, 0, j]
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(path_scores)(q, k, w, beta, places))[0, 0]
    single = np.asarray(jax.jit(path_scores)(*(a.astype(np.float32) for a in (q, k, w, beta)), places))[0, 0]
    visible = np.arange(keys)[None] <= places[0][:, None]
    np.testing.assert_allclose(got[visible], want[visible], atol=1e-9)
    np.testing.assert_allclose(single[visible], want[visible], atol=2e-5)
    assert np.isfinite(got).all()


@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_inverse(size):
    """Of a batch, with its derivative; entries up to 2 are the largest of a path."""
    rng = np.random.default_rng(size)
    system, change = np.tril(rng.uniform(-2, 2, (2, 3, 2, size, size)) / max(size, 4) ** 0.5, -1)
    wanted = np.linalg.inv(np.eye(size) + system)
    with jax.enable_x64(True):
        got, moved = jax.jit(lambda s, c: jax.jvp(inverse_of_unit_lower, (s,), (c,)))(system, change)
    np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())
    np.testing.assert_allclose(moved, -wanted @ change @ wanted, rtol=1e-11, atol=1e-11 * np.abs(moved).max())


def test_a_batch_for_which_a_triangular_solve_waits_for_ever():
    """16 heads of 64 keys: LAPACK's solve of jaxlib 0.10.2 hangs on two cores."""
    rng = np.random.default_rng(0)
    q, k, w = rng.normal(size=(3, 8, 2, 70, 8)).astype(np.float32) / 4
    beta = rng.uniform(0, 2, size=(8, 2, 70)).astype(np.float32)
    places = np.arange(70)[None]
    whole = np.asarray(jax.jit(path_scores)(q, k, w, beta, places))
    single = np.asarray(jax.jit(path_scores)(q[5:6, 1:], k[5:6, 1:], w[5:6, 1:], beta[5:6, 1:], places))
    np.testing.assert_allclose(np.tril(whole[5, 1]), np.tril(single[0, 0]), atol=1e-5)
