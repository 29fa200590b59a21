"""What heads see of positions, against single products and known distributions."""

import math

import numpy as np
import pytest

from posenc_jax.analysis.heads import bands, head_views, random_heads, subset_range
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


def test_views_of_trained_heads_are_products_of_single_projections():
    draws = np.random.default_rng(3)
    vectors, query, key = (draws.normal(size=shape) for shape in ((5, 6), (6, 12), (6, 6)))
    query_bias, key_bias = draws.normal(size=12), draws.normal(size=6)
    found = head_views(vectors, query, key, 3, query_bias=query_bias, key_bias=key_bias)
    assert found.queries.shape == (4, 5, 5)
    assert found.keys.shape == (2, 5, 5)

    def one(p, weights, bias, head):
        return [sum(vectors[p, m] * weights[m, 3 * head + d] for m in range(6)) + bias[3 * head + d] for d in range(3)]

    for head, i, j in ((0, 0, 4), (1, 2, 1), (2, 3, 3), (3, 4, 2)):
        q = one(i, query, query_bias, head)
        k = one(j, key, key_bias, head // 2)  # two query heads in a row share a key head
        assert found.logits[head, i, j] == pytest.approx(sum(map(math.prod, zip(q, k))) / math.sqrt(3))
        other = one(j, query, query_bias, head)
        cosine = sum(map(math.prod, zip(q, other))) / (math.hypot(*q) * math.hypot(*other))
        assert found.queries[head, i, j] == pytest.approx(cosine)
    first, last = one(0, key, key_bias, 1), one(4, key, key_bias, 1)
    cosine = sum(map(math.prod, zip(first, last))) / (math.hypot(*first) * math.hypot(*last))
    assert found.keys[1, 0, 4] == pytest.approx(cosine)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_heads(np.eye(4), 4, 2), "position = 4 must lie in 0 .. 3: there are 4 vectors"),
        (lambda: random_heads(np.eye(4), 0, 0), "head_dim = 0 and heads = 1000 must be at least 1"),
        (lambda: bands(vaswani_frequencies(8), 5, 9), "size = 5 must lie in 1 .. 4"),
        (lambda: subset_range(vaswani_frequencies(8), 0, 1), "size = 0 must lie in 1 .. 4"),
        (
            lambda: head_views(np.eye(4), np.ones((3, 4)), np.ones((4, 4)), 2),
            r"query kernel has shape \(3, 4\).*transpose weights",
        ),
        (lambda: head_views(np.eye(4), np.ones((4, 6)), np.ones((4, 4)), 2), "3 query heads are no multiple of 2 key"),
    ],
)
def test_what_does_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()
