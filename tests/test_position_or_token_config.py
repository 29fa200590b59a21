"""The experiment on wrong positions and wrong tokens: it can be read on the way, and says what it expects."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from experiments.position_or_token import errors
from experiments.position_or_token.small import ENCODINGS, FEW, MANY, config
from posenc_jax import ablate
from posenc_jax.config import config_hash
from posenc_jax.drawing.markdown import refilled
from posenc_jax.runs.evaluation import evaluate

HERE = Path(__file__).parent.parent / "experiments" / "position_or_token"


def test_every_cell_is_scored_before_the_ceiling_of_the_pilots():
    assert len(config.runs) == 2 * len(ENCODINGS)
    for run in config.runs:
        assert len(run.seeds) == 8
        assert not {0, 1} & set(run.seeds)  # the pilots'
        assert run.training.keep_every < 300  # where RoPE was at 1.00
        assert run.optimizer.schedule == "constant"
        steps = range(run.training.keep_every, run.training.steps + 1, run.training.keep_every)
        assert f"--steps {' '.join(map(str, steps))};" in (HERE / "README.md").read_text()
    assert {run.task.num_symbols for run in config.runs} == {FEW, MANY}


def test_the_pages_say_what_a_model_that_knows_nothing_has():
    page, directions = ((HERE / name).read_text() for name in ("README.md", "directions.md"))
    (few, few_token), (many, many_token) = ((31 / n, (n - 32) / n) for n in (FEW, MANY))
    assert f"{few:.2f} and {few_token:.2f} (of {MANY}: {many:.2f} and {many_token:.2f})" in page
    parts = [p / (p + t) for p, t in ((few, few_token), (many, many_token))]
    assert "{:.2f} with 64 symbols and {:.2f} with 512".format(*parts) in directions


@pytest.mark.slow
def test_a_cell_in_miniature_has_both_errors_at_each_checkpoint(tmp_path):
    run = config.runs[0]
    training = dataclasses.replace(
        run.training, steps=4, batch_size=8, steps_per_call=2, log_every=2, checkpoint_every=2, keep_every=2
    )
    evaluation = dataclasses.replace(run.evaluation, num_examples=8)
    small = dataclasses.replace(run, training=training, evaluation=evaluation, seeds=(4,))
    done = ablate(dataclasses.replace(config, runs=(small,)), tmp_path / "run")
    (cell,) = done.directory.glob("*-symbols-*")  # as the page's command finds them
    path, rows = evaluate(cell, (32,), steps=(2, 4))
    assert [row["step"] for row in rows] == [2, 4]
    assert all(0 < row["position_error"] + row["token_error"] < 1 for row in rows)
    assert json.loads(path.read_text())["steps"] == [2, 4]


def test_the_page_is_of_the_record():
    cells = json.loads(errors.FILE.read_text())
    assert {table: list(of) for table, of in cells.items()} == {f"{n} symbols": list(ENCODINGS) for n in (FEW, MANY)}
    hashes = {(run.table, run.label): config_hash(run) for run in config.runs}
    for table, of in cells.items():
        for label, cell in of.items():
            assert cell["config"] == hashes[table, label]
            assert list(cell["seeds"]) == [str(seed) for seed in config.runs[0].seeds]
    page = errors.PAGE.read_text()
    assert refilled(page, errors.BEGIN, errors.section(cells), errors.END) == page


def test_the_words_of_the_page_are_of_the_record():
    cells, page = json.loads(errors.FILE.read_text()), " ".join(errors.PAGE.read_text().split())
    few, many = f"{FEW} symbols", f"{MANY} symbols"

    def means(table):
        found = {label: list(errors.parts(cells, table, label).values()) for label in ENCODINGS}
        return {label: float(np.mean(values)) for label, values in found.items() if values}

    assert set(means(few)) == {"sinusoidal", "learned", "rope", "transformer_xl"}
    low, high = min(means(few).values()), max(means(few).values())
    assert f"with 64 symbols {low:.2f} to {high:.2f} of their probability" in page
    assert f"It is {low:.2f} to {high:.2f} for the four encodings" in page
    read = means(many)
    assert set(read) == {"rope", "transformer_xl"}
    assert f"{read['rope']:.3f} (RoPE) and {read['transformer_xl']:.3f} (Transformer-XL)" in page
    assert f"with 512 symbols {read['rope']:.3f} to {read['transformer_xl']:.3f} (0.061)" in page
    nope = cells[few]["nope"]["seeds"].values()
    assert max(row[1] for rows in nope for row in rows) < 0.1
    assert f"but its part stays at {np.mean([errors.part(rows[-1]) for rows in nope]):.2f}" in page
    for label in ("t5", "alibi", "fire"):
        assert all(errors.first_step(rows) is None for rows in cells[few][label]["seeds"].values())
    steps = {
        label: sorted(map(errors.first_step, cells[few][label]["seeds"].values())) for label in ("rope", "sinusoidal")
    }
    assert (
        "{:.0f} to {:.0f} steps against {:.0f} to {:.0f}".format(*(s[i] for s in steps.values() for i in (0, -1)))
        in page
    )
    assert not errors.tests(cells)
    assert errors.NOTHING in page
