import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import CLEX, NTK, Dims, RoPE

DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=3, max_len=64)


def solved(up, down, base, factors, substeps, act):
    """The authors' ODELinear by torchdiffeq's rk4, in loops: log frequencies at the factors 1, 2, ..."""
    planes = len(up)
    plain = [np.log(base ** (-2 * k / (2 * planes))) for k in range(planes)]

    def slope(t, z):
        alpha = 2 * t - 1
        ntk = [base ** (-k / planes) * alpha ** (-k / (planes - 1)) for k in range(planes)]
        grown = [
            -4 * k / (2 * planes - 2) * base ** (-k / planes) * alpha ** (-(k / (planes - 1)) - 1)
            for k in range(planes)
        ]
        hidden = [act(sum((z[k] + np.log(ntk[k])) * up[k, h] for k in range(planes))) for h in range(up.shape[1])]
        return np.array(
            [sum(hidden[h] * down[h, k] for h in range(len(hidden))) + grown[k] / ntk[k] for k in range(planes)]
        )

    z, found, h = np.array(plain), [np.array(plain)], 1 / substeps
    for step in range((factors - 1) * substeps):
        t = 1 + step * h
        a = slope(t, z)
        b = slope(t + h / 3, z + h * a / 3)
        c = slope(t + h * 2 / 3, z + h * (b - a / 3))
        z = z + h / 8 * (a + 3 * (b + c) + slope(t + h, z + h * (a - b + c)))
        if (step + 1) % substeps == 0:
            found.append(z)
    return np.minimum(np.exp(found), 2 * np.pi)


ACTS = {"silu": lambda x: x / (1 + np.exp(-x)), "tanh": np.tanh}


@pytest.mark.parametrize("act", ["silu", "tanh"])
@pytest.mark.parametrize(("length", "factor"), [(5, 1), (6, 2), (10, 2), (11, 3), (100, 3)])
def test_frequencies_follow_the_equation(random, act, length, factor):
    up, down = random.normal(size=(4, 8)), random.normal(size=(8, 4)) / 8
    x, positions = random.normal(size=(1, 2, 3, 8)), np.array([[0, 2, 11]])
    encoding = CLEX(base=100.0, original_length=5, max_factor=3, act=act, substeps=4)
    frequencies = solved(up, down, 100.0, 3, 4, ACTS[act])[factor - 1]
    with jax.enable_x64(True):
        got = np.asarray(encoding.encode_queries({"up": up, "down": down}, x, positions, np.array([length])))
    for h, s, k in np.ndindex(2, 3, 4):
        number = complex(x[0, h, s, k], x[0, h, s, 4 + k]) * np.exp(1j * positions[0, s] * frequencies[k])
        np.testing.assert_allclose(got[0, h, s, [k, 4 + k]], [number.real, number.imag], atol=1e-9)


def test_it_starts_as_ntk_aware_scaling_and_short_texts_have_rope(random):
    """With ``down`` 0 the solution is known: factor 2 t - 1."""
    x, positions = random.normal(size=(1, 4, 3, 8)), np.array([[0, 2, 11]])
    encoding = CLEX(original_length=4, max_factor=4)
    with jax.enable_x64(True):
        params = initial(encoding, DIMS)
        for length, factor in ((4, 1), (5, 3), (16, 7), (99, 7)):
            want = RoPE(layout="half", scaling=NTK(factor=factor)).encode_queries({}, x, positions, np.array([length]))
            got = encoding.encode_queries(params, x, positions, np.array([length]))
            np.testing.assert_allclose(got, want, atol=1e-5)
