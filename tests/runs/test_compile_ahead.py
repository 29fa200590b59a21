"""Programs of the next cell are compiled while one trains, and change no number."""

import dataclasses
import json
import threading

import pytest
from trained_runs import CONFIG

from posenc_jax.config import Ablation
from posenc_jax.encodings import RoPE
from posenc_jax.runs import ablation, programs
from posenc_jax.runs.ablation import Ahead
from posenc_jax.runs.cell import run
from posenc_jax.runs.programs import KnownPrograms, Uncompiled
from posenc_jax.runs.reporter import Reporter

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
