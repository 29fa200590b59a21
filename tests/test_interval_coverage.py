"""The simulation by which intervals were chosen: its page is that of its numbers, and the numbers can be had again."""

import json
from pathlib import Path

import intervals
import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
FOUND = json.loads((ROOT / "scripts" / "docs" / "intervals.json").read_text())


def test_the_page_and_what_cards_say_are_of_the_numbers():
    texts = intervals.texts(FOUND)
    assert {path.name for path in texts} == {"intervals.json", "intervals.md", "coverage.json"}
    assert all(path.read_text() == text for path, text in texts.items()), "run scripts/intervals.py"


def test_losses_and_shares_can_be_had_again():
    assert intervals.of_losses() == FOUND["losses"]
    assert intervals.of_shares() == FOUND["shares"]


def test_the_coverage_of_a_share_is_summed_over_counts():
    """Of 4 seeds Wilson's interval of a half holds it for 1, 2 and 3 of them: 14 of 16."""
    assert FOUND["shares"]["4"]["half of the seeds 0, half 1"] == 87.5


def test_cards_are_told_the_least_and_the_most_of_their_kind():
    used = {name: methods["score (used)"][0] for name, methods in FOUND["paired"]["8"].items()}
    mixed = [held for name, held in used.items() if "a fifth" in name]
    ends = [held for name, held in used.items() if "half 0, half 1" in name or "quarter" in name]
    told = intervals.of_cards(FOUND)
    assert told["mixed"]["8"] == [min(mixed), max(mixed)]
    assert told["ends"]["8"] == [min(ends), max(ends)]
    assert min(told["mixed"]["8"]) < min(told["inside"]["8"])


def test_all_settings_are_there():
    assert FOUND["repeats"] == intervals.REPEATS
    for part, settings in (("single", intervals.ARMS), ("paired", intervals.PAIRS)):
        assert list(FOUND[part]) == [str(seeds) for seeds in intervals.SEEDS]
        assert all(list(arms) == list(settings) for arms in FOUND[part].values())


@pytest.mark.parametrize("seeds", [3, 8])
@pytest.mark.parametrize("name", ["0.9, deviation 0.1", "all seeds 0.999", "a fifth 0.95, the others 0.02"])
def test_coverage_and_width_can_be_had_again(name, seeds):
    arm = intervals.ARMS[name]
    scores = intervals.scores_of(arm, seeds, FOUND["repeats"], name)
    kept = FOUND["single"][str(seeds)][name]
    for method in ("score (used)", "Student, clipped"):
        found = intervals.coverage(intervals.METHODS[method](scores), arm.mean)
        assert found == pytest.approx(kept[method], abs=2e-3)


def test_what_no_rule_can_have_is_counted_out():
    assert sorted(intervals.reachable(0.5, 3)) == pytest.approx([0, 0.25, 0.75, 1])
    assert sorted(intervals.reachable(0.5, 4)) == pytest.approx(
        [0, 2 / 16, 6 / 16, 8 / 16, 8 / 16, 10 / 16, 14 / 16, 1]
    )
    # one seed of two is 1 with a quarter: counts 0, 1, 2 have 9, 6 and 1 of 16
    assert sorted(16 * intervals.reachable(0.25, 2)) == pytest.approx([0, 1, 6, 7, 9, 10, 15, 16])


def test_coverage_of_seeds_at_0_or_1_is_one_that_a_rule_can_have():
    """Within the simulation's error (3 standard errors), for the rule in use, which treats 0 and 1 alike."""
    for name, arm in intervals.ARMS.items():
        for seeds in intervals.SEEDS if arm.ones is not None else ():
            held = FOUND["single"][str(seeds)][name]["score (used)"][0] / 100
            possible = intervals.reachable(arm.ones, seeds)
            assert np.min(abs(possible - held) / np.sqrt(possible * (1 - possible) / 1000 + 1e-9)) <= 3, (name, seeds)


def test_the_interval_in_use_keeps_its_level_where_seeds_have_one_mode():
    """With two standard errors of the simulation (0.7 each) on either side of 93 to 97."""
    for seeds, arms in FOUND["single"].items():
        for name in ("0.5, deviation 0.1", "0.5, deviation 0.25", "0.3, deviation 0.2", "0.9, deviation 0.03"):
            assert 93 - 1.4 <= arms[name]["score (used)"][0] <= 97 + 1.4, (seeds, name)


def test_no_other_interval_keeps_93_to_97_as_often():
    def within(method):
        held = [arms[name][method][0] for arms in FOUND["single"].values() for name in arms]
        return np.mean([93 <= one <= 97 for one in held])

    methods = next(iter(next(iter(FOUND["single"].values())).values()))
    assert max(methods, key=within) == "score (used)"


def test_differences_that_are_none_are_seldom_seen():
    """Of 100 repeats at most 5, but for 3 standard errors, at every number of seeds."""
    for seeds, arms in FOUND["paired"].items():
        for name, rows in arms.items():
            if name.startswith("no difference"):
                assert rows["score (used)"][2] <= 5 + 3 * 0.7, (seeds, name)
