"""The best checkpoint and the best temperature of models that are really trained."""

import dataclasses
import json

import pytest
import sealed_files
from trained_runs import CONFIG, copy_of_the_run

from posenc_jax.config import Evaluation, Execution, Run, Training
from posenc_jax.data.tasks import EvenPairs
from posenc_jax.encodings import Temperature, parse
from posenc_jax.models.config import Transformer
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import read_stored
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.groups import plan
from posenc_jax.runs.identity import claim
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict import other_scores as module
from posenc_jax.verdict.other_scores import WAYS, other_scores
from posenc_jax.verdict.tables import CHECKPOINTS, Table, tables

TABLES = tables()

SMALL = Run(
    table="even_pairs",
    task=EvenPairs(max_length=3),
    model=Transformer(d_model=16, num_layers=2, num_heads=2),
    training=Training(steps=40, batch_size=8, steps_per_call=10, log_every=10, validation_batches=1),
    evaluation=Evaluation(lengths=(3, 4, 5), num_examples=64),
    execution=Execution(mode="map", group_size=2),
    seeds=(0, 1, 2),
    learning_rates=(3e-3,),
)
TABLE = Table("even_pairs", "a question", "a source", run=SMALL, full=SMALL)


def test_every_run_of_a_table_keeps_its_checkpoints():
    for table in TABLES.values():
        for size in (table, table.at_full_size):
            assert len(size.steps_kept) == CHECKPOINTS
            assert size.steps_kept[-1] == size.run.training.steps
            training = size.cell((), "nope", (0,)).training
            assert training.keep_every == size.steps_kept[0]
            assert dataclasses.replace(training, checkpoint_every=0, keep_every=0) == size.run.training


def test_what_a_stopped_verdict_of_more_seeds_left_is_passed_over(tmp_path, monkeypatch):
    """`posenc verdict --quick` was stopped; then fewer seeds are asked for."""
    place, more = copy_of_the_run(tmp_path / "run"), dataclasses.replace(CONFIG, seeds=(0, 1, 2, 3))
    claim(place, more)
    plan(read_stored(place), more, 2)
    claim(place, CONFIG)
    table = dataclasses.replace(TABLE, run=CONFIG)
    rows = [
        {"step": step, "seed": seed, "learning_rate": 1e-2, "length": length, table.asked.metric: 0.25}
        for step in table.steps_kept
        for seed in CONFIG.seeds
        for length in table.asked.score_lengths
    ]
    monkeypatch.setattr(module, "Engine", lambda *_: None)
    monkeypatch.setattr(module, "measure", lambda *_: (rows, []))
    final, chosen = {0: 0.5, 1: 0.125}, dict.fromkeys((0, 1), 1e-2)
    found, _ = other_scores(table, CONFIG, place, chosen, final, reporter=Reporter())
    assert found == {way: {0: 0.5, 1: 0.25} for way in WAYS}
    other_scores(table, CONFIG, place, {0: 1e-2, 1: 1e-3}, final, reporter=Reporter())
    monkeypatch.setattr(module, "measure", None)
    again = other_scores(table, CONFIG, place, chosen, final, reporter=Reporter())
    assert again[0] == found, "a wider grid that chose otherwise for a while does not cost a second measurement"


@pytest.mark.parametrize("text", [pytest.param("alibi", marks=pytest.mark.slow), "alibi / nope"])
def test_each_seed_has_the_best_of_what_evaluate_says(tmp_path, monkeypatch, text):
    monkeypatch.setattr(module, "TEMPERATURES", (0.5, 1.2))
    cell = TABLE.cell(parse(text), "mine", (0, 1, 2))
    place = tmp_path / "run"
    run(cell, place, reporter=Reporter())
    rows = {"final": evaluate(place, (4, 5))[1]}
    for row in evaluate(place, (4, 5), steps=(10, 20, 30))[1]:
        rows.setdefault(f"step {row['step']}", []).append(row)
    for value in (0.5, 1.2):
        last = (Temperature(value),)
        slot = parse(text)
        colder = (slot[0] + last, slot[1] + last) if "/" in text else slot + last
        rows[f"temperature {value}"] = evaluate(place, (4, 5), colder)[1]
    scores = {
        name: {seed: sum(row["accuracy"] for row in found if row["seed"] == seed) / 2 for seed in (0, 1, 2)}
        for name, found in rows.items()
    }
    assert len({tuple(found.values()) for found in scores.values()}) > 3, "all the same: nothing is shown"
    chosen = dict.fromkeys((0, 1, 2), 3e-3)
    found, seconds = other_scores(
        TABLE, cell, place, chosen, scores["final"], reporter=Reporter(), clock=iter((3.0, 5.5)).__next__
    )
    assert seconds == 2.5
    assert tuple(found) == WAYS
    for way, word in zip(WAYS, ("step", "temperature"), strict=True):
        for seed in (0, 1, 2):
            wanted = max(own[seed] for name, own in scores.items() if name == "final" or name.startswith(word))
            assert found[way][seed] == pytest.approx(wanted)

    def unexpected(*_):
        raise AssertionError("what is measured is not measured again")

    monkeypatch.setattr(module, "measure", unexpected)
    assert other_scores(TABLE, cell, place, chosen, scores["final"], reporter=Reporter()) == (found, seconds)
    only = {1: scores["final"][1]}
    of_one = {way: {1: found[way][1]} for way in WAYS}
    assert other_scores(TABLE, cell, place, chosen, only, reporter=Reporter()) == (of_one, seconds)
    with pytest.raises(AssertionError, match="not measured again"):  # another rate is another model
        other_scores(TABLE, cell, place, {1: 1e-3}, only, reporter=Reporter())
    (result,) = (
        file
        for file in place.glob("group-*/result.json")
        if 1 in [own["seed"] for own in sealed_files.read(file)["replicas"]]
    )
    before = result.read_bytes()
    sealed_files.rewrite(result, lambda found: [own.update(parameters_sha256="0" * 64) for own in found["replicas"]])
    with pytest.raises(AssertionError, match="not measured again"):  # trained anew, it is another model too
        other_scores(TABLE, cell, place, chosen, only, reporter=Reporter())
    result.write_bytes(before)
    kept = place / "evaluations" / "verdict.json"
    assert json.loads(kept.read_text())["question"]["lengths"] == [4, 5]
    with pytest.raises(AssertionError, match="not measured again"):
        other_scores(
            dataclasses.replace(TABLE, run=dataclasses.replace(SMALL, evaluation=Evaluation(lengths=(3, 4)))),
            cell,
            place,
            chosen,
            only,
            reporter=Reporter(),
        )
