import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, Grid, LearnedFourier, Sequence, map_slot
from posenc_jax.encodings.learned_fourier import fourier_features

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
    flat = positions.reshape(6, -1)
    want = x + np.array([oracle(params, p) for p in flat]).reshape(2, 3, 6)

    def embedded(params, x, positions):
        return encoding.embed(params, x, Sequence(positions, np.array([3])))

    known = functools.partial(embedded, positions=positions)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(known)(params, x), want, atol=1e-9)
    single = jax.tree.map(np.float32, params)
    got = jax.jit(embedded)(single, np.float32(x), positions)
    np.testing.assert_allclose(got, want, atol=2e-4)  # angles up to 200, each to 1e-5 in float32
    assert jax.eval_shape(known, single, x.astype(jnp.bfloat16)).dtype == jnp.bfloat16


def test_initial_frequencies_have_variance_of_inverse_gamma_squared():
    params = initial(LearnedFourier(2, gamma=4.0, features=20000), DIMS)
    assert params["w_r"].shape == (10000, 2)
    assert float(params["w_r"].std()) == pytest.approx(1 / 4, rel=0.02)
    assert not params["b_1"].any()
    assert not params["b_2"].any()
    # Products of features: a Gaussian of the distance, of width gamma.
    x, y = jnp.array([[3.0, 1.0]]), jnp.array([[0.0, -2.0]])
    product = float((fourier_features(x, params["w_r"]) * fourier_features(y, params["w_r"])).sum())
    assert product == pytest.approx(math.exp(-18 / (2 * 16)) / 2, abs=0.01)


def test_sizes():
    shapes = jax.tree.map(np.shape, jax.eval_shape(lambda: LearnedFourier().init(jax.random.key(0), DIMS)))
    assert shapes == {"w_r": (3, 1), "w_1": (6, 32), "b_1": (32,), "w_2": (32, 6), "b_2": (6,)}
    _, seen = map_slot((Grid(4), LearnedFourier(2)), Sequence.of_length(8))
    params = random_params(LearnedFourier(2))
    assert jax.eval_shape(lambda x: LearnedFourier(2).embed(params, x, seen), np.zeros((1, 8, 6))).shape == (1, 8, 6)
