"""The command that kills ablations names what differs; the table of the page on reliability is of a committed run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import faults
import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "scripts" / "docs" / "reliability.md"
ROWS = json.loads((ROOT / "scripts" / "docs" / "faults.json").read_text())


def test_the_page_has_the_table_of_the_committed_run():
    names = ("what", "trials", "silent", "traceback", "refused", "identical")
    rows = ["| " + " | ".join(str(row[name]) for name in names) + " |" for row in ROWS]
    assert f"|---|---:|---:|---:|---:|---:|\n{chr(10).join(rows)}\n\n" in PAGE.read_text()
    assert f"{sum(row['trials'] for row in ROWS)} trials" in PAGE.read_text()


def test_nothing_was_silent_and_no_error_a_traceback():
    for row in ROWS:
        assert (row["silent"], row["traceback"]) == (0, 0), row["trial"]
        assert row["refused"] + row["identical"] == row["trials"]


def test_the_files_that_the_page_names_are_there():
    named = re.findall(r"`((?:tests|scripts)/[^ `]*)", PAGE.read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    ("script", "differs"),
    [("echo 1", ""), ("echo 2", "results.jsonl"), ("echo posenc: no >&2; exit 2", "exit code 2: posenc: no")],
)
def test_what_differs_is_named(tmp_path, monkeypatch, script, differs):
    (tmp_path / "killed").mkdir()
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n({script}) > {tmp_path}/killed/results.jsonl\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    small = faults.Small.__new__(faults.Small)
    small.folder, small.config, small.expected = tmp_path, tmp_path / "tiny.py", {"results.jsonl": "1\n"}
    assert small.resumed("killed") == differs


@pytest.mark.slow
def test_a_kill_changes_no_bit():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "faults.py"), "2"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "2 of 2 killed ablations ended with the same bits\n"), done.stderr
