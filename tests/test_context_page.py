"""The page on longer context is of its records."""

import json
import math

import numpy as np
import pytest
import scipy.stats

from experiments.context import directions, planes, recalibrated


@pytest.mark.parametrize(("module", "count"), [(directions, 12), (recalibrated, 9)])
def test_directions_are_judged_by_the_losses(module, count):
    found = json.loads(module.RECORD.read_text())
    losses = {(own["change"], own["length"] / found["trained"]): own["loss"] for own in found["entries"]}
    assert len(found["directions"]) == len(module.DIRECTIONS) == count
    for one, kept in zip(module.DIRECTIONS, found["directions"], strict=True):
        assert [tuple(kept["lower"]), tuple(kept["higher"]), kept["claim"]] == [one.lower, one.higher, one.claim]
        differences = [a - b for a, b in zip(losses[one.lower], losses[one.higher], strict=True)]
        test = scipy.stats.ttest_1samp(differences, 0)
        assert kept["difference"] == pytest.approx(sum(differences) / len(differences), abs=1e-4)
        low, high = test.confidence_interval(0.95)
        assert [kept["low"], kept["high"]] == pytest.approx([low, high], abs=1e-3)
        word = "no difference seen" if low < 0 < high else "as published" if high < 0 else "the other way"
        assert kept["word"] == word


def test_losses_by_position_are_those_of_the_texts():
    for own in json.loads(directions.RECORD.read_text())["entries"]:
        for loss, buckets in zip(own["loss"], own["buckets"], strict=True):
            assert math.isclose(loss, sum(buckets) / len(buckets), rel_tol=0.02)


def test_63_returns_in_three_planes_of_base_1e5_and_in_one_of_1e4():
    for base, near in ((1e5, [0, 1, 2]), (1e4, [0])):
        turns = 63 * base ** (-np.arange(32) / 32) / (2 * math.pi)
        assert [p for p in range(4) if abs(turns[p] - round(turns[p])) < 0.15] == near


def test_groups_and_directions_are_judged_as_another_way_says():
    found, costs = json.loads(planes.RECORD.read_text()), planes.costs_of_layers()
    weight = np.mean(found["weight"], 0).ravel()
    most = planes.positional(found["weight"])
    assert len(most) == 27
    assert weight[most].min() >= np.delete(weight, most).max()
    fast = np.array(found["fast"]).reshape(6, -1)
    differences = [own[most].mean() - np.delete(own, most).mean() for own in fast]
    low, high = scipy.stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    own = planes.judged(found, costs)[1]
    assert [own["mean"], own["low"], own["high"]] == pytest.approx([np.mean(differences), low, high])
    positional = planes.of_groups(found)[0]
    assert scipy.stats.binom.sf(positional["seen_from"] - 1, 27, 6 / 117) <= 0.025
    assert scipy.stats.binom.sf(positional["seen_from"] - 2, 27, 6 / 117) > 0.025


def test_the_sentences_in_short_hold_in_every_study_that_they_name():
    two_products = {"self_extend", "rerope", "leaky_rerope", "string"}
    for name in ("directions", "smollm2", "smollm2-longer"):
        found = json.loads(directions.RECORD.with_name(f"{name}.json").read_text())
        entries, trained = (found["entries"], 128) if name == "directions" else (found, 8192)
        for length in {own["length"] for own in entries if own["length"] > trained}:
            loss = {own["change"]: np.mean(own["loss"]) for own in entries if own["length"] == length}
            assert min(loss, key=loss.get) == "self_extend", (name, length)
            best = min(loss.keys() - two_products - {"yarn(2)"}, key=loss.get)
            assert best == ("log_scaling" if name == "directions" else "yarn"), (name, length)
            assert (loss["yarn"] > loss["none"]) == (name == "directions")
