"""The page on longer context is of its records."""

import json
import math

import numpy as np
import pytest
import scipy.stats

from experiments.context import directions, planes, recalibrated, smollm2, surgery
from posenc_jax.drawing.markdown import refilled


def test_the_page_is_of_the_record():
    found, readme = json.loads(directions.RECORD.read_text()), directions.README.read_text()
    again = refilled(readme, directions.BEGIN, directions.page(found), directions.END)
    assert again == readme, "run python -m experiments.context.directions"


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


def test_the_page_on_smollm2_is_of_its_record():
    entries, readme = json.loads(smollm2.record("smollm2").read_text()), smollm2.README.read_text()
    for study in smollm2.STUDIES:
        assert smollm2.filled(readme, study) == readme, "run its command"
    losses = {(own["change"], own["length"]): own["loss"] for own in entries}
    judged = smollm2.asked(entries)
    assert judged[0][1] == [a - b for a, b in zip(losses["none", 8192], losses["none", 16384], strict=True)]
    assert {smollm2.word(own) for _, own in judged} == {"as published"}
    assert len(judged) == 6

    def apart(better, worse, length=16384):
        pairs = zip(losses[worse, length], losses[better, length], strict=True)
        return " and ".join(f"{a - b:.3f}" for a, b in pairs)

    means = [f"{math.exp(sum(losses[change, 16384]) / 2):.4g}" for change in ("self_extend", "yarn", "ntk")]
    assert "repair it**, at {}, {} and {}.".format(*means) in readme
    assert f"better than YaRN by {apart('self_extend', 'yarn')} nats" in readme
    assert f"better than NTK by {apart('yarn', 'ntk')}." in readme
    assert f"costs {apart('none', 'linear(2)', 8192)} nats at the trained length" in readme
    assert f"no use at twice that length: {math.exp(sum(losses['linear(2)', 16384]) / 2):.4g}." in readme
    (own,) = [one for one in entries if (one["change"], one["length"]) == ("none", 16384)]
    assert f"its perplexity is {math.exp(sum(part[-1] for part in own['buckets']) / 2):,.0f}" in readme
    rises = [[part[n + 1] - part[n] > 0.4 for n in range(7)] for part in own["buckets"]]
    assert [rise[4:] for rise in rises] == [[True] * 3] * 2
    longer = {(own["change"], own["length"]): own for own in json.loads(smollm2.record("smollm2-longer").read_text())}
    assert len({change for change, _ in longer}) == 12

    def read(change, times=4):
        return "{:.4g}".format(math.exp(longer[change, times * 8192]["loss"][0]))

    def last(change):
        return "{:.4g}".format(math.exp(longer[change, 32768]["buckets"][0][-1]))

    def behind(worse, better):
        return "{:.3f}".format(longer[worse, 32768]["loss"][0] - longer[better, 32768]["loss"][0])

    words = [smollm2.word(own) for _, own in smollm2.asked(list(longer.values()))]
    assert (words.count("as published"), len(words)) == (8, 10)
    bounded = "SelfExtend at {}, Leaky ReRoPE at {} and ReRoPE at {}, where the model alone is lost, at {}."
    assert bounded.format(*map(read, ("self_extend", "leaky_rerope", "rerope", "none"))) in readme
    assert f"its perplexity is {read('yarn')}, SelfExtend's {read('self_extend')}, and {read('none')} without" in readme
    frequencies = "YaRN is the best**, at {}, before LongRoPE at {} and NTK at {};"
    assert frequencies.format(*map(read, ("yarn", "longrope", "ntk"))) in readme
    assert f"YaRN and LongRoPE are alike, {read('yarn', 2)} and {read('longrope', 2)}." in readme
    assert f"YaRN reads at {last('yarn')}, LongRoPE at {last('longrope')} and NTK at {last('ntk')}." in readme
    assert longer["dynamic_ntk", 32768]["buckets"] == longer["ntk", 32768]["buckets"]
    no_use = "without training, at {}, STRING, at {}, and scaling queries by log n alone, at {}, which is {} nats worse"
    assert no_use.format(*map(read, ("linear", "string", "log_scaling")), behind("log_scaling", "none")) in readme
    assert f"costs there too: {read('string', 1)} against {read('none', 1)}." in readme
    assert f"behind Leaky ReRoPE by {behind('rerope', 'leaky_rerope')} nats" in readme
    assert f"lost at every length: {read('nope', 1)} within its context." in readme
    for times in (2, 4):
        others = [own["loss"] for (change, length), own in longer.items() if length == times * 8192]
        assert longer["self_extend", times * 8192]["loss"] == min(others)
    assert [smollm2.word(own) for own in ([-1, -2], [1, 2], [-1, 2])] == [
        "as published",
        "the other way",
        "texts disagree",
    ]


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
    assert f"lost: {math.exp(means['nope', 128]):.4g} against {math.exp(means['none', 128]):.4g}" in readme
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
    whole, none, fourth, *rest = (np.array(losses) for losses in found["losses"].values())
    costs = [losses - whole for losses in rest[:30]]
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
    assert f"Without any rotation it is {none.mean():.3f}, against {whole.mean():.3f}." in said
    of_planes, of_bases = ([float((own - whole).mean()) for own in part] for part in (rest[30:34], rest[34:]))
    assert f"worth {of_planes[0]:.3f} nats, three quarters of what" in said
    assert of_planes[0] / (none - whole).mean() == pytest.approx(0.75, abs=0.005)
    assert f"can be seen, {of_planes[2]:.3f} and {of_planes[3]:.3f}." in said
    assert f"plane 16 turns by {127 * 1e5**-0.5:.1f} radians" in said
    assert f"the slowest plane {(1e5 / 1e4) ** (31 / 32):.0f} times as fast" in said
    assert f"it {of_bases[0]:.3f} in every second layer and {of_bases[1]:.3f} in all: less than twice" in said
    assert f"correction for {len(found['losses']) - 1} comparisons" in said
    assert len(of_bases) == 2
    assert of_bases[1] < 2 * of_bases[0] < 2 * (fourth - whole).mean() / 4


def test_what_the_page_says_of_planes_is_of_the_record():
    found, readme = json.loads(planes.RECORD.read_text()), planes.README.read_text()
    again = refilled(readme, planes.BEGIN, planes.page(found, planes.costs_of_layers()), planes.END)
    assert again == readme, "run python -m experiments.context.planes"
    said = readme.partition("**Planes.**")[2]
    norms, parts, own = (np.mean(found[name], 0) for name in ("norms", "parts", "positional_parts"))
    turns = 2 * math.pi * 1e5 ** (np.array([0, 22, 25, 31]) / 32)
    assert f"(a turn in {turns[0]:.1f} tokens), 31 the slowest (in {turns[3]:,.0f})" in readme
    assert [round(turn / 8192) for turn in turns[1:3]] == [2, 6]
    assert f"{norms[22:26].sum():.3f} of them in planes 22 to 25" in said
    fast = np.mean(found["fast"], 0).ravel()
    others = np.setdiff1d(np.arange(270), planes.positional(found["weight"]))
    assert f"makes {own[:8].sum():.3f} of the variance of their logits, and {fast[others].mean():.3f} of that" in said
    assert f"16 to 23 have {norms[16:24].sum():.3f} of the norms and {parts[16:24].sum():.3f} of the var" in said
    assert f"(rank correlation {planes.judged(found, planes.costs_of_layers())[-1]['mean']:.3f})" in said
    positional, other, every = planes.of_groups(found)
    aliases = found["aliases"]
    assert [divmod(head, 9) for head, taken in enumerate(aliases["taken"]) if taken] == [(7, 7)]
    assert aliases["peak"][7 * 9 + 7] == 59 == planes.PEAKS[-2]
    assert aliases["height"][7 * 9 + 7] < 0, "it stands below its own peak's level: the kernel rises"
    ranks = f"in {positional['bumps']} of the {positional['heads']} positional heads and in {other['bumps']} of the "
    assert ranks + f"{other['heads']} others, where chance gives {positional['by_chance']:.1f} and" in said
    assert f"{other['by_chance']:.1f} ({positional['seen_from']} and {other['seen_from']} would" in said
    assert every["taken"] == 1
    kernel = found["kernels"]["layer 16, head 0"]
    inner = [own if peak < 59 else 0 for own, peak in zip(aliases["height"], aliases["peak"], strict=True)]
    assert inner.index(max(inner)) == 16 * 9
    assert max(inner) == pytest.approx(kernel[63])
    assert f"60): {kernel[63]:.2f} of the height" in said
    assert min(kernel[19], kernel[38]) > kernel[63]
    low = "[{1:.5f}, {2:.5f}]".format(*positional["difference"])
    assert f"there {positional['weight']:.5f} on average, {positional['difference'][0]:.5f} {low} more" in said


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


def test_what_the_page_says_of_training_on_is_of_the_record():
    found, readme = json.loads(recalibrated.RECORD.read_text()), recalibrated.README.read_text()
    again = refilled(readme, recalibrated.BEGIN, directions.page(found), recalibrated.END)
    assert again == readme, "run python -m experiments.context.recalibrated"
    losses = {(own["change"], own["length"]): own["loss"] for own in found["entries"]}
    before = {(own["change"], own["length"]): own for own in json.loads(directions.RECORD.read_text())["entries"]}
    for change in ("none", "nope", "yarn(2)"):
        for length in (128, 256, 512):
            assert losses[change, length] == before[change, length]["loss"], "the same texts and parameters"
    means = {key: math.exp(np.mean(own)) for key, own in losses.items()}
    said = readme.partition(recalibrated.END)[2].partition("\n## ")[0]
    assert f"{means['nope + 100', 128]:.4g} against {means['nope', 128]:.4g} after 100 steps" in said
    assert means["nope + 400", 128] < means["none", 128]
    gaps = {
        (steps, length): np.mean(losses[f"nope + {steps}", length]) - np.mean(losses[f"none + {steps}", length])
        for steps in (100, 400)
        for length in (128, 256, 512)
    }
    assert min(gaps.values()) > 0
    assert f"by {gaps[100, 512]:.3f} nats at 4x after 100 steps, by {gaps[400, 512]:.3f} after 400" in said
    trained_on = f"{means['yarn(2) + 400', 256]:.4g} against {means['none + 400', 256]:.4g}"
    assert f"ahead of RoPE at 2x, {trained_on} after" in said
    control = found["directions"][-1]
    interval = f"{control['difference']:+.3f} [{control['low']:.3f}, {control['high']:.3f}]"
    assert f"no difference from YaRN at 2x, {interval}, and" in said
    assert f"better at 4x, {means['none at 256 + 100', 512]:.4g} against {means['yarn(2) + 100', 512]:.4g}." in said
    words = [one["word"] for one in found["directions"]]
    assert [i for i, word in enumerate(words) if word == "the other way"] == [2, 3, 4]
    assert words.count("as published") == 5
