import jax
import numpy as np
from initial import initial

from posenc_jax.encodings import Dims, MsPoE


def test_every_head_has_its_scale(random):
    ratio, x, positions = random.uniform(1, 2, size=2), random.normal(size=(1, 4, 3, 8)), np.array([[0, 2, 11]])
    with jax.enable_x64(True):
        queries = MsPoE(base=100.0).encode_queries({"ratio": ratio}, x, positions, None)
        keys = MsPoE(base=100.0).encode_keys({"ratio": ratio}, x[:, :2], positions, None)
    for h, s, k in np.ndindex(4, 3, 4):
        turn = np.exp(1j * positions[0, s] / ratio[h // 2] * 100.0 ** (-2 * k / 8))
        number = complex(x[0, h, s, k], x[0, h, s, 4 + k]) * turn
        np.testing.assert_allclose(queries[0, h, s, [k, 4 + k]], [number.real, number.imag], atol=1e-9)
        if h < 2:
            number = complex(x[0, h, s, k], x[0, h, s, 4 + k])
            number *= np.exp(1j * positions[0, s] / ratio[h] * 100.0 ** (-2 * k / 8))
            np.testing.assert_allclose(keys[0, h, s, [k, 4 + k]], [number.real, number.imag], atol=1e-9)


def test_the_fixed_order_is_that_of_the_authors():
    """``head_orders = num_heads - arange(num_heads) - 1`` of ratios least + (most - least) i / num_heads."""
    order = 4 - np.arange(4) - 1
    want = (1.2 + 0.6 * np.arange(4) / 4)[order]
    params = initial(MsPoE(), Dims(32, 4, 4, 8, 1, 16))
    np.testing.assert_allclose(params["ratio"], want, rtol=1e-6)
