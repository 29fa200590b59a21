import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from sides import geometry_at

from posenc_jax.encodings.additive.kerple import KERPLE
from posenc_jax.encodings.interface.base import Dims

DIMS = Dims(d_model=16, num_heads=2000, num_kv_heads=2000, head_dim=4, num_layers=1, max_len=16)
A, P, B = [0.3, 1.7, 0.004], [1.9, 0.002, 2.6], [0.5, 0.25, 1.5]


def value(kernel, a, p, b, distance):
    """The equations, with the parameters as the authors' code clips them before use."""
    if kernel == "nemo":
        return -b * math.log(1 + a * distance**p)
    a, p = max(a, 0.01), max(p, 0.01)
    if kernel == "log":
        return -p * math.log(1 + a * distance)
    return -a * distance ** min(p, 2.0) if distance else 0.0


@pytest.mark.parametrize("kernel", ["log", "power", "nemo"])
def test_bias_is_the_formula(kernel):
    q_positions = np.array([[3, 7], [0, 90_000]], np.int32)
    k_positions = np.array([[0, 3, 4], [0, 1, 89_999]], np.int32)
    want = np.zeros((2, 3, 2, 3))
    for n, h, i, j in np.ndindex(want.shape):
        want[n, h, i, j] = value(kernel, A[h], P[h], B[h], float(abs(q_positions[n, i] - k_positions[n, j])))
    params = {"a": np.array(A), "p": np.array(P)} | ({"b": np.array(B)} if kernel == "nemo" else {})
    program = jax.jit(lambda params: KERPLE(kernel).bias(params, geometry_at(q_positions, k_positions)))
    np.testing.assert_allclose(program(jax.tree.map(np.float32, params)), want, rtol=2e-5)
    with jax.enable_x64(True):
        np.testing.assert_allclose(program(params), want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", ["log", "power", "nemo"])
def test_gradients_at_distance_0_and_beyond_the_range(kernel):
    """Gradients as of the clipped values: never zero for being clipped, never NaN for 0 times log 0."""
    positions = np.arange(3)[None]
    with jax.enable_x64(True):
        params = {"a": np.array(A), "p": np.array(P), "b": np.array(B)}
        loss = lambda params: KERPLE(kernel).bias(params, geometry_at(positions, positions)).sum()  # noqa: E731
        gradient = jax.tree.map(np.asarray, jax.jit(jax.grad(loss))(params))

        def total(h, **changed):
            at = {"a": A[h], "p": P[h], "b": B[h]} | changed
            return sum(value(kernel, **at, distance=float(abs(i - j))) for i in range(3) for j in range(3))

        for h in range(3):
            # Inside the range by differences; beyond it, the slope at its edge, from within.
            edges = {"a": (0.01, None), "p": (0.01, 2.0 if kernel == "power" else None)} if kernel != "nemo" else {}
            for name in ("a", "p", "b") if kernel == "nemo" else ("a", "p"):
                x = {"a": A, "p": P, "b": B}[name][h]
                low, high = edges.get(name, (None, None))
                left, right = x - 1e-6, x + 1e-6
                if low is not None and x < low:
                    left, right = low, low + 1e-6
                if high is not None and x > high:
                    left, right = high - 1e-6, high
                slope = (total(h, **{name: right}) - total(h, **{name: left})) / (right - left)
                assert gradient[name][h] == pytest.approx(slope, rel=1e-3)
                assert slope != 0


def test_softplus_reaches_no_edge_and_starts_where_clipping_starts():
    for kernel in ("log", "power"):
        clipped = initial(KERPLE(kernel), DIMS)
        encoding = KERPLE(kernel, constraint="softplus")
        params = initial(encoding, DIMS)
        for got, want in zip(encoding.constrained(params), (clipped["a"], clipped["p"]), strict=True):
            np.testing.assert_allclose(got, np.clip(want, 0.011, None if kernel == "log" else 1.999), atol=1e-3)
        far = {name: jnp.full_like(p, s) for (name, p), s in zip(params.items(), (-50.0, 50.0), strict=True)}
        a, p = encoding.constrained(far)
        assert float(a[0]) == pytest.approx(0.01)
        assert float(p[0]) == pytest.approx(50.01 if kernel == "log" else 2.0)
