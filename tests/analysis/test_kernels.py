"""The kernel by offset and its lobes, against sums over single positions and plain loops."""

import math

import numpy as np
import pytest

from posenc_jax.analysis.kernels import by_offset, cosines, distances, kernel, lobes
from posenc_jax.encodings import Resonance, sinusoidal, tensor2tensor_frequencies, vaswani_frequencies


def test_the_kernel_is_the_cosine_of_sinusoidal_vectors_at_every_position():
    frequencies = vaswani_frequencies(16)
    for start in (0, 5, 10**6, 2**30):
        offsets = np.array([-5, 0, 1, 63, 10**5, 2**30])
        rows = sinusoidal(start + offsets, 16, dtype=np.float64)
        here = sinusoidal(np.array(start), 16, dtype=np.float64)
        expected = [math.fsum(a * b for a, b in zip(row, here)) / 8 for row in rows.tolist()]
        np.testing.assert_allclose(kernel(frequencies, offsets), expected, rtol=0, atol=2e-9)
        if start + 10**5 < 10**6:
            np.testing.assert_allclose(kernel(frequencies, offsets[:5]), expected[:5], rtol=0, atol=1e-14)


def test_an_offset_of_whole_periods_is_the_same_position():
    frequencies = Resonance().frequencies(10000.0, 4)  # wavelengths of 6 and 628 positions
    assert kernel(frequencies, np.array(6 * 314)) == 1.0
    assert kernel(frequencies, np.array([[3, -3]])).tolist() == [[kernel(frequencies, np.array(3))] * 2]


@pytest.mark.parametrize(
    ("frequencies", "peak"),
    [
        (vaswani_frequencies(8), (63, 0.948)),
        (vaswani_frequencies(64), (6, 0.736)),
        (vaswani_frequencies(512), (44, 0.526)),
        (vaswani_frequencies(8, 1e5), (113, 0.982)),
    ],
)
def test_the_peak_side_lobe_up_to_512(frequencies, peak):
    found = lobes(kernel(frequencies, np.arange(512)))
    assert (found.offset, round(found.level, 3)) == peak


def test_position_5_looks_like_68():
    near, alias = kernel(vaswani_frequencies(8), np.array([1, 63]))
    assert (round(float(near), 6), round(float(alias), 6)) == (0.883814, 0.947950)
    assert round(float(kernel(tensor2tensor_frequencies(8), np.array(63))), 6) == 0.500054


def test_distances_keep_their_digits_where_positions_are_close():
    rows = sinusoidal(np.array([5, 68, 69]), 8, dtype=np.float64).tolist()
    expected = [[math.dist(a, b) for b in rows] for a in rows]
    found = distances(vaswani_frequencies(8), np.subtract.outer([5, 68, 69], [5, 68, 69]))
    np.testing.assert_allclose(found, expected, atol=1e-14)
    slow = np.array([1e-9, 1e-8])  # K(1) is 1 in float64
    assert distances(slow, np.array(3))[()] == pytest.approx(math.hypot(3e-9, 3e-8), rel=1e-9)


def _lobes_in_a_loop(values):
    start = next((k for k in range(1, len(values)) if values[k] > values[k - 1]), None)
    tops = []
    for k in range(1, len(values)):
        after = next((v for v in values[k:] if v != values[k]), -math.inf)
        if values[k] > values[k - 1] and after < values[k]:
            tops.append(k)
    if start is None:
        return None, None, None, ()
    best = max(range(start, len(values)), key=lambda k: (values[k], -k))
    return start, best, values[best], tuple(tops)


def test_lobes_of_anything():
    draws = np.random.default_rng(0)
    for _ in range(300):
        values = draws.integers(0, 4, size=int(draws.integers(1, 12))).astype(float)  # plateaus and ties
        assert tuple(lobes(values)) == _lobes_in_a_loop(values.tolist())
    assert lobes(np.array([0.0, -1.0, -2.0])) == (None, None, None, ())
    assert lobes(np.array([1.0, 0.5, 0.5 + 1e-7, 0.4]), rounding=1e-6).main_lobe is None


def test_pairs_by_offset_and_cosines():
    vectors = np.random.default_rng(1).normal(size=(2, 6, 3))
    pairs = cosines(vectors)
    for head in range(2):
        for k in range(6):
            below = []
            for p in range(k, 6):
                a, b = vectors[head, p].tolist(), vectors[head, p - k].tolist()
                below.append(sum(x * y for x, y in zip(a, b)) / (math.hypot(*a) * math.hypot(*b)))
            for of, value in (("mean", sum(below) / len(below)), ("max", max(below)), ("min", min(below))):
                assert by_offset(pairs, of)[head, k] == pytest.approx(value, abs=1e-12)
    one_way = np.tril(np.ones((3, 3)))
    assert by_offset(one_way).tolist() == [1, 1, 1]  # a position against earlier ones
    for shape in ((0, 0), (3, 2), (3,)):
        with pytest.raises(ValueError, match=r"pairs of shape .* must be \[\.\.\., P, P\], each position against each"):
            by_offset(np.zeros(shape))
    assert np.isnan(cosines(np.zeros((2, 2)))).all()


@pytest.mark.parametrize("frequencies", [[], [[1.0]], [1.0, math.nan]])
def test_frequencies_that_are_none(frequencies):
    with pytest.raises(ValueError, match="one row of finite numbers, radians per position"):
        kernel(frequencies, np.array(1))


@pytest.mark.parametrize("values", [[], [[1.0]], [1.0, math.nan]])
def test_similarities_that_are_none(values):
    with pytest.raises(ValueError, match="lobes are those of one row of finite values"):
        lobes(values)
