"""The experiment on wrong positions and wrong tokens: it can be read on the way, and says what it expects."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import sealed_files

from experiments.position_or_token import errors
from experiments.position_or_token.small import ENCODINGS, FEW, MANY, config
from posenc_jax import ablate
from posenc_jax.config import config_hash
from posenc_jax.drawing.markdown import refilled
from posenc_jax.runs.errors import RefusedError
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


def planted(*seeds):
    """Cells of one encoding: for each seed its rows of step, accuracy, position_error, token_error."""
    return {"config": "", "environment": {}, "seeds": {str(i): rows for i, rows in enumerate(seeds)}}


def test_an_encoding_is_read_where_its_accuracy_is_nearest_to_a_half():
    rows = [[75, 0.1, 0.8, 0.1], [150, 0.3, 0.6, 0.1], [225, 0.6, 0.3, 0.1], [300, 0.9, 0.1, 0.0]]
    assert errors.read_at(rows)[0] == 225
    assert errors.first_step(rows) == 225
    assert errors.part(rows[2]) == pytest.approx(0.75)
    jumps = [rows[0], rows[3]]  # from below 0.2 to above 0.8 between two checkpoints
    assert errors.read_at(jumps) is None
    assert errors.first_step(jumps) == 300
    assert errors.first_step(rows[:1]) is None


def test_only_encodings_that_are_read_in_all_seeds_are_tested():
    few, many = f"{FEW} symbols", f"{MANY} symbols"
    middle, lower, never = ([[75, 0.5, p, 1 - p - 0.5]] for p in (0.45, 0.25, 0.5))
    never[0][1] = 0.1
    cells = {
        few: {"rope": planted(middle, middle), "nope": planted(middle, never), "t5": planted(middle, middle)},
        many: {"rope": planted(lower, middle), "nope": planted(middle, middle), "t5": planted(middle, never)},
    }
    tested = errors.tests(cells)
    assert list(tested) == [
        "1. rope: part with 64 symbols, minus 0.8",
        "2. rope: part with 512 symbols, minus that with 64",
        "1. t5: part with 64 symbols, minus 0.8",
    ]
    assert tested["1. rope: part with 64 symbols, minus 0.8"].mean == pytest.approx(0.1)
    assert tested["2. rope: part with 512 symbols, minus that with 64"].mean == pytest.approx(-0.2)
    table = errors.by_encoding(cells, few)
    assert "| nope | 1 of 2 | 0.50 to 0.50 | 0.900 | 75 (1 never) |" in table
    assert "p, Holm" in errors.section(cells)


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


def test_scores_that_are_missing_are_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(errors, "group_directories", lambda *_: [tmp_path])
    sealed_files.write(tmp_path / "environment.json", {"began": {}})
    assert errors.main([str(tmp_path)]) == 2
    assert "--steps 75 150 225" in capsys.readouterr().err


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


def test_only_whole_scores_with_the_trained_encoding_are_taken(tmp_path):
    run = dataclasses.replace(config.runs[0], seeds=(4, 5))
    steps = list(range(75, 601, 75))
    rows = [
        {"seed": seed, "step": step, "accuracy": 0.5, "position_error": 0.3, "token_error": 0.2}
        for seed in run.seeds
        for step in steps
    ]
    (tmp_path / "evaluations").mkdir()
    asked = {"steps": steps, "lengths": [32]}
    other, own, part = (
        {**asked, "posenc": name, "rows": of}
        for name, of in zip(("nope", "sinusoidal", "sinusoidal"), (rows, rows, rows[:-1]))
    )
    for kept, taken in (([other], False), ([part], False), ([other, own], True)):
        for number, one in enumerate(kept):
            sealed_files.write(tmp_path / "evaluations" / f"{number}.json", one)
        if taken:
            assert errors._scores(tmp_path, run)["5"] == [[step, 0.5, 0.3, 0.2] for step in steps]
        else:
            with pytest.raises(RefusedError, match="lacks scores of its checkpoints"):
                errors._scores(tmp_path, run)
