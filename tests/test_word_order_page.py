"""The page on word order is of its records."""

import json
from pathlib import Path

import pytest

from experiments.word_order import recurrent, shuffled, trained
from posenc_jax.drawing.markdown import refilled
from posenc_jax.statistics import mean_interval

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


def test_what_is_said_of_near_and_far_and_of_bands():
    page = " ".join((ROOT / "experiments" / "word_order" / "README.md").read_text().split())
    far = json.loads((ROOT / "experiments" / "word_order" / "near_far.json").read_text())
    at_64 = {m["label"]: m["mean"] for m in far["means"] if m["score"] == "exact_match" and m["length"] == 64}
    assert {label for label, mean in at_64.items() if mean < 0.99} == {"rope"}
    assert "RoPE alone loses with the distance" in page
    bands = json.loads((ROOT / "experiments" / "word_order" / "bands.json").read_text())
    near = {m["label"]: m["mean"] for m in bands["means"] if m["score"] == "near_accuracy" and m["length"] == 64}
    assert min(near["all"], near["fast only"], near["slow only"]) > 0.99
    assert "Nor does near fall by more than 0.01 without the fast ones" in page
    untrained = json.loads(recurrent.RECORD.read_text())["untrained"]
    assert f"by {untrained:.1f} standard deviations" in page
