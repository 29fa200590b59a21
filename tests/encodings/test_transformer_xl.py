import jax
import numpy as np
import pytest
from initial import shapes_of
from sides import geometry_at

from posenc_jax.encodings.interface.base import Dims
from posenc_jax.encodings.relative.transformer_xl import TransformerXL, sinusoid_products

DIMS = Dims(d_model=12, num_heads=2, num_kv_heads=2, head_dim=4, num_layers=1, max_len=16)


def paper(params, q, k, q_positions, k_positions, base):
    """Terms (b), (c) and (d) of section 3.3 over sqrt(D): pair by pair, with the sinusoid of query minus key."""
    B, H, Q, D = q.shape
    d_model = params["projection"].shape[-1]
    out = np.zeros((B, H, Q, k.shape[2]))
    for b, h, i, j in np.ndindex(out.shape):
        distance = float(q_positions[b, i]) - float(k_positions[b, j])
        sinusoid = np.zeros(d_model)
        for m in range(d_model // 2):
            angle = distance * base ** (-2 * m / d_model)
            sinusoid[m], sinusoid[d_model // 2 + m] = np.sin(angle), np.cos(angle)
        relative_key = params["projection"][h] @ sinusoid
        term_b, term_d = q[b, h, i] @ relative_key, params["v"][h] @ relative_key
        term_c = params["u"][h] @ k[b, h, j]
        out[b, h, i, j] = (term_b + term_c + term_d) / np.sqrt(D)
    return out


@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_logits_are_the_papers(random, base):
    """More keys than queries (memory), rows with their own positions; positions known on the host and traced."""
    encoding = TransformerXL(base)
    params = {name: random.normal(size=p.shape) for name, p in shapes_of(encoding, DIMS).items()}
    q, k = random.normal(size=(2, 2, 3, 4)), random.normal(size=(2, 2, 7, 4))
    k_positions = np.array([np.arange(7), [3, 4, 9, 40, 41, 900, 901]], np.int32)
    q_positions = k_positions[:, 4:]
    want = paper(params, q, k, q_positions, k_positions, base)

    def terms(params, q, k, q_positions, k_positions):
        return encoding.content_bias(params, q, k, geometry_at(q_positions, k_positions, num_heads=2), None)

    def known(params, q, k, *positions):
        return jax.jit(lambda *arrays: terms(*arrays, *positions))(params, q, k)

    with jax.enable_x64(True):
        for program in (known, jax.jit(terms)):
            got = program(params, q, k, q_positions, k_positions)
            np.testing.assert_allclose(got, want, atol=1e-9)
            # All rows at the same positions take another product.
            got = program(params, q[1:], k[1:], q_positions[1:], k_positions[1:])
            np.testing.assert_allclose(got, want[1:], atol=1e-9)


def test_distances_stay_exact_at_large_positions(random):
    """A plain float32 phase is wrong by 0.06 at a million and by everything at a billion."""
    x = random.normal(size=(1, 1, 3, 32)).astype(np.float32)
    near = np.array([[0, 3, 17]], np.int32)
    want = sinusoid_products(x, near, near)
    for offset in (1_000_000, 2_000_000_000):
        far = near + np.int32(offset)
        np.testing.assert_allclose(jax.jit(sinusoid_products)(x, far, far), want, atol=2e-5)
