"""What is said of two arms: bounds of equal seeds, the word, how often a difference that is none is seen."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from score_interval import score_interval

from posenc_jax.statistics import (
    Comparison,
    detectable,
    holm,
    judge,
    mean_interval,
    paired_comparison,
    paired_difference,
    word,
)

ROOT = Path(__file__).parent.parent


def _bounded(ours, theirs, confidence=0.95):
    return paired_difference(dict(enumerate(ours)), dict(enumerate(theirs)), confidence, 0, 1)


def test_a_difference_is_an_interval_between_minus_and_plus_the_range():
    ours, theirs = np.array([0.9, 0.8, 0.9, 0.7]), np.array([0.5, 0.5, 0.6, 0.4])
    found = paired_comparison(list(ours), list(theirs))
    assert found.difference == pytest.approx(0.325)
    assert (found.low, found.high) == pytest.approx(score_interval(ours - theirs, -1, 1), abs=1e-9)
    assert found.p == _bounded(ours, theirs).p
    assert found.detectable == pytest.approx(detectable(np.std(ours - theirs, ddof=1), 4))
    assert (found.pairs, found.at_bound, word(found)) == (4, False, "better")
    percent = paired_comparison(list(100 * ours), list(100 * theirs), upper=100)
    assert percent[:3] == pytest.approx([100 * size for size in found[:3]])
    assert (percent.p, percent.detectable) == pytest.approx((found.p, 100 * found.detectable))


def test_near_certain_differences_do_not_pass_the_bounds():
    found = paired_comparison([1.0, 0.9875, 1.0, 0.9625], [0.0] * 4)
    assert 0.9 < found.low < found.high < 1
    plain = mean_interval([1.0, 0.9875, 1.0, 0.9625])
    assert plain.high > 1


@pytest.mark.parametrize(("ours", "theirs"), [(1.0, 0.0), (0.8, 0.1), (0.3, 0.25), (0.1, 0.9), (0.0, 0.4), (0.0, 0.0)])
@pytest.mark.parametrize("pairs", [2, 5, 8])
def test_equal_seeds_of_both_arms_exclude_what_is_too_rare(ours, theirs, pairs):
    """By search over the shares of seeds that could give what was seen."""
    found = _bounded([ours] * pairs, [theirs] * pairs)
    r, s = np.meshgrid(np.linspace(1e-4, 1, 2001), np.linspace(1e-4, 1, 2001), indexing="ij")
    possible = (r * s) ** pairs >= 0.025
    low = np.min((r * ours - (1 - s * (1 - theirs)))[possible])
    high = np.max(((1 - r * (1 - ours)) - s * theirs)[possible])
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=2e-3)
    assert found.interval.all_equal
    assert (found.p <= 0.05) == (found.interval.low > 0 or found.interval.high < 0)
    for confidence, held in ((1 - found.p * 0.999, True), (1 - found.p * 1.001, False)):
        if 0 < confidence < 1:
            there = _bounded([ours] * pairs, [theirs] * pairs, confidence).interval
            assert (there.low <= 0 <= there.high) == held


def test_what_two_exact_arms_may_claim():
    assert paired_comparison([1.0] * 8, [0.0] * 8).p == pytest.approx(2 * 0.25**8)
    assert paired_comparison([1.0] * 2, [0.0] * 2).p == pytest.approx(2 / 16)
    equal = paired_comparison([0.2, 0.4, 0.9], [0.2, 0.4, 0.9])
    assert (equal.difference, equal.p, equal.detectable, word(equal)) == (0, 1, None, "no difference seen")
    assert equal.low == pytest.approx(-equal.high)
    assert equal.high > 0.5


def test_the_word():
    seen = Comparison(0.3, 0.2, 0.4, 0.01, 0.1, 8, at_bound=False)
    assert word(seen) == "better"
    assert word(seen._replace(difference=-0.3)) == "worse"
    assert word(seen, better="lower") == "worse"
    assert word(seen._replace(difference=-0.3), better="lower") == "better"
    assert word(seen._replace(p=0.05)) == "better"
    assert word(seen._replace(p=0.051)) == "no difference seen"
    assert word(seen, p=0.2) == "no difference seen"  # corrected for a family
    assert word(seen._replace(at_bound=True)) == "not measurable here"
    assert word(paired_comparison([0.5], [0.1])) == "not measurable here"
    assert word(paired_comparison([None, 0.5], [0.1, None])) == "not measurable here"


@pytest.mark.parametrize(
    ("ours", "theirs", "bounds", "expected"),
    [
        ([0.0, 0.01, 0.0], [0.02, 0.0, 0.01], {}, True),
        ([1.0, 0.99, 1.0], [0.98, 0.99, 1.0], {}, True),
        ([1.0, 0.99, 1.0], [0.0, 0.01, 0.0], {}, False),
        ([0.0, 0.01, 0.0], [0.1, 0.0, 0.01], {}, False),
        ([0.51, 0.5, 0.49], [0.52, 0.5, 0.51], {"chance": 0.5}, True),
        ([0.51, 0.5, 0.49], [0.52, 0.5, 0.51], {}, False),
        ([1.0, 0.5, 1.5], [1.0, 1.0, 0.5], {"upper": 100.0}, True),
        ([1.0, 0.5, 1.5], [1.0, 1.0, 0.5], {"upper": math.inf}, False),
    ],
)
def test_both_at_the_floor_or_both_at_the_ceiling(ours, theirs, bounds, expected):
    assert paired_comparison(ours, theirs, **bounds).at_bound == expected


def test_arms_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 scores against 3: pass one of each arm for a pair, None if missing"):
        paired_comparison([0.1, 0.2], [0.1, 0.2, 0.3])


def _stored():
    """Arms whose seeds differ, of the committed results."""
    for path in sorted((ROOT / "experiments").glob("*/results.json")):
        for name, table in json.loads(path.read_text())["tables"].items():
            for label, seeds in table["seeds"].items():
                values = np.array([value for value in seeds.values() if value is not None])
                if np.ptp(values) > 0:
                    yield f"{path.parent.name}/{name}/{label}", values


def test_an_arm_against_itself_is_seldom_told_apart():
    """Two sets of 8 seeds of one distribution, drawn from stored scores with noise of a tenth of their spread: 5 in 100
    say that there is a difference, but for 3 standard errors of the simulation.
    """
    rng = np.random.default_rng(0)
    arms = [values for _, values in _stored()]
    assert len(arms) >= 8
    said = []
    for _ in range(4000):
        values = arms[rng.integers(len(arms))]
        drawn = rng.choice(values, 16) + 0.1 * np.std(values) * rng.normal(size=16)
        scores = np.clip(drawn, 0, 1)
        found = _bounded(scores[:8], scores[8:])
        said.append(found.p <= 0.05)
    assert np.mean(said) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4000)


@pytest.mark.parametrize("middle", [0.5, 0.8])
def test_what_is_said_to_be_detectable_is_found_in_80_of_100(middle):
    rng = np.random.default_rng(1)
    size = detectable(math.sqrt(2) * 0.05, 8)
    found = []
    for _ in range(2000):
        ours, theirs = rng.normal([[middle + size / 2], [middle - size / 2]], 0.05, (2, 8)).clip(0, 1)
        result = _bounded(ours, theirs)
        found.append(result.p <= 0.05 and result.interval.mean > 0)
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)


def test_comparisons_that_are_not_measurable_count_in_the_correction():
    found = paired_comparison([0.9, 0.8, 0.9, 0.7], [0.5, 0.5, 0.6, 0.4])
    at_bound = paired_comparison([0.0, 0.01, 0.0, 0.0], [0.0, 0.0, 0.01, 0.0])
    assert [own.p for own in judge([(found, "higher"), (at_bound, "higher")])] == [2 * found.p, None]


def test_a_family_of_comparisons_keeps_its_level():
    """Ten encodings that are none better: in at most 5 of 100 families is any of them called so."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(400):
        baseline = rng.beta(8, 4, 8)
        family = {str(i): _bounded(rng.beta(8, 4, 8), baseline).p for i in range(10)}
        wrong += min(holm(family).values()) <= 0.05
    assert wrong / 400 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
