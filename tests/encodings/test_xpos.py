import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Dims, XPos


def paper(q, k, i, j, layout, base=10000.0, b=512.0, gamma=0.4):
    """q_i . k_j as a sum over planes, each as complex numbers: Re(q conj(k) exp(i theta (i-j))) zeta^((i-j)/b)."""
    d, total = len(q), 0.0
    for plane in range(d // 2):
        at = (2 * plane, 2 * plane + 1) if layout == "interleaved" else (plane, d // 2 + plane)
        theta, zeta = base ** (-2 * plane / d), (2 * plane + gamma * d) / ((1 + gamma) * d)
        product = complex(*q[list(at)]) * complex(*k[list(at)]).conjugate() * np.exp(1j * theta * (i - j))
        total += product.real * zeta ** ((i - j) / b)
    return total


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("center", [0, 700])
def test_products_are_the_papers_whatever_the_centre(random, layout, center):
    encoding = XPos(layout=layout, center=center)
    q_at, k_at = np.array([[3, 1500, 900]], np.int32), np.array([[0, 3, 900, 1400]], np.int32)
    q, k = random.normal(size=(1, 2, 3, 8)), random.normal(size=(1, 2, 4, 8))
    with jax.enable_x64(True):
        encoded_q = jax.jit(lambda q, at: encoding.encode_queries({}, q, at, None))(q, q_at)
        encoded_k = jax.jit(lambda k, at: encoding.encode_keys({}, k, at, None))(k, k_at)
        got = np.einsum("bhqd,bhkd->hqk", encoded_q, encoded_k)
    for h, i, j in np.ndindex(2, 3, 4):
        want = paper(q[0, h, i], k[0, h, j], q_at[0, i], k_at[0, j], layout)
        np.testing.assert_allclose(got[h, i, j], want, rtol=1e-9, atol=1e-9)


def test_factors_stay_finite_as_far_as_check_allows():
    def dims(max_len, head_dim=64):
        return Dims(d_model=128, num_heads=2, num_kv_heads=2, head_dim=head_dim, num_layers=1, max_len=max_len)

    farthest = int(80 / math.log(3.5) * 512)
    XPos().check(dims(farthest))
    key = XPos().encode_keys({}, np.ones((1, 1, 1, 64), np.float32), np.array([[farthest]]), None)
    assert 1e30 < np.abs(key).max() < np.inf
    XPos(center=20000).check(dims(40000))
