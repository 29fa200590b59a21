"""The page on word order is of its records."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from experiments.word_order import recurrent, shuffled, trained
from experiments.word_order.bands import BETWEEN, band
from posenc_jax.drawing.markdown import refilled
from posenc_jax.encodings import sinusoidal
from posenc_jax.statistics import holm, mean_interval

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("module", [shuffled, trained, recurrent])
def test_the_page_is_of_the_record(module):
    found, readme = json.loads(module.RECORD.read_text()), module.README.read_text()
    assert refilled(readme, module.BEGIN, module.page(found), module.END) == readme, f"run python -m {module.__name__}"


def test_what_is_said_of_the_loss():
    cells = json.loads(shuffled.RECORD.read_text())["help en-de"]["cells"]
    lost = {
        name: mean_interval([cell["ordered"][seed] - cell["shuffled"][seed] for seed in cell["ordered"]])
        for name, cell in cells.items()
    }
    assert cells["nope"]["ordered"] == cells["nope"]["shuffled"]
    assert max((own.mean, name) for name, own in lost.items())[1] == "sinusoidal"
    told = {name for name, own in lost.items() if own.low is not None and own.low > 0}
    assert set(cells) - told == {"nope", "learned", "t5"}
    means = [sum(cell["shuffled"].values()) / len(cell["shuffled"]) for cell in cells.values()]
    assert f"{min(means):.0f} to {max(means):.0f} chrF, is there without order" in shuffled.README.read_text()
    guide = (ROOT / "scripts" / "docs" / "guides" / "real-text.md").read_text()
    assert f"costs the sinusoidal translator {lost['sinusoidal'].mean:.1f} chrF" in guide


def test_what_is_said_of_word_orders():
    page = " ".join((ROOT / "experiments" / "word_order" / "README.md").read_text().split())
    found = json.loads((ROOT / "experiments" / "word_order" / "orders.json").read_text())
    orders = ("svo", "sov", "vso", "osv")

    def means(score, length):
        own = [m for m in found["means"] if m["score"] == score and m["length"] == length and m["range"] != "beyond"]
        return {(m["table"], m["label"]): m["mean"] for m in own}

    within, one, four = (means("exact_match_of_clauses", length) for length in (None, 1, 4))
    none = [one[order, "nope"] for order in orders]
    assert f"Without positions {min(none):.2f} to {max(none):.2f} of the sentences of one clause" in page
    assert max(four[order, "nope"] for order in orders) == 0
    apart = within["svo", "sinusoidal"] - within["osv", "sinusoidal"]
    assert f"into SVO and OSV differ by {apart:.3f}" in page
    for label, said in (
        ("learned", "({:.3f} there, {:.3f} to {:.3f} elsewhere)"),
        ("t5", "({:.3f} and {:.3f} to {:.3f})"),
    ):
        others = [within[order, label] for order in orders[:3]]
        assert said.format(within["osv", label], min(others), max(others)) in page
    told, p = {label: [] for _, label in within}, {}
    for row in found["differences"]:
        if row["range"] == "beyond" and row["length"] is None and row["score"] == "exact_match_of_clauses":
            told[row["label"]] += [(row["low"] > 0) - (row["high"] < 0)]
            if row["table"] == "osv":
                t = row["mean"] / row["deviation"] * row["seeds"] ** 0.5
                p[row["label"]] = float(2 * scipy.stats.t.sf(abs(t), row["seeds"] - 1))
    assert f"ALiBi's in all but OSV (not told apart, p {p['alibi']:.2f})" in page
    assert f"RoPE in all but OSV (p {holm(p)['rope']:.3f} after Holm)" in page
    assert told["shaw"] == [1, 1, 1, 1]
    assert told["alibi"] == [1, 1, 1, 0]
    assert told["t5"] == told["rope"] == told["learned"] == [-1, -1, -1, -1]
    at_six = [m["mean"] for m in found["means"] if m["score"] == "exact_match_of_clauses" and m["length"] == 6]
    assert f"with six clauses the best mean is {max(at_six):.3f}" in page
    new = means("new_role_exact_match", 1)
    kept = {key: new[key] / one[key] for key in new if key[1] != "nope"}
    assert {key for key, share in kept.items() if share > 0.5} == {("sov", "sinusoidal")}
    assert f"the sinusoid keeps {new['sov', 'sinusoidal']:.3f} of the sentences" in page


def test_what_is_said_of_near_and_far_and_of_bands():
    page = " ".join((ROOT / "experiments" / "word_order" / "README.md").read_text().split())
    far = json.loads((ROOT / "experiments" / "word_order" / "near_far.json").read_text())
    at_64 = {m["label"]: m["mean"] for m in far["means"] if m["score"] == "exact_match" and m["length"] == 64}
    assert {label for label, mean in at_64.items() if mean < 0.99} == {"rope"}
    assert "Only RoPE gets worse with distance" in page
    others = [m["mean"] for m in far["means"] if m["score"] == "exact_match" and m["length"] and m["label"] != "rope"]
    assert min(others) >= 0.999
    assert "no mean but RoPE's is below 0.999 at any distance" in page
    bands = json.loads((ROOT / "experiments" / "word_order" / "bands.json").read_text())
    near = {m["label"]: m["mean"] for m in bands["means"] if m["score"] == "near_accuracy" and m["length"] == 64}
    assert min(near["all"], near["fast only"], near["slow only"]) > 0.99
    (slow,) = (m for m in bands["means"] if m["label"] == "slow only" and m["score"] == "near_accuracy" and m["length"])
    losses = (1 - slow["mean"], 1 - slow["high"], 1 - slow["low"])
    said = "near score falls by {:.3f} without the fast ones, with an interval of {:.3f} to {:.3f}"
    assert said.format(*losses) in page
    assert {m["mean"] for m in bands["means"] if m["score"] == "far_accuracy" and m["label"] == "fast only"} == {1.0}
    assert "where a fall of more than 0.1 was expected: every answer of every seed is right" in page
    fast = sinusoidal(np.arange(64), 64, frequencies=band(1.0, BETWEEN).frequencies, dtype=np.float64)
    apart = np.linalg.norm(fast[:, None] - fast[None], axis=-1) + 9 * np.eye(64)
    assert apart.min() > 1  # of vectors of norm 5.7
    assert "still give every position a vector of its own" in page
    untrained = json.loads(recurrent.RECORD.read_text())["untrained"]
    assert f"by {untrained:.1f} standard deviations" in page
