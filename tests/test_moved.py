"""Texts that move: tables that say what the data say, and how far a learned table reaches."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from experiments.periodicity.moved import starts_for, table_last, trained_last
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation

HERE = Path(__file__).parent.parent / "experiments" / "periodicity"
DATA = ("moved-translation.json", "moved-widths.json")


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
    for label, moved_by, away, kl, *_ in rows:
        cell = cells[label]
        place = cell["offsets"].index(int(moved_by.rstrip("*")))
        assert float(away) == pytest.approx(cell["1 - cos"][place], abs=6e-4)
        of_seeds = [float(value) for value in kl.partition("(")[2].rstrip(")").split(", ")]
        assert of_seeds == pytest.approx([seed[place] for seed in cell["kl"]], rel=6e-3), (label, moved_by)
        assert float(kl.split()[0]) == pytest.approx(sum(of_seeds) / len(of_seeds), rel=1e-2)


def test_a_learned_table_behind_random_starts_has_the_rows_of_all_of_them():
    ablation = load_config(str(HERE / "moved_translation.py"), Ablation, "moved")
    (learned,) = (run for run in ablation.runs if run.label == "learned")
    assert (table_last(learned) or 0) >= trained_last(learned)  # also those of longer texts, which are measured
    assert starts_for(learned, 33).max() + 32 == trained_last(learned)
    assert table_last(dataclasses.replace(learned, posenc=(), posenc_encoder=())) is None
