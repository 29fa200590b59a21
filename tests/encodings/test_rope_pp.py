import jax
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, RoPE, RoPEPlusPlus, attend, vaswani_frequencies

RANDOM = np.random.default_rng(0)
Q = RANDOM.normal(size=(2, 4, 5, 12))
K, V = (RANDOM.normal(size=(2, 2, 5, 12)) for _ in range(2))


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_odd_heads_are_the_imaginary_part_of_the_heads_before(layout):
    encoding = RoPEPlusPlus(RoPE(base=100.0, layout=layout))
    geometry = Geometry.of_length(5, num_heads=4, causal=True)
    with jax.enable_x64(True):
        weights = jax.jit(lambda q: attend(q, K, V, (encoding,), ({},), geometry, return_weights=True)[1])(Q)
    frequencies = vaswani_frequencies(12, 100.0)

    def planes(x):
        return x[0::2] + 1j * x[1::2] if layout == "interleaved" else x[:6] + 1j * x[6:]

    for b, h, i in np.ndindex(2, 4, 5):
        own = planes(Q[b, h - h % 2, i])
        products = [
            sum(own * planes(K[b, h // 2, j]).conj() * np.exp(1j * (i - j) * frequencies)) / np.sqrt(12)
            for j in range(i + 1)
        ]
        logits = [z.imag if h % 2 else z.real for z in products]
        want = np.exp(logits) / np.sum(np.exp(logits))
        np.testing.assert_allclose(weights[b, h, i, : i + 1], want, atol=1e-9)


def test_it_is_the_authors_code():
    """``q * sin - rotate_half(q) * cos``, stacked behind each head, in the half layout."""
    q, positions = Q[:, :2], np.array([[0, 1, 7, 8, 30]])
    angles = positions[:, None, :, None] * np.tile(vaswani_frequencies(12), 2)
    half = np.concatenate([-q[..., 6:], q[..., :6]], axis=-1)
    pair = np.stack([q * np.cos(angles) + half * np.sin(angles), q * np.sin(angles) - half * np.cos(angles)], axis=2)
    with jax.enable_x64(True):
        given = np.repeat(q, 2, axis=1)
        got = RoPEPlusPlus(RoPE(layout="half")).encode_queries({}, given, positions, np.array([31]))
    np.testing.assert_allclose(got, pair.reshape(2, 4, 5, 12), atol=1e-12)
