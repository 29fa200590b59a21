import jax
import numpy as np

from posenc_jax.encodings import CayleyString, CirculantString

RANDOM = np.random.default_rng(0)
AT = RANDOM.integers(0, 6, (1, 5, 2)).astype(np.int32)
X = RANDOM.normal(size=(1, 4, 5, 8))


def both(encoding, params):
    """Queries of four heads and keys of two, in float64."""

    def program(params, x, at):
        return encoding.encode_queries(params, x, at, None), encoding.encode_keys(params, x[:, ::2], at, None)

    with jax.enable_x64(True):
        return tuple(map(np.asarray, jax.jit(program)(params, X, AT)))


def exponential(skew):
    """By the eigenvectors of a skew matrix, which is normal."""
    values, vectors = np.linalg.eigh(1j * skew)
    return (vectors * np.exp(-1j * values) @ vectors.conj().T).real


def test_cayley_is_rope_in_an_orthogonal_basis():
    """All products are those of P RoPE(p) P^T, whose P on the left is the same for queries and keys."""
    raw, frequencies = RANDOM.normal(size=(8, 8)), RANDOM.normal(size=(2, 2, 4))
    queries, keys = both(CayleyString(), {"skew": raw, "frequencies": frequencies})
    s = np.triu(raw, 1) - np.triu(raw, 1).T
    p = (np.eye(8) - s) @ np.linalg.inv(np.eye(8) + s)
    np.testing.assert_allclose(p @ p.T, np.eye(8), atol=1e-12)
    for h, i in np.ndindex(4, 5):
        rope = np.zeros((8, 8))
        for k in range(4):
            angle = AT[0, i, 1] * frequencies[0, h // 2, k] + AT[0, i, 0] * frequencies[1, h // 2, k]
            cos, sin = np.cos(angle), np.sin(angle)
            rope[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[cos, -sin], [sin, cos]]
        np.testing.assert_allclose(p @ queries[0, h, i], p @ rope @ p.T @ X[0, h, i], atol=1e-9)
        if h % 2 == 0:
            np.testing.assert_allclose(p @ keys[0, h // 2, i], p @ rope @ p.T @ X[0, h, i], atol=1e-9)


def test_circulant_is_the_exponential_of_circulant_generators():
    coefficients = RANDOM.normal(size=(2, 2, 8))
    queries, keys = both(CirculantString(), {"coefficients": coefficients})
    for h, i in np.ndindex(4, 5):
        total = np.zeros((8, 8))
        for axis in range(2):
            circulant = np.stack([np.roll(coefficients[h // 2, axis], n) for n in range(8)], axis=1)
            total += AT[0, i, axis] * (circulant - circulant.T)
        np.testing.assert_allclose(queries[0, h, i], exponential(total) @ X[0, h, i], atol=1e-9)
        if h % 2 == 0:
            np.testing.assert_allclose(keys[0, h // 2, i], exponential(total) @ X[0, h, i], atol=1e-9)
