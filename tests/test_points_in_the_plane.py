"""What the page of points in the plane says of its results."""

import json
import re
from pathlib import Path

import pytest

from posenc_jax.encodings import Grid, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.slots import elements, position_axes
from posenc_jax.statistics.comparison import holm
from posenc_jax.statistics.intervals import Interval, detectable, p_value

FOLDER = Path(__file__).parent.parent / "experiments" / "points_in_the_plane"
FOUND = json.loads((FOLDER / "results.json").read_text())
PAGE = " ".join((FOLDER / "README.md").read_text().split())
ABSOLUTE = ("2-D sinusoidal", "random Fourier")


def rows(kind, length):
    return {row["label"]: row for row in FOUND[kind] if (row["length"], row["score"]) == (length, "accuracy")}


def corrected(length):
    """Label -> p of no difference to axial RoPE, after Holm's correction over the table."""
    found = {
        label: p_value(Interval(row["mean"], row["low"], row["high"], row["deviation"], row["seeds"], 0), -1, 1)
        for label, row in rows("differences", length).items()
    }
    return holm(found)


@pytest.mark.parametrize(("label", "word"), [*((label, "worse") for label in ABSOLUTE), ("RoPE-Mixed", "better")])
def test_expectations_two_and_three(label, word):
    own = rows("differences", 16)[label]["mean"]
    assert corrected(16)[label] < 0.001
    assert (own > 0) == (word == "better")


def test_the_fourth_expectation_was_not_seen():
    own = rows("differences", 16)["LieRE-8"]
    assert corrected(16)["LieRE-8"] > 0.05
    found = detectable(own["deviation"], own["seeds"], confidence=1 - 0.05 / 5)
    assert found < rows("differences", 16)["RoPE-Mixed"]["mean"]


@pytest.mark.parametrize("label", ["axial RoPE", "RoPE-Mixed", "LieRE-8", *ABSOLUTE])
def test_the_fifth_expectation(label):
    lost = rows("means", 16)[label]["mean"] - rows("means", 32)[label]["mean"]
    assert (lost <= 0.05) == (label == "axial RoPE")


def test_the_verdict():
    above = {
        length: {label for label, row in rows("means", length).items() if row["mean"] > 0.8} for length in (16, 32)
    }
    assert above == {16: {"axial RoPE", "RoPE-Mixed", "LieRE-8"}, 32: {"axial RoPE"}}


def test_encodings_that_are_refused():
    slots = [parse(method.spec) for family in CATALOGUE.values() for method in family]
    two_axes = [slot[1:] for slot in slots if slot[0:1] == (Grid(width=8),) and position_axes(slot[1:]) == 2]
    whole = {element.name for slot in two_axes for element in elements(slot) if element.integer_positions}
    said = PAGE.partition("Not in the table: ")[2].partition(" read offsets")[0]
    assert set(re.findall("`(.*?)`", said)) == whole
