import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, LearnedFourier, Sequence
from posenc_jax.encodings.absolute.fourier_features import fourier_features

DIMS = Dims(d_model=6, num_heads=1, num_kv_heads=1, head_dim=6, num_layers=1, max_len=64)


def oracle(params, position):
    w_r, w_1, b_1, w_2, b_2 = (np.asarray(params[n], np.float64) for n in ("w_r", "w_1", "b_1", "w_2", "b_2"))
    angles = [sum(w * p for w, p in zip(row, position)) for row in w_r]
    r = [f(a) / math.sqrt(2 * len(w_r)) for f in (math.cos, math.sin) for a in angles]
    hidden = [sum(r[f] * w_1[f, h] for f in range(len(r))) + b_1[h] for h in range(len(b_1))]
    hidden = [z / 2 * (1 + math.erf(z / math.sqrt(2))) for z in hidden]
    return [sum(hidden[h] * w_2[h, m] for h in range(len(hidden))) + b_2[m] for m in range(len(b_2))]


def random_params(encoding):
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda a: rng.normal(size=a.shape), jax.eval_shape(lambda: encoding.init(jax.random.key(0), DIMS))
    )


@pytest.mark.parametrize("axes", [None, 1, 2, 3])
def test_agrees_with_the_formula(axes):
    encoding = LearnedFourier(axes, features=8, hidden=5)
    positions = np.random.default_rng(1).integers(-3, 60, (2, 3) if axes is None else (2, 3, axes))
    x = np.random.default_rng(2).normal(size=(2, 3, 6))
    params = random_params(encoding)
    want = x + np.array([oracle(params, p) for p in positions.reshape(6, -1)]).reshape(2, 3, 6)
    with jax.enable_x64(True):
        got = jax.jit(lambda params, x: encoding.embed(params, x, Sequence(positions, np.array([3]))))(params, x)
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_products_of_features_are_a_gaussian_of_the_distance():
    """Of width gamma."""
    params = initial(LearnedFourier(2, gamma=4.0, features=20000), DIMS)
    x, y = jnp.array([[3.0, 1.0]]), jnp.array([[0.0, -2.0]])
    product = float((fourier_features(x, params["w_r"]) * fourier_features(y, params["w_r"])).sum())
    assert product == pytest.approx(math.exp(-18 / (2 * 16)) / 2, abs=0.01)
