"""The page on word order is of its records."""

import json
from pathlib import Path

import pytest

from experiments.word_order import shuffled, trained
from posenc_jax.drawing.markdown import refilled
from posenc_jax.statistics import mean_interval

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("module", [shuffled, trained])
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
