"""The battery of faults counts what it says, and its table in the page on reliability is of a committed run."""

import json
import random
import subprocess
import sys
from pathlib import Path

import faults
import pytest
from fault_battery import scene, trials

ROOT = Path(__file__).parent.parent


def test_the_page_has_the_table_of_the_committed_run():
    page = faults.PAGE.read_text()
    rows = json.loads(faults.RESULTS.read_text())
    assert faults.filled(page, rows) == page, "run scripts/faults --page"
    assert [row["trial"] for row in rows] == list(faults.TRIALS)


def test_nothing_was_silent_and_no_error_a_traceback():
    for row in json.loads(faults.RESULTS.read_text()):
        assert (row["silent"], row["traceback"]) == (0, 0), row["trial"]
        assert row["refused"] + row["identical"] == row["trials"]


def test_the_files_that_the_page_names_are_there():
    for part in faults.PAGE.read_text().split("`"):
        if part.startswith("tests/"):
            assert (ROOT / part).exists(), part


def test_a_flip_changes_one_bit_of_one_file(tmp_path):
    files = [tmp_path / "a", tmp_path / "b"]
    changed = set()
    for seed in range(40):
        for path, content in zip(files, (b"\0" * 3, b"\0" * 9)):
            path.write_bytes(content)
        trials.flip(random.Random(seed), files)
        assert sum(byte.bit_count() for path in files for byte in path.read_bytes()) == 1
        changed |= {path.name for path in files if any(path.read_bytes())}
    assert changed == {"a", "b"}


class Tiny(scene.Scene):
    """A scene whose ablation is a file."""

    def __init__(self, folder):
        self.folder, self.whole = folder, folder / "whole"
        self.whole.mkdir()
        (self.whole / "results.jsonl").write_text("1\n")
        self.expected = scene.outcome(self.whole)


@pytest.mark.parametrize(
    ("code", "said", "row", "expected"),
    [
        (0, "done\n", "1\n", "identical"),
        (0, "done\n", "2\n", "silent"),
        (0, "done\n", None, "silent"),
        (2, "posenc: a is damaged: restore it\n", "1\n", "refused"),
        (1, "something else\n", "1\n", "traceback"),
        (1, "Traceback (most recent call last)\nposenc: no\n", "1\n", "traceback"),
    ],
)
def test_what_became_of_a_directory(tmp_path, code, said, row, expected):
    tiny = Tiny(tmp_path)
    place = tiny.copy("copy")
    (place / "results.jsonl").unlink()
    if row is not None:
        (place / "results.jsonl").write_text(row)
    assert tiny.verdict(place, scene.Ended(code, said)) == expected
    assert (tiny.whole / "results.jsonl").read_text() == "1\n"


def test_outcomes_are_counted():
    outcomes = iter(["silent", "identical", "identical"])
    counts = scene.each(3, lambda _: next(outcomes))
    assert counts == {"silent": 1, "traceback": 0, "refused": 0, "identical": 2}


@pytest.mark.slow
def test_a_small_battery_finds_nothing(tmp_path):
    kept = tmp_path / "rows.json"
    command = [sys.executable, str(ROOT / "scripts" / "faults.py"), "exchanged", "result-bits", "--scale", "0.1"]
    done = subprocess.run([*command, "--json", str(kept)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["trial"] for row in json.loads(kept.read_text())] == ["result-bits", "exchanged"], "in the list's order"
