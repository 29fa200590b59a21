"""Timings of cells as reports show them, and what is left out of them."""

from __future__ import annotations

import json

import pytest
import sealed_files
from synthetic_ablation import begin_group, write_ablation

from posenc_jax.files.checksums import seal
from posenc_jax.results import read_record, summarise
from posenc_jax.results.report.page import page
from posenc_jax.results.report.provenance import speed_table, when
from posenc_jax.results.report.tables import markdown
from posenc_jax.results.timing import PhaseTiming, read_commands, read_timing

PLAN = {"operations_per_step": 10, "memory_bytes": 20, "seconds": {"train": 90.0, "decode": None}}


def phase(name, seconds, **changes):
    row = {"phase": name, "seconds": seconds, "steps": 60, "tokens": 1200, "operations": 6000}
    return row | {"peak_flops_per_second": 1000.0} | changes


def write(directory, *rows, group=0):
    folder = directory / f"group-{group:03d}"
    begin_group(folder)
    lines = [row if isinstance(row, str) else json.dumps(seal(row)) for row in rows]
    (folder / "timing.jsonl").write_text("\n".join(lines) + "\n")


def test_groups_are_added_up(tmp_path):
    slow, quick = (phase("train", 20.0, step_seconds=own) for own in (0.1, 0.075))
    write(tmp_path, {"plan": PLAN}, {"program": "train", "compile_seconds": 9.0}, slow, quick)
    more = {"program": "train", "compile_seconds": 2.5}
    write(tmp_path, more, phase("train", 40.0), phase("validate", 1.0, steps=0), phase("evaluate again", 7.0), group=1)
    found, _ = read_timing(tmp_path)
    assert found.planned == {"train": 90.0}
    assert found.measured["train"] == PhaseTiming(80.0, 180, 3600, 18_000, 18.0, (0.1, 0.075))
    assert found.measured["train"].mfu == pytest.approx(0.225)
    assert found.compiling == 11.5
    assert set(found.measured) == {"train", "validate"}


@pytest.mark.parametrize(
    "row",
    [
        "nonsense",
        json.dumps(phase("train", 1.0)),  # it has no checksum
        phase("train", 1.0, config_hash="another"),
    ],
)
def test_a_cell_has_no_time_where_a_part_of_it_is_damaged(tmp_path, row):
    """That of the other rows and groups would be the time of no cell."""
    write(tmp_path / "cell", phase("train", 20.0), row)
    write(tmp_path / "cell", phase("train", 20.0), group=1)
    found, (problem,) = read_timing(tmp_path / "cell", "own")
    assert found is None
    assert problem.startswith("cell/group-000") or "line 2: " in problem


def test_nothing_is_read_through_a_link_or_out_of_the_directory(tmp_path):
    write(tmp_path / "elsewhere", phase("train", 20.0))
    (tmp_path / "cell" / "group-000").mkdir(parents=True)
    (tmp_path / "cell" / "group-000" / "timing.jsonl").symlink_to(tmp_path / "elsewhere/group-000/timing.jsonl")
    assert read_timing(tmp_path / "cell") == (None, [])
    directory = write_ablation(tmp_path / "ablation")
    path = directory / "ablation.json"
    sealed_files.rewrite(path, lambda info: [cell.update(directory="../elsewhere") for cell in info["cells"]])
    assert read_record(directory).timings == {}


def test_the_report_shows_them_beside_the_plan(tmp_path):
    directory = write_ablation(tmp_path)
    assert speed_table(summarise(read_record(directory))).entries == ()
    before = summarise(read_record(directory))
    assert 'id="speed"' not in page(before)
    write(directory / "rsc-rope", {"plan": PLAN}, phase("train", 20.0))
    table = speed_table(summarise(read_record(directory)))
    assert table.columns == ("task", "encoding", "phase", "planned", "took", "steps/s", "tokens/s", "FLOP/s", "MFU")
    values = ("1.5\u00a0min", "20\u00a0s", "3", "60", "300", "30 %")
    assert table.entries == (("rsc", "rope", "train", *values),)
    after = summarise(read_record(directory))
    assert "1.5\u00a0min" in page(after).partition('id="speed"')[2]
    assert markdown(after) == markdown(before)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ((0.0, 0.75), "Run 2026-11-23 08:11 to 08:56 UTC; 41\u00a0s of it in programs, excluding compilation."),
        (
            (0.0, 16.0),
            "Run 2026-11-23 08:11 to 2026-11-24 00:11 UTC; 41\u00a0s of it in programs, excluding compilation.",
        ),
        ((0.0, 0.0), "Run 2026-11-23 08:11 UTC; 41\u00a0s of it in programs, excluding compilation."),
    ],
)
def test_the_report_says_when_it_was_run_and_by_which_command(tmp_path, hours, said):
    directory = write_ablation(tmp_path)
    begun, ended = (1795421500.0 + 3600 * hour for hour in hours)
    write(directory / "rsc-rope", {"plan": PLAN, "time": begun}, phase("train", 20.0, time=ended))
    write(directory / "rsc-rope", phase("train", 20.0, time=begun), phase("decode", 1.0), group=1)
    rows = [{"command": "posenc ablate 'my <own>.py'"}, {"command": "posenc ablate 'my <own>.py'"}, {}]
    (directory / "timing.jsonl").write_text("".join(json.dumps(seal(row)) + "\n" for row in rows) + "torn")
    commands, problems = read_commands(directory)
    assert commands == ("posenc ablate 'my <own>.py'",)
    assert [problem.partition(" (")[0] for problem in problems] == ["timing.jsonl, line 4: damaged"]
    assert set(problems) < set(read_record(directory).skipped)
    assert when(summarise(read_record(directory))) == said
    section = page(summarise(read_record(directory))).partition('id="speed"')[2]
    assert said in section
    assert "posenc ablate &#x27;my &lt;own&gt;.py&#x27;" in section
