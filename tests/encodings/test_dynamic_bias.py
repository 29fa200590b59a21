import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from sides import geometry_at

from posenc_jax.encodings.base import Dims
from posenc_jax.encodings.dynamic_bias import DynamicBias

DIMS = Dims(d_model=18, num_heads=3, num_kv_heads=3, head_dim=6, num_layers=1, max_len=16)


@pytest.mark.parametrize("log_distance", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_bias_is_the_formula(log_distance, depth):
    rng, sizes = np.random.default_rng(0), (1, *(4,) * depth, 3)
    params = {f"weight_{i}": rng.normal(size=sizes[i : i + 2]) for i in range(depth + 1)}
    params |= {f"bias_{i}": rng.normal(size=sizes[i + 1]) for i in range(depth + 1)}
    encoding = DynamicBias(depth, log_distance)

    def value(distance):
        if log_distance:
            distance = math.copysign(math.log(abs(distance) + 1), distance)
        x = np.array([float(distance)])
        for i in range(depth + 1):
            x = x @ params[f"weight_{i}"] + params[f"bias_{i}"]
            x = x / (1 + np.exp(-x)) if i < depth else x
        return x

    apart = np.array([[3, 7], [0, 90]]), np.array([[0, 3, 95], [12, 0, 9]])
    line = np.arange(5, 8)[None], np.arange(7)[None]
    with jax.enable_x64(True):
        known = jax.jit(lambda params: encoding.bias(params, geometry_at(*line, contiguous=True)))
        known_apart = jax.jit(lambda params: encoding.bias(params, geometry_at(*apart)))
        traced = jax.jit(lambda params, q, k: encoding.bias(params, geometry_at(q, k)))
        on_line = np.asarray(known(params))
        for (q, k), got in ((line, on_line), (apart, known_apart(params)), (apart, traced(params, *apart))):
            got = np.asarray(got)
            for b, i, j in np.ndindex(got.shape[0], q.shape[1], k.shape[1]):
                np.testing.assert_allclose(got[b, :, i, j], value(int(q[b, i] - k[b, j])), rtol=1e-9, atol=1e-9)
    got = known({name: p.astype(np.float32) for name, p in params.items()})
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, on_line, rtol=2e-5, atol=2e-5)


def test_parameters():
    params = initial(DynamicBias(), DIMS)
    assert {name: p.shape for name, p in params.items()} == {
        **{"weight_0": (1, 4), "bias_0": (4,), "weight_1": (4, 4), "bias_1": (4,), "weight_2": (4, 3), "bias_2": (3,)}
    }
