"""Statistics against numbers worked by hand and against scipy.stats."""

import math

import numpy as np
import pytest
from scipy import stats
from score_interval import score_interval

from posenc_jax.statistics import (
    Interval,
    bca_intervals,
    detectable,
    holm,
    mean_interval,
    p_value,
    paired_difference,
    select_learning_rate,
    sign_flip_p,
    two_tests,
)
from posenc_jax.verdict.finding import WORDS


def test_interval_by_hand():
    # 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 = 14, s = sqrt(14/3); t(3, 97.5 %) = 3.182446 (printed tables).
    interval = mean_interval([1, 2, 3, 6])
    half = 3.182446305284263 * math.sqrt(14 / 3) / 2
    assert interval.mean == 3
    assert interval.deviation == pytest.approx(math.sqrt(14 / 3), abs=1e-12)
    assert (interval.low, interval.high) == (pytest.approx(3 - half, abs=1e-9), pytest.approx(3 + half, abs=1e-9))
    assert (interval.n, interval.missing) == (4, 0)
    half = 2.3533634348018264 * math.sqrt(14 / 3) / 2
    assert mean_interval([1, 2, 3, 6], 0.9).high == pytest.approx(3 + half, abs=1e-9)


def test_missing_values_are_left_out_and_counted():
    with_gaps, without = mean_interval([1, None, 2, math.nan, 3, 6]), mean_interval([1, 2, 3, 6])
    assert (with_gaps.mean, with_gaps.low, with_gaps.high, with_gaps.n) == (without.mean, without.low, without.high, 4)
    assert with_gaps.missing == 2
    assert mean_interval([None, math.nan]) == Interval(None, None, None, None, 0, 2)
    assert mean_interval([]) == Interval(None, None, None, None, 0, 0)


def test_one_value_has_no_interval_and_equal_values_say_so():
    assert mean_interval([0.7, None]) == Interval(0.7, None, None, None, 1, 1)
    assert not mean_interval([0.7], lower=0, upper=1).all_equal
    for n in range(2, 60):  # 0.1 * n / n is not 0.1 for every n
        found = mean_interval([0.1] * n)
        assert found == Interval(0.1, None, None, 0.0, n, 0)
        assert found.all_equal
    assert mean_interval([0.1 + 0.2, 0.3]).all_equal  # but for rounding
    assert mean_interval([2.0, 2.0], lower=0) == Interval(2.0, None, None, 0.0, 2, 0)  # no worst case above


@pytest.mark.parametrize("n", [2, 4, 8])
def test_equal_values_between_bounds_have_the_interval_of_any_distribution(n):
    """At a bound it is Clopper and Pearson's over seeds."""
    exact = stats.binomtest(0, n).proportion_ci(0.95)
    assert mean_interval([0.0] * n, lower=0, upper=1).high == pytest.approx(exact.high, abs=1e-12)
    assert mean_interval([0.0] * n, lower=0, upper=1).low == 0
    assert mean_interval([1.0] * n, lower=0, upper=1).low == pytest.approx(1 - exact.high, abs=1e-12)
    inside = mean_interval([30.0] * n, lower=0, upper=100)
    assert inside.low == pytest.approx(30 * (1 - exact.high), abs=1e-9)
    assert inside.high == pytest.approx(30 + 70 * exact.high, abs=1e-9)


@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), (0, 100)])
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_bounded_intervals_solve_the_equation_that_defines_them(bounds, n):
    rng = np.random.default_rng(n)
    for shape in ((5, 5), (20, 1), (0.3, 0.3)):
        values = bounds[0] + (bounds[1] - bounds[0]) * rng.beta(*shape, n)
        found = mean_interval(values, lower=bounds[0], upper=bounds[1])
        assert (found.low, found.high) == pytest.approx(score_interval(values, *bounds), abs=1e-8 * bounds[1])
        assert bounds[0] <= found.low < found.mean < found.high <= bounds[1]


def test_of_zeros_and_ones_it_is_wilsons_with_t():
    n, right = 10, 3
    found = mean_interval([1.0] * right + [0.0] * (n - right), lower=0, upper=1)
    z = stats.t.ppf(0.975, n - 1) * math.sqrt(n / (n - 1))
    level = 2 * stats.norm.cdf(z) - 1
    wilson = stats.binomtest(right, n).proportion_ci(level, method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


def test_one_bound_and_bounds_far_away():
    values = [0.1, 0.4, 0.2, 0.05]
    plain, far = mean_interval(values), mean_interval(values, lower=-1e9, upper=1e9)
    assert (far.low, far.high) == pytest.approx((plain.low, plain.high), abs=1e-8)
    assert plain.low < 0
    positive, wide = mean_interval(values, lower=0), mean_interval(values, lower=0, upper=1e9)
    assert (positive.low, positive.high) == pytest.approx((wide.low, wide.high), abs=1e-8)
    assert positive.low > 0
    assert positive.high > plain.high  # a larger mean would vary more


def test_intervals_of_ill_fitting_bounds_are_refused():
    with pytest.raises(ValueError, match=r"value 1\.2 is not between 0 and 1: pass the bounds of this score"):
        mean_interval([0.5, 1.2], lower=0, upper=1)
    with pytest.raises(ValueError, match="lower 1 is not below upper 0: pass the bounds of the score in this order"):
        mean_interval([0.5], lower=1, upper=0)
    assert mean_interval([1.0000001, 0.5], lower=0, upper=1).mean == 0.75  # rounding of float32
    with pytest.raises(ValueError, match="0 does not lie between the bounds 0 and 1: there is nothing to test"):
        p_value(mean_interval([0.5, 0.6], lower=0, upper=1), 0, 1)


@pytest.mark.parametrize("values", [[0.2, 0.3, -0.05, 0.4], [0.9, 0.95, 1.0], [-0.3, -0.3, -0.3, -0.3], [0.01, 0.5]])
def test_p_is_where_the_interval_begins_to_hold_0(values):
    p = p_value(mean_interval(values, lower=-1, upper=1), -1, 1)
    for confidence, held in ((1 - p * 0.999, True), (1 - min(p * 1.001, 1 - 1e-9), False)):
        found = mean_interval(values, confidence, -1, 1)
        assert (found.low <= 0 <= found.high) == held


def test_paired_difference_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    baseline = rng.normal(0.5, 0.2, 9)
    scores = baseline + rng.normal(0.05, 0.03, 9)
    ours = paired_difference(dict(enumerate(scores)), dict(enumerate(baseline)))
    theirs = stats.ttest_rel(scores, baseline).confidence_interval(0.95)
    assert ours.interval.low == pytest.approx(theirs.low, abs=1e-12)
    assert ours.interval.high == pytest.approx(theirs.high, abs=1e-12)
    assert ours.interval.mean == pytest.approx(np.mean(scores - baseline), abs=1e-12)
    assert (ours.higher, ours.lower, ours.equal) == (sum(scores > baseline), sum(scores < baseline), 0)
    assert ours.unpaired == ()


def test_seeds_without_a_pair_are_named_not_paired_by_place():
    # Paired by seed: 1.0 - 0.5 and 0.75 - 0.5. Seed 1 diverged here, seed 5 there, seed 7 was never run there.
    scores = {0: 1.0, 1: None, 3: 0.75, 5: 0.5, 7: 0.9}
    baseline = {5: math.nan, 3: 0.5, 1: 0.5, 0: 0.5}
    difference = paired_difference(scores, baseline)
    assert difference.unpaired == (1, 5, 7)
    assert (difference.interval.mean, difference.interval.n, difference.interval.missing) == (0.375, 2, 3)
    assert (difference.higher, difference.lower, difference.equal) == (2, 0, 0)
    same = paired_difference({0: 0.5, 1: 0.25}, {0: 0.5, 1: 0.25})
    assert (same.interval.low, same.interval.high, same.equal) == (None, None, 2)
    assert same.interval.all_equal


def test_learning_rate_by_validation():
    assert select_learning_rate({1e-3: {0: 0.8, 1: 0.9}, 3e-3: {0: 0.9, 1: 0.9}, 1e-2: {0: 0.2, 1: 0.3}}) == 3e-3
    assert select_learning_rate({3e-3: {0: 0.9, 1: 0.8}, 1e-3: {0: 0.8, 1: 0.9}}) == 1e-3  # a tie goes to the smaller
    assert select_learning_rate({1e-3: {0: 0.5, 1: 0.5}, 3e-3: {0: 1.0, 1: None}}) == 1e-3  # survivors do not win
    assert select_learning_rate({1e-3: {0: 0.5, 1: math.nan}, 3e-3: {0: None, 1: 0.6}}) == 3e-3  # all diverged once
    assert select_learning_rate({1e-3: {0: None}, 3e-3: {}}) is None
    assert select_learning_rate({}) is None


def test_errors_say_the_way_out():
    with pytest.raises(ValueError, match=r"value inf is not finite.*pass None for a missing seed"):
        mean_interval([0.1, math.inf])
    with pytest.raises(ValueError, match=r"confidence 95 is not between 0 and 1: pass 0\.95"):
        mean_interval([0.1, 0.2], 95)


@pytest.mark.parametrize(("seeds", "power"), [(2, 0.8), (4, 0.8), (12, 0.8), (12, 0.5)])
def test_what_is_detectable_is_found_so_often(seeds, power):
    """By 40,000 drawn experiments."""
    shift = detectable(2.0, seeds, power)
    drawn = np.random.default_rng(0).normal(shift, 2.0, (40_000, seeds))
    half = stats.t.ppf(0.975, seeds - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(seeds)
    assert np.mean(np.abs(drawn.mean(axis=1)) > half) == pytest.approx(power, abs=0.01)


def test_detectable_refuses():
    with pytest.raises(ValueError, match="at least 2"):
        detectable(1.0, 1)
    with pytest.raises(ValueError, match="power 1 must lie between"):
        detectable(1.0, 5, 1)


def test_p_values_are_scipys():
    values = [0.3, -0.1, 0.8, 0.4]
    assert p_value(mean_interval(values)) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-12)
    assert p_value(mean_interval([*values, None])) == p_value(mean_interval(values))
    assert [p_value(mean_interval(same)) for same in ([2.0, 2.0], [0.0, 0.0], [1.0], [])] == [0.0, 1.0, None, None]


def test_holm_by_hand():
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(found) == ["a", "b", "c", "d"]
    assert list(found.values()) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # 3 x 0.01, then 2 x 0.03, then at least it
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


@pytest.mark.parametrize("seeds", [4, 8])
def test_both_tests_are_those_of_scipy(seeds):
    drawn = np.random.default_rng(seeds).normal(0.05, 0.1, (4, seeds))
    low, high = bca_intervals(drawn)
    width = high - low
    for row, own in enumerate(drawn):
        theirs = stats.bootstrap((own,), np.mean, n_resamples=9999, method="BCa", random_state=1).confidence_interval
        assert abs(low[row] - theirs.low) <= 0.06 * width[row], "another 9,999 resamples"
        assert abs(high[row] - theirs.high) <= 0.06 * width[row], "another 9,999 resamples"
        flips = stats.permutation_test(
            (own,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=False
        )
        assert sign_flip_p(drawn)[row] == pytest.approx(flips.pvalue)


def test_both_must_hold():
    assert two_tests([0.3, 0.2, 0.25, 0.3, 0.2]).word == "no difference seen", "five flips have p 0.0625 at least"
    assert two_tests([0.3, 0.2, 0.25, 0.3, 0.2, 0.1]).word == "better"
    assert two_tests([0.3, 0.2, 0.25, 0.3, 0.2, 0.1], "lower").word == "worse"
    assert two_tests([0.1] * 8).word == "better"
    assert two_tests([0.0] * 8)[2:] == (1.0, "no difference seen")
    assert two_tests([0.1]) is None
    assert two_tests([0.1] * 20)[2] == 1 / 2**13, "the real one of 8,192 patterns"
    assert two_tests([0.0] * 8).word in WORDS
