"""Losses of training, read back from the groups of a cell."""

import hashlib
import json

import pytest
import sealed_files
from synthetic_ablation import CELLS, begin_group, write_ablation

from posenc_jax.results import read_record, report, summarise
from posenc_jax.results.groups import read_losses
from posenc_jax.results.report.axes import mean_losses
from posenc_jax.results.timing import read_timing


def row(step, seed, loss, rate=1e-3):
    return {"step": step, "seed": seed, "learning_rate": rate, "loss": loss}


def write(group, rows, rest=""):
    begin_group(group)
    sealed_files.write_rows(group / "metrics.jsonl", rows)
    with (group / "metrics.jsonl").open("a") as file:
        file.write(rest)


def test_losses_of_all_groups(tmp_path):
    write(tmp_path / "group-000", [row(1, 0, 2.0), row(2, 0, 1.0), row(2, 1, float("nan")), row(3, 1, None)])
    write(tmp_path / "group-001", [row(1, 2, 1.5, 3e-3), row(1, 0, 9.0, 3e-3)])
    assert read_losses(tmp_path) == ({(0, 1e-3): {1: 2.0, 2: 1.0}, (2, 3e-3): {1: 1.5}, (0, 3e-3): {1: 9.0}}, [])
    assert read_losses(tmp_path / "none") == ({}, [])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ('{"step": 3, "se', "damaged (line 2: Unterminated string starting at: line 1 column 13 (char 12))"),
        (json.dumps(row(1, 0, 2.0) | {"checksum": "sha256:0"}), "damaged (line 2: its checksum is not that of"),
    ],
)
def test_a_file_that_is_damaged_is_left_out_and_named(tmp_path, damage, said):
    write(tmp_path / "cell" / "group-000", [row(1, 0, 2.0)], damage)
    write(tmp_path / "cell" / "group-001", [row(1, 1, 3.0)])
    found, (problem,) = read_losses(tmp_path / "cell")
    assert found == {(1, 1e-3): {1: 3.0}}
    assert problem.startswith(f"cell/group-000/metrics.jsonl is {said}")


def test_metrics_are_those_that_the_result_had(tmp_path):
    group = tmp_path / "cell" / "group-000"
    write(group, [row(1, 0, 2.0)])
    content = (group / "metrics.jsonl").read_bytes()
    sealed_files.write(group / "result.json", {"metrics_sha256": hashlib.sha256(content).hexdigest()})
    assert read_losses(tmp_path / "cell") == ({(0, 1e-3): {1: 2.0}}, [])
    sealed_files.write_rows(group / "metrics.jsonl", [row(1, 0, 3.0)])
    told = ["cell/group-000/metrics.jsonl is damaged (its rows are not those that were written)"]
    assert read_losses(tmp_path / "cell") == ({}, told)
    (group / "metrics.jsonl").unlink()
    assert read_losses(tmp_path / "cell") == ({}, ["cell/group-000/metrics.jsonl is missing"])
    sealed_files.write(group / "result.json", {"metrics_sha256": hashlib.sha256(b"").hexdigest()})
    assert read_losses(tmp_path / "cell") == ({}, []), "too short a training has no row"


def test_groups_are_those_of_the_cell(tmp_path):
    """One of another config, one that is damaged is named, one that is a link is not followed."""
    cell = tmp_path / "rsc-nope"
    own = next(cell["config_hash"] for cell in CELLS if cell["directory"] == "rsc-nope")
    for number in range(5):
        write(cell / f"group-{number:03d}", [row(1, number, 2.0)])
        begin_group(cell / f"group-{number:03d}", [[number, 1e-3]])
    begin_group(tmp_path / "rsc-rope" / "group-000", [[9, 1e-3]])
    (cell / "group-001" / "config.json").write_bytes((tmp_path / "rsc-rope/group-000/config.json").read_bytes())
    (cell / "group-002" / "config.json").write_text("{")
    (cell / "group-005").symlink_to(tmp_path / "rsc-rope" / "group-000")
    (cell / "group-000.old").mkdir()
    found, problems = read_losses(cell, own)
    assert found == {(seed, 1e-3): {1: 2.0} for seed in (0, 3, 4)}
    assert [problem[:60].partition(" (")[0] for problem in problems] == [
        f"rsc-nope/group-001 is of another run: its config is {CELLS[3]['config_hash']}, no"[:60],
        "rsc-nope/group-002: its config.json is damaged",
    ]
    assert read_timing(cell, own) == (None, problems)


def test_a_report_draws_those_of_the_chosen_learning_rate(tmp_path):
    directory = write_ablation(tmp_path / "a")
    rows = [row(step, seed, (2.0 + seed) / step) for step in (1, 2, 4) for seed in (0, 1, 9)]
    write(directory / "rsc-nope" / "group-000", [*rows, row(8, 0, 0.1), row(1, 2, 9.0, rate=3e-3)])
    before = summarise(read_record(directory)).tasks[0]
    nope = before.cells[0]
    assert nope.losses == {0: {1: 2.0, 2: 1.0, 4: 0.5, 8: 0.1}, 1: {1: 3.0, 2: 1.5, 4: 0.75}}, "seed 9 is not asked for"
    assert mean_losses(nope) == {1: 2.5, 2: 1.25, 4: 0.625}, "steps that all seeds have"
    written = {path.name for path in report.build(directory)}
    assert {"rsc-training.png", "rsc-training.pdf"} <= written
    assert "even_pairs-training.pdf" not in written
    page = (directory / "report.html").read_text()
    assert page.count('id="learning-rsc"') == 1
    assert "learning-even_pairs" not in page
