import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import CosineDensity, LowSideLobes, Sequence, Sinusoidal, sinusoidal_frequencies
from posenc_jax.encodings.frequency_designs import BEST_BASE, DIMENSIONS, LENGTHS, MINIMAX

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
