import math

import jax
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.additive.dynamic_bias import DynamicBias


@pytest.mark.parametrize("log_distance", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_bias_is_the_formula(log_distance, depth):
    rng, sizes = np.random.default_rng(0), (1, *(4,) * depth, 3)
    params = {f"weight_{i}": rng.normal(size=sizes[i : i + 2]) for i in range(depth + 1)}
    params |= {f"bias_{i}": rng.normal(size=sizes[i + 1]) for i in range(depth + 1)}

    def value(distance):
        if log_distance:
            distance = math.copysign(math.log(abs(distance) + 1), distance)
        x = np.array([float(distance)])
        for i in range(depth + 1):
            x = x @ params[f"weight_{i}"] + params[f"bias_{i}"]
            x = x / (1 + np.exp(-x)) if i < depth else x
        return x

    q, k = np.array([[3, 7], [0, 90]]), np.array([[0, 3, 95], [12, 0, 9]])
    with jax.enable_x64(True):
        program = jax.jit(lambda params: DynamicBias(depth, log_distance).bias(params, geometry_at(q, k)))
        got = np.asarray(program(params))
    for b, i, j in np.ndindex(2, 2, 3):
        np.testing.assert_allclose(got[b, :, i, j], value(int(q[b, i] - k[b, j])), rtol=1e-9, atol=1e-9)
