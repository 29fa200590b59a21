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
    want = [
        [[paper(q[0, h, i], k[0, h, j], q_at[0, i], k_at[0, j], layout) for j in range(4)] for i in range(3)]
        for h in range(2)
    ]
    for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 2e-5)):
        with jax.enable_x64(dtype == np.float64):
            encoded_q = jax.jit(lambda q, at: encoding.encode_queries({}, q, at, None))(q.astype(dtype), q_at)
            encoded_k = jax.jit(lambda k, at: encoding.encode_keys({}, k, at, None))(k.astype(dtype), k_at)
            assert encoded_q.dtype == encoded_k.dtype == dtype
            got = np.einsum("bhqd,bhkd->hqk", encoded_q, encoded_k)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_decay_of_the_first_plane():
    """head_dim 64: zeta_0 = 0.2857; a key at the centre keeps its norm, one 512 before it shrinks to that."""
    x = np.zeros((1, 1, 2, 64), np.float32)
    x[..., 0] = 1
    keys = XPos(center=512).encode_keys({}, x, np.array([[512, 0]]), None)
    np.testing.assert_allclose(np.linalg.norm(keys[0, 0], axis=-1), [1, 0.4 / 1.4], rtol=1e-6)


def test_factors_stay_finite_as_far_as_check_allows():
    def dims(max_len, head_dim=64):
        return Dims(d_model=128, num_heads=2, num_kv_heads=2, head_dim=head_dim, num_layers=1, max_len=max_len)

    farthest = int(80 / math.log(3.5) * 512)
    XPos().check(dims(farthest))
    key = XPos().encode_keys({}, np.ones((1, 1, 1, 64), np.float32), np.array([[farthest]]), None)
    assert 1e30 < np.abs(key).max() < np.inf
    XPos(center=20000).check(dims(40000))
