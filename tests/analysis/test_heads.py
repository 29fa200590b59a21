"""What heads see of positions, against single products and known distributions."""

import math

import numpy as np
import pytest

from posenc_jax.analysis.heads import bands, random_heads, subset_range
from posenc_jax.analysis.kernels import kernel
from posenc_jax.encodings import sinusoidal, vaswani_frequencies


def test_random_heads_see_the_similarity_and_chance_on_top():
    vectors = sinusoidal(np.array([5, 6, 68, 30]), 8, dtype=np.float64)
    similar = kernel(vaswani_frequencies(8), np.array([0, 1, 63, 25]))
    wide = random_heads(vectors, 0, 256, heads=400)
    # The cosine of D pairs of normal numbers of correlation K: mean K, standard deviation (1 - K^2) / sqrt(D).
    spread = (1 - similar**2) / 16
    np.testing.assert_allclose(wide.mean, similar, atol=4 * (1 / 16) / 20)
    np.testing.assert_allclose(wide.spread[1:], spread[1:], rtol=0.15)
    assert wide.nearest.tolist() == [0, 0, 1, 0]
    small = random_heads(vectors, 0, 2, heads=400)
    assert small.nearest[0] == 0
    assert 0.3 < small.nearest[2] < 1
    assert small.nearest.sum() == pytest.approx(1)
    again = random_heads(vectors, 0, 2, heads=400)
    assert all(np.array_equal(a, b) for a, b in zip(small, again))
    assert not np.array_equal(small.mean, random_heads(vectors, 0, 2, heads=400, seed=1).mean)


def test_heads_that_keep_a_band_of_frequencies():
    frequencies = vaswani_frequencies(8)
    high, low = bands(frequencies, 2, 512)
    assert [(b.first, b.last) for b in (high, low)] == [(0, 1), (2, 3)]
    for k in (1, 63, 377):
        assert high.values[k] == pytest.approx((math.cos(k) + math.cos(0.1 * k)) / 2, abs=1e-12)
        assert low.values[k] == pytest.approx((math.cos(0.01 * k) + math.cos(0.001 * k)) / 2, abs=1e-12)
    assert (high.lobes.offset, round(high.lobes.level, 6)) == (377, 0.999980)  # 377 is close to 120 pi
    assert low.lobes.main_lobe == 318
    assert [(b.first, b.last) for b in bands(frequencies, 3, 8)] == [(0, 2), (1, 3)]


def test_whichever_frequencies_a_head_keeps():
    frequencies, offsets = vaswani_frequencies(8), np.array([[1, 63], [6, 100]])
    least, greatest = subset_range(frequencies, 3, offsets)
    for index, k in np.ndenumerate(offsets):
        each = sorted(math.cos(k * w) for w in frequencies.tolist())
        assert least[index] == pytest.approx(sum(each[:3]) / 3, abs=1e-12)
        assert greatest[index] == pytest.approx(sum(each[1:]) / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_heads(np.eye(4), 4, 2), "position = 4 must lie in 0 .. 3: there are 4 vectors"),
        (lambda: random_heads(np.eye(4), 0, 0), "head_dim = 0 and heads = 1000 must be at least 1"),
        (lambda: bands(vaswani_frequencies(8), 5, 9), "size = 5 must lie in 1 .. 4"),
        (lambda: subset_range(vaswani_frequencies(8), 0, 1), "size = 0 must lie in 1 .. 4"),
    ],
)
def test_what_does_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()
