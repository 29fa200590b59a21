import jax
import numpy as np
import pytest

from posenc_jax.encodings import BlendedRoPE, RoPE, vaswani_frequencies

X = np.random.default_rng(0).normal(size=(2, 3, 4, 8))
AT = np.array([[0, 1, 5, 30]])


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_it_is_audiocrafts_blend(strength):
    """``x * (rotation * scale + 1 - scale)`` over neighbouring dimensions as complex numbers."""
    encoding = BlendedRoPE(strength, RoPE(base=100.0))
    with jax.enable_x64(True):
        encode = jax.jit(lambda x: (encoding.encode_queries({}, x, AT, None), encoding.encode_keys({}, x, AT, None)))
        found = encode(X)
    factor = strength * np.exp(1j * AT[0][:, None] * vaswani_frequencies(8, 100.0)) + 1 - strength
    z = (X[..., ::2] + 1j * X[..., 1::2]) * factor
    for got in found:
        np.testing.assert_allclose(got, np.stack([z.real, z.imag], -1).reshape(X.shape), atol=1e-9)


def test_only_without_and_with_all_strength_distances_count():
    assert [BlendedRoPE(s).shift_invariant for s in (0, 0.5, 1)] == [True, False, True]
