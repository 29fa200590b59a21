"""The page on near and far keys is of its records, and NumPy alone gives five of their numbers."""

import json
import re

import numpy as np
import pytest
import scipy.stats

from experiments.near_and_far import heads, moebius, page, rows, task
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.golden.rope.check import models

RECORD = json.loads(rows.RECORD.read_text())
PAGE = page.README.read_text()


def by_numpy(frequencies, length, draws=20_000):
    """The share of pairs whose farther key wins, with a wave of every frequency in plain float64."""
    generator, wins = np.random.default_rng(7), 0
    for _ in range(20):
        near, far = np.sort(generator.integers(length, size=(2, draws // 20)), axis=0)
        q = generator.normal(size=(draws // 20, len(frequencies), 2))
        size = (q**2).sum(-1)
        near, far = ((size * np.cos(np.outer(at, frequencies))).sum(1) for at in (near, far))
        wins += (far > near).sum() + 0.5 * (far == near).sum()
    return wins / draws


WAVES = np.arange(64) / 64


@pytest.mark.parametrize(
    ("name", "frequencies", "length"),
    [
        ("rope", 1e4**-WAVES, 2**9),
        ("rope", 1e4**-WAVES, 2**17),
        ("rope(base=5e5)", 5e5**-WAVES, 2**20),
        ("rope(scaling=linear(factor=16))", 1e4**-WAVES / 16, 2**13),
        ("rope(base=5e5, scaling=p_rope(fraction=0.75))", np.where(WAVES < 0.75, 5e5**-WAVES, 0), 2**17),
    ],
)
def test_numpy_alone_gives_the_record(name, frequencies, length):
    kept = RECORD["rows"][f"change: {name}"]["inversion"][rows.LENGTHS.index(length)]
    assert abs(kept - by_numpy(frequencies, length)) < 3.5 * np.hypot(RECORD["errors"]["change"], 0.0036)


def test_the_page_is_filled_from_the_records():
    assert page.filled(PAGE) == PAGE


def test_every_encoding_and_model_has_numbers_or_a_reason():
    specs = {spec.split(": ", 1)[1] for spec in RECORD["rows"]}
    assert {model["name"] for model in models()} <= {re.split(", (?:window|[0-9]+ of)", name)[0] for name in specs}
    lone = {row.spec for own in CATALOGUE.values() for row in own if "/" not in row.spec}
    written = {re.sub(r"[^a-z0-9_|().,=]", "", name) for name in specs}
    missing = [spec for spec in lone if not any(spec.partition("(")[0] in name for name in written)]
    assert missing == []
    for name, row in RECORD["rows"].items():
        assert ("reason" in row) != ("inversion" in row), name
        assert all(0 <= share <= 1 for share in row.get("inversion", ())), name


def test_the_prose_is_short_and_begins_with_five_lines():
    prose = re.sub(r"<!-- (\w+) -->.*?<!-- end of \1 -->", "", PAGE, flags=re.DOTALL)
    assert len(prose.split()) <= 900
    assert [line[:2] for line in PAGE.splitlines()[2:7]] == ["1.", "2.", "3.", "4.", "5."]


def share(name, length):
    return RECORD["rows"][f"change: {name}"]["inversion"][rows.LENGTHS.index(length)]


def test_the_five_lines_are_of_the_records():
    lines = "\n".join(PAGE.splitlines()[2:7])
    half, far = share("rope", 2**17), (share("rope(base=5e5)", 2**20), share("rope(base=1e6)", 2**20))
    assert (
        f"in {half:.3f} of cases at 131,072 tokens; with base 500,000 in {share('rope(base=5e5)', 2**17):.3f}" in lines
    )
    assert f"at 1,048,576 in {far[0]:.3f}; with base 1,000,000 in {far[1]:.3f} there" in lines
    assert share("rope", 2**14) < 0.4 < share("rope", 2**15)
    scaled, plain = (share(name, 2**13) for name in ("rope(base=5e5, scaling=llama3)", "rope(base=5e5)"))
    assert f"Llama 3's has {scaled:.3f} at 8,192, where its base alone has {plain:.3f}" in lines
    assert max(RECORD["rows"]["change: alibi"]["inversion"]) == 0
    within, beyond, never = page.of_contexts(RECORD)
    assert f"**Of {len(models())} released models**, {len(within)} pass 0.4 within" in lines
    assert f"{len(beyond)} only beyond it, and {len(never)} at no length" in lines
    assert {name.split("-")[0] for name in within} == {"Llama", "DeepSeek", "gpt", "stablelm", "Gemma"}


def test_half_of_the_longest_wavelength_is_where_near_and_far_are_confused():
    for base, name in ((1e4, "rope"), (1e5, "rope(base=1e5)")):
        wavelength, row = 2 * np.pi * base ** (1 - 2 / 128), RECORD["rows"][f"change: {name}"]
        start = next(n for n, own in zip(row["lengths"], row["inversion"]) if own > 0.4)
        assert start / 4 < wavelength / 2 < start * 2
    assert "54,410 tokens for base 10,000 and 2.6 million for 500,000" in PAGE
    assert [round(2 * np.pi * base ** (1 - 2 / 128)) for base in (1e4, 5e5)] == [54_410, 2_559_196]


def test_other_pages_say_what_the_record_says():
    guide = (page.README.parents[2] / "scripts" / "docs" / "guides" / "which-encoding-when.md").read_text()
    assert "confuses near keys with far ones from 32,768 tokens on" in guide
    assert max(share(f"rope(base={base})", n) for base in ("5e5", "1e6") for n in rows.LENGTHS) < 0.4


def test_ratios_are_of_the_record():
    at_eight = {base: own[rows.RATIOS.index(8)] for base, own in RECORD["by_ratio"].items()}
    assert f"base 10,000 has {at_eight['10000']:.3f} and base 500,000 has {at_eight['500000']:.3f}" in PAGE


def test_heads_are_counted():
    found = np.array(json.loads(heads.RECORD.read_text())["inversion"]).mean(0)
    counts = (found > 0.4).sum((0, 1))
    assert f"{counts[0]} heads are above 0.4 at 512, {counts[2]} at 2,048 and {counts[4]} at 8,192" in PAGE


def test_directions_are_judged_as_another_way_says():
    found = json.loads(heads.RECORD.read_text())
    rises = np.array(found["inversion"])[..., -1] - np.array(found["inversion"])[..., 0]
    of_texts = rises.reshape(found["texts"], -1).mean(1)
    low, high = scipy.stats.ttest_1samp(of_texts, 0).confidence_interval(1 - 0.05 / 4)  # of four directions
    own = heads.judged(found)[0]
    assert [own["mean"], own["low"], own["high"]] == pytest.approx([of_texts.mean(), low, high])
    assert own["word"] == ("no difference seen" if low <= 0 <= high else "as expected" if low > 0 else "the other way")


def found_words(name, length, places):
    """The share of words that are found in second blocks, with a loop over the record."""
    texts, found = json.loads(task.RECORD.read_text())["texts"], []
    for key, text in texts.items():
        for both, of_words, place in zip(text.get(name, ()), text["words"], text["second"]):
            if key.startswith(f"{length} ") and of_words and places[0] <= place < places[1]:
                found.append(both[1])
    return np.mean(found)


def test_what_is_said_of_the_task_is_of_its_record():
    behind = {
        name: [found_words(name, length, (12288, 32768)) for length in (16384, 32768)] for name in ("none", "yarn")
    }
    assert "it finds {:.3f} at 2x and {:.3f} at 4x,".format(*behind["none"]) in PAGE
    assert "where YaRN finds {:.3f} and {:.3f} (".format(*behind["yarn"]) in PAGE
    record = json.loads(task.RECORD.read_text())
    words = {row["number"]: row["word"] for row in task.judged(record)}
    assert words["near - far"] == words["none 1x - yarn 1x"] == words["none 1x - ntk 1x"] == "as expected"
    assert words["none 1x - none 2x"] == words["none 1x - none 4x"] == "as expected"
    assert words["ranks"] == words["yarn 2x - none 2x"] == "no difference seen"
    of_none, shares = record["predicted"]["none"], record["predicted"]
    assert abs(of_none[1] - of_none[0]) < 0.01 < min(shares[name][0] - of_none[0] for name in ("yarn", "half"))
    half, none = (task.scores(record, name, 8192, words=False)[:, 0].mean() for name in ("half", "none"))
    assert f"(first blocks {half:.3f}, not {none:.3f})" in PAGE
    below = [task.scores(record, name, 8192)[:, 1].mean() for name in ("yarn", "ntk", "half")]
    assert max(below) < task.scores(record, "none", 8192)[:, 1].mean()
    guessed = [both[0] for text in record["texts"].values() for both, of in zip(text["none"], text["words"]) if of]
    asked = task.BLOCK - task.KNOWN
    assert f"Guessed by `none` in first blocks: {round(sum(guessed) * asked)} of {len(guessed) * asked:,}." in PAGE


def test_moebius_is_judged_by_pitman_and_morgan():
    found = json.loads(moebius.RECORD.read_text())
    plain, own = np.array(found["rope"]), np.array(found["moebius"])
    assert len(plain) == len(own) == 16
    unequal = scipy.stats.pearsonr(plain + own, plain - own).pvalue < 0.05
    (row,) = moebius.judged(found)
    assert (row["word"] != "no difference seen") == unequal
    assert row["mean"] == pytest.approx(np.log(plain.var() / own.var()))
    assert (2 * np.log(31 / 6) > row["high"]) == ("which the interval excludes" in PAGE)
