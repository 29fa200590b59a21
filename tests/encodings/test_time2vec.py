import math

import jax
import numpy as np
from initial import initial

from posenc_jax.encodings import Dims, Sequence, Time2Vec

DIMS = Dims(d_model=5, num_heads=1, num_kv_heads=1, head_dim=5, num_layers=1, max_len=64)


def test_one_part_is_linear_and_the_others_periodic(random):
    w, c = random.normal(size=(2, 5))
    x, times = random.normal(size=(2, 3, 5)), random.uniform(-3, 30, (2, 3))
    with jax.enable_x64(True):
        got = Time2Vec().embed({"frequencies": w, "phases": c}, x, Sequence(times, np.array([3])))
    for b, i, m in np.ndindex(2, 3, 5):
        angle = w[m] * times[b, i] + c[m]
        np.testing.assert_allclose(got[b, i, m], x[b, i, m] + (angle if m == 0 else math.sin(angle)), atol=1e-9)


def test_the_start():
    params = initial(Time2Vec(), DIMS)
    np.testing.assert_allclose(params["frequencies"], [1e-4, 1, 10 ** (-4 / 3), 10 ** (-8 / 3), 1e-4], rtol=1e-5)
