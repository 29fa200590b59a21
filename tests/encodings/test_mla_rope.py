import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, Llama3, MLARoPE, RoPE, YaRN, attend

RANDOM = np.random.default_rng(0)
Q, K, V = (RANDOM.normal(size=(1, 2, 4, 12)) for _ in range(3))
YARN = YaRN(factor=40, original_length=64, mscale=0.707, mscale_all_dim=0.707)


def turned(x, position, frequencies):
    """The planes (2k, 2k + 1) of one vector, as complex numbers."""
    numbers = (x[0::2] + 1j * x[1::2]) * np.exp(1j * position * np.asarray(frequencies))
    return np.stack([numbers.real, numbers.imag], axis=1).reshape(-1)


@pytest.mark.parametrize("scaling", [None, YARN])
@pytest.mark.parametrize("part", [4, 1 / 3])
def test_logits_are_those_of_deepseek(scaling, part):
    """The last 4 of 12 dimensions turn; the scale of the softmax is that of transformers' ``DeepseekV3Attention``."""
    encoding = MLARoPE(rotary_dim=part, scaling=scaling)
    geometry = Geometry.of_length(4, num_heads=2, causal=True)
    frequencies = [1.0, 0.01] if scaling is None else YARN.frequencies(10000.0, 4)
    mscale = 1.0 if scaling is None else 0.1 * 0.707 * math.log(40) + 1
    with jax.enable_x64(True):
        weights = jax.jit(lambda q: attend(q, K, V, (encoding,), ({},), geometry, return_weights=True)[1])(Q)
    for h in range(2):
        for i in range(4):
            logits = []
            for j in range(i + 1):
                products = Q[0, h, i, :8] @ K[0, h, j, :8]
                products += turned(Q[0, h, i, 8:], i, frequencies) @ turned(K[0, h, j, 8:], j, frequencies)
                logits.append(products * 12**-0.5 * mscale * mscale)
            want = np.exp(logits) / np.sum(np.exp(logits))
            np.testing.assert_allclose(weights[0, h, i, : i + 1], want, atol=1e-9)


def test_the_factor_is_of_yarns_second_scale_alone():
    """1.874 in DeepSeek-V3, whose cosines and sines keep their magnitude."""
    v3 = YaRN(factor=40, original_length=4096, mscale=1, mscale_all_dim=1)
    assert v3.magnitude == 1
    np.testing.assert_allclose(MLARoPE(scaling=v3).logit_factor, 1.873854, atol=5e-7)
    assert MLARoPE(scaling=YaRN(40, 4096)).logit_factor == 1
    assert MLARoPE(scaling=Llama3()).logit_factor == 1
    assert RoPE(scaling=v3).encode_queries({}, np.ones((1, 1, 1, 8)), np.array([[0]]), np.array([1])).max() == 1
