"""The experiment on wrong positions and wrong tokens: it can be read on the way, and says what it expects."""

import dataclasses
import json
from pathlib import Path

import pytest

from experiments.position_or_token.small import ENCODINGS, FEW, MANY, config
from posenc_jax import ablate
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
