import jax
import numpy as np
import pytest
from rows_of_tokens import DIMS, K, Q, check, key_head

from posenc_jax.encodings.data_dependent.stick_breaking import StickBreaking
from posenc_jax.encodings.interface.base import Geometry, Sequence


def product(b, h, i, j):
    return Q[b, h, i] @ K[b, key_head(h), j] / np.sqrt(DIMS.head_dim)


def breaking(diagonal, remainder):
    """A stick of length one: each key before the query, the nearest first, takes its share of what is left."""

    def weights(logits):
        shares = np.zeros(len(logits))
        left = 1.0
        for j in reversed(range(len(logits) if diagonal else len(logits) - 1)):
            shares[j] = left / (1 + np.exp(-logits[j]))
            left -= shares[j]
        if remainder == "own":
            shares[-1] += left
        return shares

    return weights


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("remainder", ["nobody", "own"])
def test_weights_are_the_papers(diagonal, remainder):
    check((StickBreaking(diagonal, remainder),), ({},), product, breaking(diagonal, remainder))


@pytest.mark.parametrize("remainder", ["nobody", "own"])
def test_extreme_logits_and_empty_rows_keep_values_and_gradients_finite(remainder):
    """Shares of 1 and of 0 within float32; a row of nothing but padding."""
    segments = np.array([[1] * 5, [0] * 5], np.int32)
    tokens = Sequence(np.arange(5, dtype=np.int32)[None], np.full(2, 5, np.int32), segment_ids=segments)
    geometry = Geometry.between(tokens, tokens, num_heads=1, causal=True)
    encoding = StickBreaking(remainder=remainder)
    logits = np.zeros((2, 1, 5, 5), np.float32)
    logits[0, 0, 3] = [50, 300, -400, 0, 0]
    logits[0, 0, 4] = [-300, -300, -300, -300, 0]
    weights = np.asarray(jax.jit(lambda x: encoding.normalize({}, x, geometry))(logits))
    np.testing.assert_allclose(weights[0, 0, 3], [0, 1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(weights[0, 0, 4], [0, 0, 0, 0, 1 if remainder == "own" else 0], atol=1e-6)
    assert not weights[1].any()
    c = np.random.default_rng(0).normal(size=logits.shape)
    gradient = np.asarray(jax.jit(jax.grad(lambda x: (c * encoding.normalize({}, x, geometry)).sum()))(logits))
    assert np.isfinite(gradient).all()
    assert gradient[0, 0, 1, 0] != 0


def test_long_products_do_not_vanish():
    """2000 keys of share 1/1000, in float32, against the closed form."""
    share, n = 1e-3, 2000
    logits = np.full((1, 1, n, n), np.log(share / (1 - share)), np.float32)
    geometry = Geometry.of_length(n, num_heads=1, causal=True)
    weights = jax.jit(lambda x: StickBreaking().normalize({}, x, geometry))(logits)
    want = share * (1 - share) ** np.arange(n - 2, -1, -1)
    np.testing.assert_allclose(weights[0, 0, -1, :-1], want, rtol=2e-5)
