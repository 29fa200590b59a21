"""``posenc audit``: what it prints and writes, and what it refuses."""

import json
import os
import subprocess
import sys

import pytest

NUMBERS = ("causality", "cached_decoding", "packing", "padding", "precision")


def audit(folder, *arguments):
    """The command in a process of its own: it sets up JAX, and starts others."""
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "posenc_jax", "audit", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_two_encodings_by_name_and_by_spec(tmp_path):
    done = audit(tmp_path, "t5 BIAS", "alibi(0.5)", "--json", "a.json", "--markdown", "a.md", "--all")
    assert "audit: 2 encodings" in done.stderr
    assert (tmp_path / "a.md").read_text() == done.stdout

    document = json.loads((tmp_path / "a.json").read_text())
    assert document["settings"]["format"] == "posenc audit 1"
    first, second = document["encodings"]
    assert [first[name] for name in ("family", "name", "spec", "link")] == [
        "additive",
        "T5 bias",
        "t5",
        "arXiv:1910.10683",
    ]
    assert (second["family"], second["name"]) == ("given", "alibi(past_offset=0.5)")
    for record in (first, second):
        assert len(record["clauses"]) == 15
        assert all(set(clause) == {"status", "detail"} for clause in record["clauses"].values())
        assert all(isinstance(record[name], float) for name in NUMBERS)
        assert set(record["shift"]) == {"float32", "bfloat16"}
        assert list(record["shift"]["float32"]) == [str(s) for s in document["settings"]["shifts"]]
        assert record["verdict"] == "kept (15/15)"
        assert record["problems"] == []
        assert record["timing"]["ratio"] > 0
        assert record["distance"] is record["alias"] is record["norm_drift"] is None
    assert first["parameters"] == {"learned": 128, "frozen": 0}
    assert (first["beyond"], second["beyond"]) == ("clamps", "extrapolates")

    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("## ")][:2] == ["## Additive", "## Given"]
    header, row = (next(line for line in lines if line.startswith(start)) for start in ("| encoding", "| T5 bias"))
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    cells = dict(zip(columns, (cell.strip() for cell in row.strip("|").split("|")), strict=True))
    assert "smallest distance" not in cells
    assert cells["spec"] == "`t5`"
    assert cells["contract"] == "kept (15/15)"
    assert cells["leak"] == "0"
    assert cells["beyond max_len"] == "clamps"
    assert cells["parameters"] == "128"
    assert cells["time"].endswith("x")
    for column in columns[2:]:
        assert f"- {column}: " in done.stdout.replace("\\", "")


@pytest.mark.slow
def test_equal_bytes_without_timing_whatever_the_processes(tmp_path):
    specs = ["sinusoidal", "rope", "shaw", "learned"]
    first = audit(tmp_path, *specs, "--all", "--no-timing", "--json", "first.json")
    again = audit(tmp_path, *specs, "--all", "--no-timing", "--json", "again.json")
    assert first.stdout == again.stdout
    assert "| time" not in first.stdout
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    records = json.loads((tmp_path / "first.json").read_text())["encodings"]
    assert [record["spec"] for record in records] == specs
    assert not any("timing" in record for record in records)
    # Few encodings are measured in the first process, with all its threads.
    audit(tmp_path, *specs[:2], "--no-timing", "--json", "few.json")
    assert json.loads((tmp_path / "few.json").read_text())["encodings"] == records[:2]


def test_a_pipe_is_not_replaced_by_a_file(refusal, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe: it is a device or a pipe: name another file" in refusal(
        "audit", "nope", "--json", str(tmp_path / "pipe")
    )
    assert (tmp_path / "pipe").is_fifo()
