import jax
import numpy as np
import pytest

from posenc_jax.encodings import DAPE, ALiBi, Dims, Geometry, Temperature, attend

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=(2, 2, 5, 4)) for _ in range(3))
GEOMETRY = Geometry.of_length(5, num_heads=2, causal=True)


def weights_of(slot, params):
    with jax.enable_x64(True):
        found = jax.jit(lambda q, k: attend(q, k, V, slot, params, GEOMETRY, return_weights=True)[1])(Q, K)
        assert found.dtype == np.float64
        return np.asarray(found)


@pytest.mark.parametrize("value", [0.25, 1, 3])
def test_products_and_biases_are_divided_before_the_softmax(value):
    got = weights_of((ALiBi(), Temperature(value)), ({}, {}))
    for b in range(2):
        for h, slope in enumerate((2.0**-4, 2.0**-8)):
            for i in range(5):
                logits = [(Q[b, h, i] @ K[b, h, j] / 2 - slope * (i - j)) / value for j in range(i + 1)]
                want = np.exp(logits) / np.sum(np.exp(logits))
                np.testing.assert_allclose(got[b, h, i, : i + 1], want, rtol=1e-12)


def test_it_acts_on_what_elements_before_it_made_of_the_sum():
    """DAPE reads products and biases apart; its sum, and no bias a second time, is what comes next."""
    dape = DAPE(width=3)
    params = jax.tree.map(np.asarray, dape.init(jax.random.key(0), Dims(8, 2, 2, 4, 1, 5)))
    alone, cold = (
        weights_of((ALiBi(), dape, *more), ({}, params, *more_params))
        for more, more_params in (((), ()), ((Temperature(0.5),), ({},)))
    )
    squared = alone**2
    np.testing.assert_allclose(cold, squared / squared.sum(-1, keepdims=True), rtol=1e-9)


def test_dape_after_it_has_no_bias_left():
    of_dape = DAPE().init(jax.random.key(0), Dims(8, 2, 2, 4, 1, 5))
    with pytest.raises(
        ValueError, match=r"put one beside it, as in 'kerple\|dape', before any other element that adjusts"
    ):
        weights_of((ALiBi(), Temperature(2), DAPE()), ({}, {}, of_dape))
