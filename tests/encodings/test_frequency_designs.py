import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.frequency_designs import search
from posenc_jax.config import from_json, to_json
from posenc_jax.encodings import (
    CosineDensity,
    Dims,
    LowSideLobes,
    RoPE,
    Sequence,
    Sinusoidal,
    parse,
    sinusoidal,
    sinusoidal_frequencies,
    spec,
)
from posenc_jax.encodings.frequency_designs import BEST_BASE, DIMENSIONS, LENGTHS, MINIMAX

DIMS = Dims(d_model=8, num_heads=2, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16)
# The first offset at which the kernel of Vaswani's frequencies rises.
MAIN_LOBE = dict(zip(DIMENSIONS, (4, 4, 5, 6, 12, 25, 44), strict=True))

LEVELS = {
    ("plain", 128): [0.9479, 0.8056, 0.7432, 0.7362, 0.6622, 0.5872, 0.5264],
    ("plain", 512): [0.9479, 0.8056, 0.7432, 0.7362, 0.6622, 0.5872, 0.5264],
    ("base", 128): [0.5337, 0.3728, 0.2238, 0.1101, 0.0754, -0.0041, -0.0007],
    ("base", 512): [0.7907, 0.5164, 0.3162, 0.1766, 0.1157, 0.0677, 0.0506],
    ("frequencies", 128): [0.4227, 0.1638, 0.1397, 0.0673, -0.0033, -0.0111, -0.0488],
    ("frequencies", 512): [0.7169, 0.3728, 0.1714, 0.0889, 0.0086, -0.0048, 0.0],
    ("cosine", 128): [0.785, 0.6435, 0.2795, 0.2185, 0.0147, 0.0066, 0.0018],
    ("cosine", 512): [0.9113, 0.7398, 0.4529, 0.2185, 0.0809, 0.023, 0.0072],
}


def kernel(frequencies, offset):
    return math.fsum(math.cos(offset * w) for w in frequencies) / len(frequencies)


def plain(dim, base=10000.0):
    return [base ** (-2 * j / dim) for j in range(dim // 2)]


def design(name, length):
    if name == "plain":
        return "vaswani"
    return CosineDensity() if name == "cosine" else LowSideLobes(length, name)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ["plain", "base", "frequencies", "cosine"])
def test_peak_side_lobe_levels(name, length):
    found = []
    for dim, first in MAIN_LOBE.items():
        frequencies = sinusoidal_frequencies(dim, frequencies=design(name, length)).tolist()
        values = [kernel(frequencies, k) for k in range(length)]
        found.append(round(max(values[first:]), 4))
        assert all(value <= values[1] for value in values[1:first])  # within the main lobe
        lower = kernel(plain(dim), 1) - values[1]
        if name != "base":
            assert 0 <= lower < 2e-4
        else:
            assert 0 < lower < 0.1
    assert found == LEVELS[name, length]


def test_stored_numbers_are_found_again():
    assert search.best_base(8, 128) == BEST_BASE[128, 8]
    units = np.round(np.array(search.minimax(128, 128)) / search.UNIT)
    assert np.abs(units - [int(u) for u in MINIMAX[128, 128].split()]).max() <= 1


def test_stored_numbers():
    assert list(MINIMAX) == list(BEST_BASE) == [(length, dim) for length in LENGTHS for dim in DIMENSIONS]
    for (length, dim), units in MINIMAX.items():
        numbers = [int(u) for u in units.split()]
        assert len(numbers) == dim // 2
        assert numbers[0] > 0
        assert all(a < b for a, b in itertools.pairwise(numbers))
        got = LowSideLobes(length).frequencies(10000.0, dim)
        np.testing.assert_allclose(got, [u / 100000 for u in numbers], rtol=1e-15)
        got = LowSideLobes(length, "base").frequencies(10000.0, dim)
        np.testing.assert_allclose(got, plain(dim, BEST_BASE[length, dim]), rtol=1e-13)


def test_quantiles_of_the_cosine_density():
    w = CosineDensity().frequencies(10000.0, 512)
    top = w[-1]
    for j, frequency in enumerate(w, start=1):  # the integral of pi/(2 W) cos(pi w / 2 W) up to w_j is j / F
        assert math.sin(math.pi * frequency / (2 * top)) == pytest.approx(j / 256, abs=1e-12)
    for k in (1, 3, 10, 30):
        transform = math.cos(k * top) / (1 - (2 * k * top / math.pi) ** 2)
        assert kernel(w, k) == pytest.approx(transform, abs=1 / 256)
    for base in (100.0, 5e5):
        got = CosineDensity().frequencies(base, 64)
        assert 0 <= kernel(plain(64, base), 1) - kernel(got, 1) < 1e-4
    with pytest.raises(ValueError, match=r"base = 0.5 must be at least 1 beside cosine_density"):
        CosineDensity().frequencies(0.5, 64)


def test_rows_of_all_designs():
    x = np.random.default_rng(0).normal(size=(1, 3, 8))
    positions = np.array([[0, 5, 70]])
    for given in ((0.5, 2.0, 0.01, 1.0), LowSideLobes(128), LowSideLobes(512, "base"), CosineDensity()):
        frequencies = given if isinstance(given, tuple) else given.frequencies(10000.0, 8)
        want = [
            x[0, s] + [f(p * w) for w in frequencies for f in (math.sin, math.cos)] for s, p in enumerate(positions[0])
        ]
        with jax.enable_x64(True):
            for p in (positions, jnp.asarray(positions)):
                got = Sinusoidal(frequencies=given).embed({}, jnp.asarray(x), Sequence(p, np.array([71])))
                np.testing.assert_allclose(got[0], want, atol=1e-12)


def test_rotary_planes_turn_by_the_same_numbers():
    q = np.random.default_rng(0).normal(size=(1, 1, 2, 8))
    positions = np.array([[3, 70]])
    for scaling in (LowSideLobes(128), CosineDensity()):
        w = scaling.frequencies(10000.0, 8)
        with jax.enable_x64(True):
            got = RoPE(scaling=scaling).encode_queries({}, jnp.asarray(q), positions, np.array([71]))
        for s, k in np.ndindex(2, 4):
            z = complex(*q[0, 0, s, 2 * k : 2 * k + 2]) * np.exp(1j * positions[0, s] * w[k])
            np.testing.assert_allclose(got[0, 0, s, 2 * k : 2 * k + 2], [z.real, z.imag], atol=1e-12)


def test_strings_and_json():
    for text in (
        "sinusoidal(frequencies=low_side_lobes)",
        "sinusoidal(frequencies=low_side_lobes(length=128, search='base'))",
        "sinusoidal(frequencies=cosine_density)",
        "sinusoidal(frequencies=(1.0, 0.5, 0.2, 0.1))",
        "rope(scaling=low_side_lobes(length=128))",
    ):
        (encoding,) = parse(text)
        assert spec(encoding) == text
        assert from_json(to_json(encoding)) == encoding
        encoding.check(DIMS)
    assert Sinusoidal(frequencies=[1, 0]) == Sinusoidal(frequencies=(1.0, 0.0))
    assert to_json(Sinusoidal()) == {  # as in configs that were written before there were designs
        "type": "sinusoidal",
        "base": 10000.0,
        "frequencies": "vaswani",
        "layout": "interleaved",
        "odd": "error",
        "scale": 1.0,
    }


def test_settings_that_cannot_be():
    dims = dataclasses.replace(DIMS, d_model=48, head_dim=48)
    for encoding in (Sinusoidal(frequencies=LowSideLobes()), RoPE(scaling=LowSideLobes())):
        encoding.check(dataclasses.replace(dims, d_model=64, head_dim=16))
    odd = dataclasses.replace(DIMS, d_model=5)
    Sinusoidal(frequencies=(1.0, 0.1), odd="zero").check(odd)
    Sinusoidal(frequencies=(1.0, 0.1, 0.01), odd="pad").check(odd)
    table = sinusoidal(np.arange(3), 5, frequencies=(1.0, 0.1, 0.01), odd="pad")
    np.testing.assert_allclose(table[:, 4], [math.sin(0.01 * p) for p in range(3)], atol=1e-7)
