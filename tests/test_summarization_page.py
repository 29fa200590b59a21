"""The page of summaries, its docstring and the guide say what the record has."""

from __future__ import annotations

import json
from pathlib import Path

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
