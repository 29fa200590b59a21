"""Texts that move: tables that say what the data say, and how far a learned table reaches."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments.periodicity import written
from experiments.periodicity.moved import starts_for, table_last, trained_last
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation

HERE = Path(__file__).parent.parent / "experiments" / "periodicity"
WIDTHS = {
    "moved-text.json": 8,
    "moved-language.json": 128,
    "moved-translators.json": 128,
    "moved-translation.json": 8,
    "moved-widths.json": 0,
}
"""The d_model of the models; 0: each label has its own."""
DATA = tuple(WIDTHS)


def section(file: str) -> str:
    """The part of the page that names a file."""
    (found,) = (part for part in (HERE / "moved.md").read_text().split("\n## ") if f"({file})" in part)
    return found


@pytest.mark.parametrize("file", DATA)
def test_the_page_is_of_the_data(file):
    cells = json.loads((HERE / file).read_text())["cells"]
    rows = [
        row.strip("| ").split(" | ") for row in section(file).splitlines() if re.match(r"\| [^|]+ \| \d+\*? \|", row)
    ]
    assert {row[0] for row in rows} == {label for label, cell in cells.items() if cell.get("1 - cos")}
    for label, moved_by, away, kl, *rest in rows:
        cell = cells[label]
        place = cell["offsets"].index(int(moved_by.rstrip("*")))
        assert float(away) == pytest.approx(cell["1 - cos"][place], abs=6e-4)
        of_seeds = [float(value) for value in kl.partition("(")[2].rstrip(")").split(", ")]
        assert of_seeds == pytest.approx([seed[place] for seed in cell["kl"]], rel=6e-3), (label, moved_by)
        assert float(kl.split()[0]) == pytest.approx(sum(of_seeds) / len(of_seeds), rel=1e-2)
        other, attention = rest
        of_all = np.mean([seed[place] for seed in cell["other argmax"]])
        assert float(other.rstrip("%")) == pytest.approx(100 * of_all, abs=0.06), (label, moved_by)
        shown = {stack: [float(x) for x in layers] for stack, *layers in map(str.split, attention.split("; "))}
        kept = {stack: np.array(maps)[:, :, place].mean(0) for stack, maps in cell["attention"].items()}
        assert shown == {stack: pytest.approx(layers, abs=6e-4) for stack, layers in kept.items()}


def test_every_cell_says_where_it_was_measured():
    for file in DATA:
        found = json.loads((HERE / file).read_text())
        assert set(found) == {"cells"}
        for label, cell in found["cells"].items():
            assert {"commit", "cpu", "jax", "numpy", "python"} <= set(cell["environment"]), (file, label)
    cells = json.loads((HERE / "moved-translation.json").read_text())["cells"]
    commits = {label: cell["environment"]["commit"][:7] for label, cell in cells.items()}
    learned = commits.pop("learned")
    assert (learned, set(commits.values())) == ("412289a", {"557d988"})  # the table alone was measured again


def test_a_learned_table_behind_random_starts_has_the_rows_of_all_of_them():
    ablation = load_config(str(HERE / "moved_translation.py"), Ablation, "moved")
    (learned,) = (run for run in ablation.runs if run.label == "learned")
    assert (table_last(learned) or 0) >= trained_last(learned)  # also those of longer texts, which are measured
    assert starts_for(learned, 33).max() + 32 == trained_last(learned)
    assert table_last(dataclasses.replace(learned, posenc=(), posenc_encoder=())) is None


def test_what_translators_write_is_of_the_data_and_its_directions_hold():
    record = json.loads(written.RECORD.read_text())
    page = (HERE / "moved.md").read_text()
    assert written.table(record) in page
    share = {
        label: np.array([[[int(x) for x in row] for row in seed] for seed in cell["others"]]).mean(2)
        for label, cell in record.items()
    }
    at = {offset: place for place, offset in enumerate(written.SHOWN)}
    assert {tuple(cell["moved by"]) for cell in record.values()} == {written.SHOWN}
    sinusoidal, learned = (
        (x[:, at[63]], (x[:, at[62]] + x[:, at[64]]) / 2) for x in (share["sinusoidal"], share["learned"])
    )
    assert (sinusoidal[0] < sinusoidal[1]).all()
    assert (sinusoidal[0] < share["sinusoidal"][:, at[35]]).all()
    assert (share["tensor2tensor"][:, at[63]] > sinusoidal[0]).all()
    assert not (learned[0] < learned[1]).all()
    assert not share["rope"].any()
    assert not share["t5"].any()


def test_a_sentence_that_changes_is_one(monkeypatch):
    outputs = np.array([[[1, 2], [3, 4]], *([[[1, 2], [3, 5]]] * len(written.SHOWN))])
    monkeypatch.setattr(written, "translations", lambda *_: outputs)
    assert written.others(None, None, None).tolist() == [[False, True]] * len(written.SHOWN)
