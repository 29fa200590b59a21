"""The page of summaries, its docstring and the guide say what the record has."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from experiments.summarization import sources
from posenc_jax.drawing.markdown import refilled

ROOT = Path(__file__).parent.parent
HERE = ROOT / "experiments" / "summarization"
FOUND = json.loads((HERE / "results.json").read_text())
MEANS = {(row["label"], row["score"], row["range"]): row["mean"] for row in FOUND["means"] if row["length"] is None}
LABELS = FOUND["tables"]["descriptions"]["cells"]


def words(path):
    return " ".join(path.read_text().split())


def mean(label, where, score="rouge_l"):
    return MEANS[label, score, where]


def test_the_page_says_what_the_record_has():
    text = words(HERE / "README.md")
    growth = {label: mean(label, "beyond", "perplexity") / mean(label, "within", "perplexity") for label in LABELS}
    kept = {label: mean(label, "beyond") / mean(label, "within") for label in LABELS}
    assert f"it keeps {kept['alibi']:.2f} of its score, as does NoPE ({kept['nope']:.2f}), which begins lowest" in text
    assert sorted(kept, key=kept.get)[-2:] == ["alibi", "nope"]
    assert min(kept, key=kept.get) == max(growth, key=growth.get) == "sinusoidal"
    sinusoid = [mean("sinusoidal", where) for where in ("within", "beyond")]
    assert "keeps the least: from {:.3f} to {:.3f}, the lowest of all".format(*sinusoid) in text
    assert (
        f"its perplexity grows {growth['sinusoidal']:.2f} times, the most, ALiBi's {growth['alibi']:.2f} times" in text
    )
    assert f"times and NoPE's {growth['nope']:.2f}." in text
    beyond = FOUND["tables"]["descriptions"]["seeds"]
    for label in set(LABELS) - {"sinusoidal"}:  # above it on unseen lengths, in every seed
        assert all(score > beyond["sinusoidal"][seed] for seed, score in beyond[label].items()), label
    for where in ("within", "beyond"):
        assert max(LABELS, key=lambda label, where=where: mean(label, where)) == "alibi"
        assert min(LABELS, key=lambda label, where=where: mean(label, where, "perplexity")) == "alibi"
    assert min(LABELS, key=lambda label: mean(label, "beyond")) == "sinusoidal"
    seeds = {len(own) for own in FOUND["tables"]["descriptions"]["seeds"].values()}
    assert f"Mean over {seeds.pop()} seeds" in text


def test_the_docstring_and_the_guide_quote_it():
    low, high = mean("nope", "within"), mean("alibi", "within")
    assert low == min(mean(label, "within") for label in LABELS)
    text = words(HERE / "small.py")
    assert f"ROUGE-L at 33-64 tokens from {low:.3f} (NoPE) to {high:.3f} (ALiBi)" in text
    assert f"from {mean('sinusoidal', 'beyond'):.3f} (sinusoidal) to {mean('alibi', 'beyond'):.3f} (ALiBi)" in text
    named = {"alibi": "ALiBi", "rope": "RoPE", "sinusoidal": "sinusoidal", "nope": "NoPE"}
    within = ", ".join(f"{mean(label, 'within'):.2f} {name}" for label, name in named.items())
    beyond = ", ".join(f"{mean(label, 'beyond'):.2f} {named[label]}" for label in ("alibi", "rope", "sinusoidal"))
    text = words(ROOT / "scripts" / "docs" / "guides" / "real-text.md")
    assert f"ROUGE-L {within.replace(' ALiBi', ' with ALiBi', 1)}; on descriptions" in text
    assert f"longer than in training {beyond}, the lowest" in text


def test_where_summaries_come_from_is_of_the_record():
    found = json.loads(sources.RECORD.read_text())
    page, text = sources.README.read_text(), words(sources.README)
    assert refilled(page, sources.BEGIN, sources.page(found), sources.END) == page
    assert sources.figure(found).startswith(b"\x89PNG")
    lead = found["corpus"]["in the first paragraph"]
    assert f"the first has {lead['every word']:.0%} of all words that are so rare".replace("%", " %") in text
    assert f"and {lead['copied']:.0%} of those that the synopsis has too".replace("%", " %") in text
    models = found["models"]

    def mean(label, name, layer=None):
        seeds = [own[name] if layer is None else own[name][layer] for own in models[label].values()]
        return np.mean(seeds, axis=0)

    off = {label: np.abs(mean(label, "copied") - found["corpus"]["by fifth"]["copied"]) for label in models}
    assert off["decoder, sinusoidal"].max() < 0.06
    for label, place in (("encoder-decoder, sinusoidal", 2), ("decoder, none", 4)):
        assert [*np.flatnonzero(off[label] >= 0.06)] == [place]
        assert f"{off[label][place]:.4f}" in text
        assert mean(label, "attention", -1).argmax() == 0
    none = "encoder-decoder, none"
    assert np.ptp(mean(none, "copied")) < 0.01
    assert max(mean(none, "marked, right")) == 0
    assert mean("decoder, sinusoidal", "marked, right").min() > 0.9
    assert mean("decoder, sinusoidal", "marked, attention", -1).min() > 0.6
    both = "encoder-decoder, sinusoidal"
    assert [*np.flatnonzero(mean(both, "marked, attention", -1) > 0.6)] == [0, 1]
    assert f"with the mark in the fourth {mean(both, 'marked, right')[3]:.2f} are right" in text
    for label in (none, "encoder-decoder, sinusoidal, points anywhere"):
        assert abs(np.mean([own["loss"] for own in models[label].values()]) - 2.15) < 0.03
    assert f"{sources.STEPS:,} steps, mean over {len(sources.SEEDS)} seeds" in text
