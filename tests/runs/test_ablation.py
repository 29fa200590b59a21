"""An ablation's directory: rows of all cells, what may change between two calls, one broken cell among others."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest
import sealed_files
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax import AblationResult
from posenc_jax.config import Ablation, config_hash
from posenc_jax.encodings import SCALINGS, parse
from posenc_jax.runs import ablation as ablation_module
from posenc_jax.runs import ablation_record
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.ablation_record import varying_fields
from posenc_jax.runs.errors import FailedCellsError, RefusedError, StoppedError

# A second cell, with the programs of the first; it is only trained where a test says so.
OTHER = dataclasses.replace(CONFIG, label="other")
ABLATION = Ablation("tiny", (CONFIG,), baseline="rope|learned")


@pytest.fixture
def directory(tmp_path):
    """An ablation whose one cell is trained and measured, and no more."""
    copy_of_the_run(tmp_path / "ablation" / CONFIG.directory_name)
    return tmp_path / "ablation"


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    directory = tmp_path_factory.mktemp("reported") / "ablation"
    copy_of_the_run(directory / CONFIG.directory_name)
    return ablate(ABLATION, directory).directory


@pytest.fixture
def finished(reported, tmp_path):
    return shutil.copytree(reported, tmp_path / "finished")


def rows(directory):
    return [json.loads(line) for line in (directory / "results.jsonl").read_text().splitlines()]


def test_results_have_a_row_for_every_replica_and_length(finished):
    found = rows(finished)
    assert [(row["seed"], row["length"]) for row in found] == [(s, n) for s in (0, 1) for n in (2, 3, 5)]
    result = json.loads((finished / CONFIG.directory_name / "group-000" / "result.json").read_text())
    for row in found:
        replica = result["replicas"][row["seed"]]
        scores = next(scores for scores in replica["evaluation"] if scores["length"] == row["length"])
        assert {name: row[name] for name in scores} == scores
        assert row["validation"] == replica["validation"]["exact_match"]
        assert row["range"] == ("within" if row["length"] <= 3 else "beyond")
        assert (row["label"], row["task_label"], row["config_hash"]) == ("rope|learned", "cmc", config_hash(CONFIG))
        assert (row["mode"], row["group_size"], row["diverged_at"]) == ("map", 2, None)
    record = json.loads((finished / "ablation.json").read_text())
    assert record["train_lengths"] == {"cmc": [1, 3]}
    assert record["metric"] == {"cmc": "exact_match"}
    (cell,) = record["cells"]
    assert cell["bit_exact"] is True
    assert cell["directory"] == CONFIG.directory_name
    assert (finished / cell["directory"] / "group-000").is_dir()
    assert len(cell["citations"]) == 3
    assert cell["citations"][-1] == CONFIG.task.citation


def test_what_stands_in_a_field_is_cited_after_what_it_stands_in():
    (rope,) = parse("rope(scaling=resonance(inner=yarn(factor=8, original_length=512)))")
    expected = [rope.citation, SCALINGS["resonance"].citation, SCALINGS["yarn"].citation]
    assert ablation_record._citations(rope) == expected


def test_a_finished_ablation_is_left_alone_and_says_so(finished):
    before = contents(finished)
    reporter = Notes()
    ablate(ABLATION, finished, reporter=reporter)
    assert reporter.notes == [f"{finished} is already complete: nothing to do"]
    assert contents(finished) == before


def test_fewer_seeds_give_fewer_rows_and_more_come_back(finished):
    whole = (finished / "results.jsonl").read_bytes()
    fewer = dataclasses.replace(ABLATION, runs=(dataclasses.replace(CONFIG, seeds=(1,)),))
    ablate(fewer, finished)
    assert [row["seed"] for row in rows(finished)] == [1, 1, 1]
    ablate(ABLATION, finished)
    assert (finished / "results.jsonl").read_bytes() == whole


def test_other_settings_of_a_cell_are_refused_by_field(finished):
    before = contents(finished)
    changed = dataclasses.replace(CONFIG, training=dataclasses.replace(CONFIG.training, batch_size=8))
    with pytest.raises(RefusedError) as error:
        ablate(dataclasses.replace(ABLATION, runs=(changed,)), finished)
    assert "holds an ablation with other settings; choose another directory" in str(error.value)
    assert "[cmc rope|learned].training.batch_size: 4 -> 8" in str(error.value)
    assert contents(finished) == before


def test_a_broken_cell_costs_only_itself(directory, monkeypatch):
    """The first cell fails, the second is complete: its rows are there, and the error names the first."""
    fails = True
    original = ablation_module.run

    def run(config, *arguments, **keywords):
        if fails and config == OTHER:
            raise RuntimeError("out of memory")
        return original(config, *arguments, **keywords)

    monkeypatch.setattr(ablation_module, "run", run)
    both = dataclasses.replace(ABLATION, runs=(OTHER, CONFIG))
    with pytest.raises(FailedCellsError) as error:
        ablate(both, directory)
    assert "1 of 2 cells failed (run the same command again to repeat only them)" in str(error.value)
    assert "cmc other: RuntimeError: out of memory" in str(error.value)
    assert {row["label"] for row in rows(directory)} == {"rope|learned"}
    before = contents(directory / CONFIG.directory_name)
    fails = False
    ablate(both, directory)
    assert [row["label"] for row in rows(directory)] == ["other"] * 6 + ["rope|learned"] * 6
    assert contents(directory / CONFIG.directory_name) == before
    # The cell may be left out again, and comes back without being trained.
    ablate(ABLATION, directory)
    assert len(rows(directory)) == 6
    monkeypatch.setattr(ablation_module, "run", None)
    ablate(both, directory)
    assert len(rows(directory)) == 12


def test_a_signal_ends_the_ablation_and_not_only_the_cell(directory):
    both = Ablation("two", (OTHER, dataclasses.replace(OTHER, label="again")))
    with pytest.raises(StoppedError, match="stopped at step 5 of 20, saved in"):
        ablate(both, directory, stop=lambda: 15)
    assert (directory / both.runs[0].directory_name / "group-000" / "checkpoints" / "5").is_dir()
    assert not (directory / both.runs[1].directory_name).exists()


# What an ablation says of itself: the fields in which its cells differ, progress, and its results as a value.


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
