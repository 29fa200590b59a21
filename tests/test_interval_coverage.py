"""The simulations by which intervals and rules were chosen: pages and claims are of their numbers."""

import json

import numpy as np

from experiments.intervals import simulate
from experiments.protocols import simulate as rules
from posenc_jax.drawing.markdown import refilled

FOUND = json.loads(simulate.RECORD.read_text())
RULES = json.loads(rules.RECORD.read_text())


def test_the_pages_and_what_cards_say_are_of_the_numbers():
    texts = simulate.texts(FOUND)
    assert {path.name for path in texts} == {"intervals.json", "intervals.md", "coverage.json"}
    assert all(path.read_text() == text for path, text in texts.items()), "python -m experiments.intervals.simulate"
    page = rules.PAGE.read_text()
    assert page == refilled(page, rules.BEGIN, rules.tables(RULES), rules.END)


def test_no_other_interval_keeps_93_to_97_as_often():
    def within(method):
        held = [arms[name][method][0] for arms in FOUND["single"].values() for name in arms]
        return np.mean([93 <= one <= 97 for one in held])

    methods = next(iter(next(iter(FOUND["single"].values())).values()))
    assert max(methods, key=within) == "score (used)"


def test_differences_that_are_none_are_seldom_seen():
    """Of 100 repeats at most 5, but for 3 standard errors, at every number of seeds; of cards of three rows too."""
    for seeds, arms in FOUND["paired"].items():
        for name, rows in arms.items():
            if name.startswith("no difference"):
                assert rows["score (used)"][2] <= 5 + 3 * 0.7, (seeds, name)
    for name in ("0.5, deviation 0.1", "0.5, deviation 0.1, correlation 0.6", "0.9, deviation 0.1"):
        for by_method in RULES["same"][name].values():
            assert max(by_method["ours"]) <= 5 + 3 * 0.7 * RULES["rows"] ** 0.5


def test_the_other_rule_never_tells_below_six_seeds():
    every = [by_seeds for part in ("same", "different") for by_seeds in RULES[part].values()]
    assert {max(own[seeds]["BCa and flips"]) for own in every for seeds in ("3", "4", "5")} == {0.0}
