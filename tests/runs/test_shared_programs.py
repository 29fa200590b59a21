"""Cells of an ablation that differ in data share programs, and have the numbers that they have alone."""

import dataclasses
import json
import threading

import pytest
from trained_runs import CONFIG, Notes

from posenc_jax.config import Ablation, sweep
from posenc_jax.encodings import RoPE
from posenc_jax.runs import ablation, programs
from posenc_jax.runs.ablation import Ahead
from posenc_jax.runs.cell import run
from posenc_jax.runs.programs import KnownPrograms, Uncompiled, likeness
from posenc_jax.runs.reporter import Reporter

TRAINING = dataclasses.replace(CONFIG.training, steps=10, validate_every=0)
EVALUATION = dataclasses.replace(CONFIG.evaluation, lengths=(2, 3))
BASE = dataclasses.replace(
    CONFIG, posenc=(RoPE(),), label="rope", training=TRAINING, evaluation=EVALUATION, learning_rates=(1e-2, 2e-2)
)


class Told(Notes):
    """Remembers the cells and the pieces of work."""

    def cell(self, text, number, total):
        self.notes.append(text)

    def phase(self, text, total=0, done=0, unit="steps"):
        self.notes.append(text)


def trained(directory):
    """What training gave, by replica, and which programs were made, in the order of files."""
    results = [json.loads(path.read_text()) for path in sorted(directory.glob("group-*/result.json"))]
    replicas = {(own["seed"], own["learning_rate"]): own for result in results for own in result["replicas"]}
    lines = [line for path in sorted(directory.glob("group-*/timing.jsonl")) for line in path.read_text().splitlines()]
    return replicas, [row["program"] for row in map(json.loads, lines) if "program" in row]


def test_cells_that_differ_in_data_share_programs(tmp_path, monkeypatch):
    made = []

    def keep(*given, **fields):
        made.append(KnownPrograms(*given, **fields))
        return made[-1]

    monkeypatch.setattr(ablation, "KnownPrograms", keep)
    first, second = sweep(BASE, {"rope.base": (1e2, 1e4)})
    third = dataclasses.replace(second, label="another rate", learning_rates=(5e-3,))
    other = dataclasses.replace(first, label="other", posenc=())
    reporter = Told()
    ablation.ablate(Ablation("a", (first, second, third, other)), tmp_path / "a", reporter=reporter)
    programs = sorted(["train", "validate", "evaluate@3"])
    found = {cell.label: trained(tmp_path / "a" / cell.directory_name) for cell in (first, second, third, other)}
    assert [sorted(names) for _, names in found.values()] == [programs, programs, [], programs]
    shared, other = sorted(made, key=lambda known: known.executables is None)  # the last cell is like no other
    assert (len(shared.programs), len(shared.executables)) == (6, 3)
    assert (len(other.programs), other.executables) == (3, None)
    for cell in (second, third):
        run(cell, tmp_path / cell.label, reporter=Reporter())
        assert trained(tmp_path / cell.label)[0] == found[cell.label][0]
    # What varies is named: by the label, else beside it.
    assert "cmc rope, base=100 (learning_rate 0.01 0.02)" in reporter.notes
    assert "cmc another rate (rope.base 10000, learning_rate 0.005)" in reporter.notes
    assert "cmc rope, base=100 learning rate 0.02 seed 0,1: train" in reporter.notes
    assert "cmc another rate seed 0,1: train" in reporter.notes


def test_cells_name_the_fields_that_their_label_does_not():
    fields = {"rope.base": 100.0, "model.d_model": 16, "learning_rate": [1e-3, 2e-3]}
    assert ablation._beside("rope, base=100, d_model=16", fields) == " (learning_rate 0.001 0.002)"
    assert ablation._beside("rope", {}) == ""


def test_likeness_is_of_all_but_fractions_names_and_starts():
    same = [*sweep(BASE, {"rope.base": (1e2, 1e4)}), dataclasses.replace(BASE, seeds=(7,), note="a note", table="t")]
    assert len({likeness(run) for run in same}) == 1
    wide = dataclasses.replace(BASE, model=dataclasses.replace(BASE.model, d_model=32))
    assert likeness(wide) != likeness(BASE)


# Programs of the next cell are compiled while one trains, and change no number.


FIRST = dataclasses.replace(
    CONFIG,
    label="nope",
    posenc=(),
    training=dataclasses.replace(CONFIG.training, steps=10, validate_every=0),
    evaluation=dataclasses.replace(CONFIG.evaluation, lengths=(2, 3)),
)
SECOND = dataclasses.replace(FIRST, label="rope", posenc=(RoPE(),))


def rows(directory, name):
    """The rows of a file of the only group."""
    (path,) = directory.glob(f"group-*/{name}")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_next_cell_is_compiled_while_one_trains(tmp_path, monkeypatch):
    made, threads = [], []

    class Kept(Ahead):
        def __init__(self):
            super().__init__()
            made.append(self)

    class Waits(Reporter):
        def recorded(self, directory):
            made[0]._pool.submit(int).result()  # what is compiled ahead is done
            threads.clear()

    program = programs.Program

    def noted(*args, **kwargs):
        threads.append(threading.current_thread())
        return program(*args, **kwargs)

    monkeypatch.setattr(ablation, "Ahead", Kept)
    monkeypatch.setattr(programs, "Program", noted)
    ablation.ablate(Ablation("two", (FIRST, SECOND)), tmp_path / "two", reporter=Waits())
    assert threads == [], "nothing is left to compile for the second"
    home = tmp_path / "two" / SECOND.directory_name
    timed = [(row["program"], row["compile_seconds"] > 0) for row in rows(home, "timing.jsonl") if "program" in row]
    assert timed == [("train", True), ("validate", True), ("evaluate@3", True)]
    run(SECOND, tmp_path / "alone", reporter=Reporter())
    assert rows(home, "metrics.jsonl") == rows(tmp_path / "alone", "metrics.jsonl")
    (ours,), (alone,) = (rows(place, "result.json") for place in (home, tmp_path / "alone"))
    assert ours["replicas"] == alone["replicas"]


def test_a_program_is_made_once_and_what_fails_by_whoever_asks_next():
    known, asked = KnownPrograms(), []

    def make():
        asked.append(1)
        if len(asked) == 1:
            raise ValueError("no room")
        return "a program"

    part = Uncompiled("key", "train", make)
    with pytest.raises(ValueError, match="no room"):
        known.make(part)
    assert not known.programs
    assert known.make(part)
    assert not known.make(part)
    assert (known.programs["key"].result(), len(asked)) == ("a program", 2)
