"""The simulation of two rules for differences: its numbers can be had again, and the published rule is scipy's."""

import json

import numpy as np
import protocols
import pytest
from scipy import stats

from posenc_jax.statistics import bca_intervals, sign_flip_p, two_tests
from posenc_jax.verdict.finding import WORDS

FOUND = json.loads(protocols.RECORD.read_text())
NULL = "0.5, deviation 0.1"


def test_the_record_has_every_setting():
    assert (FOUND["repeats"], FOUND["rows"]) == (protocols.REPEATS, protocols.ROWS)
    for part, settings in (("same", protocols.SAME), ("different", protocols.DIFFERENT)):
        assert list(FOUND[part]) == list(settings)
        assert all(list(by_seeds) == [str(n) for n in range(3, 13)] for by_seeds in FOUND[part].values())


@pytest.mark.parametrize(("part", "name", "seeds"), [("same", NULL, 6), ("different", "0.7 and 0.5, deviation 0.1", 4)])
def test_numbers_can_be_had_again(part, name, seeds):
    setting = {"same": protocols.SAME, "different": protocols.DIFFERENT}[part][name]
    again = protocols.rates(setting, seeds)
    for method, kept in FOUND[part][name][str(seeds)].items():
        assert again[method] == pytest.approx(kept, abs=0.2), "a p beside the level may fall on either side"


def test_ours_keeps_its_level_for_a_row_and_for_a_card():
    for name in (NULL, "0.5, deviation 0.1, correlation 0.6", "0.9, deviation 0.1"):
        for by_method in FOUND["same"][name].values():
            assert max(by_method["ours"]) <= 5 + 3 * 0.7 * protocols.ROWS**0.5


def test_the_other_protocol_never_tells_below_six_seeds():
    for part in ("same", "different"):
        for by_seeds in FOUND[part].values():
            assert [by_seeds[str(n)]["BCa and flips"] for n in (3, 4, 5)] == [[0.0, 0.0]] * 3


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
