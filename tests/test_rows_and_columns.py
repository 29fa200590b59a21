"""What the page of rotations by row and column says of its results."""

import json
from pathlib import Path

import pytest

from posenc_jax.statistics.intervals import detectable

FOLDER = Path(__file__).parent.parent / "experiments" / "rows_and_columns"
FOUND = json.loads((FOLDER / "results.json").read_text())
PAGE = (FOLDER / "README.md").read_text()
ROTATIONS = ("axial RoPE", "RoPE-Mixed", "LieRE-8", "Spiral RoPE")


def rows(kind, table):
    here = [row for row in FOUND[kind] if (row["table"], row["length"], row["score"]) == (table, 5, "accuracy")]
    return {row["label"]: row for row in here}


@pytest.mark.parametrize("label", ROTATIONS[1:])
def test_differences_that_could_have_been_seen(label):
    """At the level of Holm's first step, of four differences."""
    own = rows("differences", "100 steps")[label]
    found = detectable(own["deviation"], own["seeds"], confidence=1 - 0.05 / 4)
    assert f"{found:.3f} for {label}" in PAGE
    assert abs(own["mean"]) < found


def test_the_fourth_expectation():
    means = {label: row["mean"] for label, row in rows("means", "400 steps").items()}
    assert min(means[label] for label in ROTATIONS) > 0.99
    assert means["absolute"] < 0.6
    assert f"absolute positions at {means['absolute']:.2f}" in PAGE
