"""Losses of training, read back from the groups of a cell."""

import json

from synthetic_ablation import write_ablation

from posenc_jax import report
from posenc_jax.report.axes import mean_losses
from posenc_jax.results import read_record, summarise
from posenc_jax.results.learning import read_losses


def row(step, seed, loss, rate=1e-3):
    return {"step": step, "seed": seed, "learning_rate": rate, "loss": loss}


def write(group, rows, rest=""):
    group.mkdir(parents=True)
    (group / "metrics.jsonl").write_text("".join(json.dumps(own) + "\n" for own in rows) + rest)


def test_losses_of_all_groups_and_nothing_that_is_damaged(tmp_path):
    write(tmp_path / "group-000", [row(1, 0, 2.0), row(2, 0, 1.0), row(2, 1, float("nan"))], '{"step": 3, "se')
    write(tmp_path / "group-001", [row(1, 2, 1.5, 3e-3), {"step": 2}, row(1, 0, 9.0, 3e-3)])
    assert read_losses(tmp_path) == {(0, 1e-3): {1: 2.0, 2: 1.0}, (2, 3e-3): {1: 1.5}, (0, 3e-3): {1: 9.0}}
    assert read_losses(tmp_path / "none") == {}


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
    assert report.up_to_date(directory)
    (directory / "rsc-nope" / "group-000" / "metrics.jsonl").write_text(json.dumps(row(1, 0, 2.5)) + "\n")
    assert not report.up_to_date(directory)
    page = (directory / "report.html").read_text()
    assert page.count('id="learning-rsc"') == 1
    assert "learning-even_pairs" not in page
