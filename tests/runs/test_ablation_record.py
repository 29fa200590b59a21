"""What an ablation says of itself: the fields in which its cells differ, progress, and its results as a value."""

from __future__ import annotations

import dataclasses

import pytest
import sealed_files
from trained_runs import CONFIG, copy_of_the_run

from posenc_jax import Ablation, AblationResult, ablate, parse
from posenc_jax.runs.ablation_record import varying_fields
from posenc_jax.runs.errors import RefusedError


def test_rows_have_the_fields_in_which_the_cells_differ():
    wider = dataclasses.replace(CONFIG.model, d_model=24)
    cells = (
        CONFIG,
        dataclasses.replace(CONFIG, posenc=parse("alibi"), label="alibi"),
        dataclasses.replace(CONFIG, model=wider, label="wide", seeds=(7,), learning_rates=(1.0,), note="a note"),
    )
    assert varying_fields(Ablation("a", cells)) == [
        {"model.d_model": 16, "posenc": "rope|learned"},
        {"model.d_model": 16, "posenc": "alibi"},
        {"model.d_model": 24, "posenc": "rope|learned"},
    ]
    assert varying_fields(Ablation("a", (CONFIG,))) == [{}]


def test_an_ablation_without_lengths_is_refused_before_it_trains(tmp_path):
    cell = dataclasses.replace(CONFIG, evaluation=type(CONFIG.evaluation)())
    with pytest.raises(RefusedError, match=r"evaluation\.lengths is empty, .* give one at least"):
        ablate(Ablation("a", (cell,)), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_from_python_it_is_silent_and_gives_its_results(tmp_path, capsys):
    cell = dataclasses.replace(CONFIG, label="both")
    config = Ablation("a", (cell, dataclasses.replace(cell, label="same")), baseline="both")
    for run in config.runs:
        place = copy_of_the_run(tmp_path / "a" / run.directory_name)
        for path in (place / "config.json", place / "group-000" / "config.json"):
            sealed_files.rewrite(path, lambda data: data["config"].update(label=run.label))  # noqa: B023
    result = ablate(config, tmp_path / "a")
    assert isinstance(result, AblationResult)
    assert capsys.readouterr().err == ""
    assert result.directory == tmp_path / "a"
    assert {(row["label"], row["seed"], row["length"]) for row in result.rows} == {
        (label, seed, length) for label in ("both", "same") for seed in (0, 1) for length in (2, 3, 5)
    }
    assert {row["range"] for row in result.rows} == {"within", "beyond"}
    assert [row["mean"] for row in result.differences] == [0.0] * len(result.differences)
    assert {row["label"] for row in result.differences} == {"same"}
    for rows in (result.rows, result.means, result.differences):
        assert rows
        assert all(not isinstance(value, dict | list) for row in rows for value in row.values()), "flat, as tables are"


@pytest.mark.parametrize(("steps", "asked", "log", "at_once"), [(60, 50, 50, 10), (1000, 50, 50, 50), (7, 50, 7, 7)])
def test_steps_per_call_is_a_bound(steps, asked, log, at_once):
    training = dataclasses.replace(
        CONFIG.training, steps=steps, steps_per_call=asked, log_every=log, checkpoint_every=0, validate_every=0
    )
    assert training.steps_at_once == at_once
