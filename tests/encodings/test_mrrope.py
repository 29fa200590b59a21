import math

import numpy as np
import pytest

from posenc_jax.encodings import MrRoPE, YaRN


def radix_by_radix(form, factor, original_length, base, dim):
    """Section 3 of the paper: each plane is divided by the product of the radices of all planes before it."""

    def plane(rotations):
        return dim * math.log(original_length / (2 * math.pi * rotations)) / (2 * math.log(base))

    low, high = max(math.floor(plane(32)), 0), math.ceil(plane(1))
    n, product, found = high - low, 1.0, []
    for k in range(dim // 2):
        found.append(base ** (-2 * k / dim) / product)
        if low <= k < high:
            product *= factor ** (1 / n if form == "uniform" else 2 * (1 + k - low) / (n * (n + 1)))
    return found, low, high


@pytest.mark.parametrize("form", ["uniform", "progressive"])
@pytest.mark.parametrize(
    ("factor", "length", "base", "dim"), [(8, 4096, 10000.0, 128), (16, 8192, 5e5, 128), (4, 512, 10000.0, 64)]
)
def test_frequencies_are_divided_by_the_radices_before_them(form, factor, length, base, dim):
    want, low, high = radix_by_radix(form, factor, length, base, dim)
    scaling = MrRoPE(factor, length, form)
    found = scaling.frequencies(base, dim)
    np.testing.assert_allclose(found, want, rtol=1e-12)
    plain = base ** (-np.arange(0, dim, 2) / dim)
    np.testing.assert_allclose(found[: low + 1], plain[: low + 1], rtol=1e-12)
    np.testing.assert_allclose(found[high:], plain[high:] / factor, rtol=1e-12)
    assert scaling.magnitude == YaRN(factor, length).magnitude == 0.1 * math.log(factor) + 1


def test_all_planes_slow_or_all_fast():
    plain = 10000.0 ** (-np.arange(0, 8, 2) / 8)
    np.testing.assert_allclose(MrRoPE(4, 4).frequencies(10000.0, 8)[1:], plain[1:] / 4, rtol=1e-12)
    np.testing.assert_allclose(MrRoPE(1, 512).frequencies(10000.0, 8), plain, rtol=1e-12)
