"""Möbius RoPE against loops over planes, and against the closed form of its ladder."""

import jax
import numpy as np
from initial import initial

from posenc_jax.encodings import Dims, MoebiusRoPE


def test_the_first_quarter_of_the_heads_has_the_ladder_and_others_are_rope(random):
    params = initial(MoebiusRoPE(), Dims(64, 8, 8, 8, 1, 16))
    assert params["ladder"].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert initial(MoebiusRoPE(), Dims(16, 2, 2, 8, 1, 16))["ladder"].tolist() == [1, 0]
    x, positions = random.normal(size=(1, 4, 3, 8)), np.array([[0, 7, 90]])
    element = MoebiusRoPE(training_length=100, base=50.0)
    with jax.enable_x64(True):
        queries = element.encode_queries({"ladder": np.array([1.0, 0.0])}, x, positions, None)
        keys = element.encode_keys({"ladder": np.array([1.0, 0.0])}, x[:, :2], positions, None)
    for encoded, group in ((queries, 2), (keys, 1)):
        for h, s, i in np.ndindex(encoded.shape[1], 3, 4):
            frequency = np.pi * (2 * i + 1) / 100 if h // group == 0 else 50.0 ** (-2 * i / 8)
            number = complex(x[0, h, s, 2 * i], x[0, h, s, 2 * i + 1]) * np.exp(1j * positions[0, s] * frequency)
            np.testing.assert_allclose(encoded[0, h, s, 2 * i : 2 * i + 2], [number.real, number.imag], atol=1e-9)


def test_equal_contents_have_the_dirichlet_kernel_and_the_opposite_sign_after_the_length():
    n, width = 64, 8
    element, params = MoebiusRoPE(training_length=n), {"ladder": np.ones(1)}
    with jax.enable_x64(True):
        turned = [
            element.encode_keys(params, np.eye(width)[None, None, [axis] * (n + 1)], np.arange(n + 1)[None], None)
            for axis in range(width)
        ]
    turned = np.stack([np.asarray(own)[0, 0] for own in turned])
    np.testing.assert_allclose(turned[:, n], -np.eye(width), atol=1e-9)
    m = np.arange(1, n)
    kernel = np.einsum("apd,ad->p", turned, turned[:, 0])[1:n] / width
    np.testing.assert_allclose(kernel, np.sin(width * np.pi * m / n) / (width * np.sin(np.pi * m / n)), atol=1e-9)
