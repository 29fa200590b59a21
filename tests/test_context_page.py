"""The page on longer context is of its records."""

import json
import math

import numpy as np
import pytest
import scipy.stats

from experiments.context import directions, surgery
from posenc_jax.drawing.markdown import refilled


def test_the_page_is_of_the_record():
    found, readme = json.loads(directions.RECORD.read_text()), directions.README.read_text()
    again = refilled(readme, directions.BEGIN, directions.page(found), directions.END)
    assert again == readme, "run python -m experiments.context.directions"


def test_directions_are_judged_by_the_losses():
    found = json.loads(directions.RECORD.read_text())
    losses = {(own["change"], own["length"] / found["trained"]): own["loss"] for own in found["entries"]}
    assert len(found["directions"]) == len(directions.DIRECTIONS) == 12
    for one, kept in zip(directions.DIRECTIONS, found["directions"], strict=True):
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


def test_what_the_page_says():
    found, readme = json.loads(directions.RECORD.read_text()), directions.README.read_text()
    own = {(one["lower"][0], one["lower"][1]): one for one in found["directions"]}
    extended = own["self_extend", 4]
    assert f"takes {-extended['difference']:.3f} nats" in readme
    assert f"[{-extended['high']:.3f}, {-extended['low']:.3f}]" in readme
    costs = next(one for one in found["directions"] if one["higher"] == ["linear(2)", 1])
    assert f"costs** {-costs['difference']:.3f} nats" in readme
    means = {(e["change"], e["length"]): sum(e["loss"]) / len(e["loss"]) for e in found["entries"]}
    gains = {key: means["none", key[1]] - mean for key, mean in means.items() if key[1] > found["trained"]}
    (_, first), (_, second), (gain, third) = sorted(((gain, key) for key, gain in gains.items()), reverse=True)[:3]
    assert [first, second, third] == [("self_extend", 512), ("self_extend", 256), ("leaky_rerope", 512)]
    assert f"at 4x, wins {gain:.3f}" in readme
    assert means["self_extend", 128] == means["none", 128] < means["leaky_rerope", 128]
    assert f"lost: {math.exp(means['nope', 128]):.4g} for {math.exp(means['none', 128]):.4g}" in readme
    assert f"repair: {math.exp(means['none', 512]):.4g} at 4x" in readme
    longest = [entry for entry in found["entries"] if entry["length"] == 512]
    last = {e["change"]: math.exp(sum(b[-1] for b in e["buckets"]) / 16) for e in longest}
    assert f"perplexity of {last['yarn']:.4g} where NTK has {last['ntk']:.4g}" in readme
    far = max(sum(e["far_tokens"]) for e in found["entries"])
    assert f"({far} at most in 16 texts)" in readme


def test_what_the_page_says_of_layers_is_of_the_record():
    found, readme = json.loads(surgery.RECORD.read_text()), surgery.README.read_text()
    again = refilled(readme, surgery.BEGIN, surgery.page(found), surgery.END)
    assert again == readme, "run python -m experiments.context.surgery"
    whole, none, fourth, *single = (np.array(losses) for losses in found["losses"].values())
    costs = [losses - whole for losses in single]
    means = [float(cost.mean()) for cost in costs]
    assert len(means) == 30
    assert means.index(max(means)) == 1
    said = readme.partition("What it shows. The first layers need")[2]
    first, second = [means[i] for i in (0, 2, 3, 4)], means[9:14]
    assert f"{means[1]:.3f} nats a token, the other four of the first five {min(first):.3f} to {max(first):.3f}" in said
    assert f"layers 9 to 13, {min(second):.3f} to {max(second):.3f}" in said
    assert [i for i in range(14, 30) if means[i] > 0.055] == [16, 19]
    intervals = [scipy.stats.ttest_1samp(cost, 0).confidence_interval(0.95) for cost in costs]
    assert f"of 30 differences {sum(low <= 0 <= high for low, high in intervals)} have an interval" in said
    assert f"grows by {(fourth - whole).mean():.3f}, more than the sum of these seven" in said
    assert f"one by one, {sum(means[3::4]):.3f}." in said
    assert f"Without any it is {none.mean():.3f}, for {whole.mean():.3f}." in said
