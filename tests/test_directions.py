"""What became of directions, and how far a table is."""

import dataclasses

import pytest

from experiments.tables.folders import Direction, Folder
from experiments.tables.judging import check_directions, held
from experiments.tables.page import text_tables
from experiments.tables.results import Results, Selection, TaskFacts, read_results, save_results, state
from posenc_jax.config import Ablation, Run, config_hash
from posenc_jax.data.tasks import Copying
from posenc_jax.results.record import ReplicaScores
from posenc_jax.verdict.cells import JudgedCell

NOISE = (0.0, 0.02, -0.01, 0.01)
ARMS = {"a": 0.9, "b": 0.6}
RANGES = {2: "within", 4: "beyond", 6: "beyond"}
TASKS = {"rsc": TaskFacts("exact_match", 0.5, RANGES), "text": TaskFacts("perplexity", None, {8: "beyond"})}
RUN = Run(task=Copying(), label="a", table="rsc", seeds=(0, 1, 2, 3))


def cell(table, label, by_length, metric="exact_match", **changes):
    scores = {metric: {n: dict(enumerate(values)) for n, values in by_length.items()}}
    own = JudgedCell(
        table=table,
        label=label,
        spec=label,
        config=config_hash(RUN),
        seeds=(0, 1, 2, 3),
        learning_rates=dict.fromkeys(range(4), 1e-3),
        tried={1e-3: {}},
        diverged=(),
        by_metric=scores,
        num_parameters=100,
        num_posenc_parameters=1,
        seconds=60.0,
    )
    return dataclasses.replace(own, **changes)


def level(mean, noise=NOISE):
    return [mean + own for own in noise]


def ours(*cells):
    machine = {"platform": "cpu", "device_count": 2, **dict.fromkeys(("cpu", "jax", "flax", "python"), "x")}
    return Results(TASKS, cells, ({"version": "0.1.0"},), machine)


def folder(tmp_path, *directions):
    return Folder(tmp_path, "t", "s", "e", (), "r", directions)


def outcomes(tmp_path, found, *directions):
    return [own.outcome for own in check_directions(folder(tmp_path, *directions), found)]


def direction(better, worse, table="rsc", **selection):
    return Direction(Selection(table, **selection), better, worse, "")


def test_scores_are_means_over_the_lengths_of_a_place():
    found = ours(cell("rsc", "a", {2: [1.0, 1.0], 4: [0.5, 0.7], 6: [0.3]}))
    assert found.scores(Selection("rsc"), "a") == {0: pytest.approx(0.4)}, "seed 1 lacks a length"
    assert found.scores(Selection("rsc", where="within"), "a") == {0: 1.0, 1: 1.0}
    assert found.scores(Selection("rsc", where=4), "a") == {0: 0.5, 1: 0.7}
    assert found.scores(Selection("rsc", where=5), "a") == {}
    assert found.scores(Selection("rsc"), "b") == found.scores(Selection("gone"), "a") == {}
    assert found.scores(Selection("rsc", "accuracy"), "a") == {}


def test_outcomes(tmp_path):
    found = ours(
        cell("rsc", "high", {4: level(0.9), 6: level(0.9)}),
        cell("rsc", "low", {4: level(0.6, NOISE[::-1]), 6: level(0.6, NOISE[::-1])}),
        cell("rsc", "also low", {4: level(0.6), 6: level(0.6)}),
        cell("rsc", "chance", {4: level(0.5, (0, 0.001, 0, 0)), 6: level(0.5, (0, 0, 0.001, 0))}),
        cell("rsc", "chance too", {4: level(0.5, (0, 0.0, 0, 0.001)), 6: level(0.5, (0, 0, 0.001, 0))}),
    )
    wanted = [
        direction("high", "low"),
        direction("low", "high"),
        direction("low", "also low"),
        direction("chance", "chance too"),
        direction("high", "gone"),
    ]
    assert outcomes(tmp_path, found, *wanted) == [
        *("held", "opposite", "no difference seen", "not measurable here", "not run")
    ]
    assert held(check_directions(folder(tmp_path, *wanted), found)) == "1 of 4"
    alike = [dataclasses.replace(own, alike=True) for own in wanted]
    assert outcomes(tmp_path, found, *alike) == ["opposite", "opposite", "held", "not measurable here", "not run"]
    _, written = text_tables(folder(tmp_path, alike[2]), found)
    assert written.entries[0][1] == "low like also low"
    assert any(note.startswith("like: held if no difference is seen, which does not") for note in written.notes)
    nothing = ours()
    assert outcomes(tmp_path, nothing, *wanted) == ["not run"] * 5
    assert held(check_directions(folder(tmp_path, *wanted), nothing)) == "-"


def test_less_is_better_of_perplexities(tmp_path):
    found = ours(
        cell("text", "flat", {8: [10.0, 11.0, 10.5, 10.2]}, "perplexity"),
        cell("text", "steep", {8: [40.0, 43.0, 42.0, 41.0]}, "perplexity"),
    )
    wanted = direction("flat", "steep", "text"), direction("steep", "flat", "text")
    assert outcomes(tmp_path, found, *wanted) == ["held", "opposite"]
    (_, directions) = text_tables(folder(tmp_path, *wanted), found)
    assert directions.entries[0][3].startswith("×0.25")


def notes(tmp_path, found, *wanted):
    """Below what was expected."""
    return text_tables(folder(tmp_path, *wanted), found)[1].notes


def replica(seed, rate, validation, score, diverged_at=None):
    scores = {} if diverged_at else {"exact_match": {4: score}}
    return ReplicaScores(seed, rate, validation, not diverged_at, every_score=scores, diverged_at=diverged_at)


def of(replicas, rates):
    given = {field.name: getattr(cell("rsc", "a", {}), field.name) for field in dataclasses.fields(JudgedCell)}
    told = ("seeds", "learning_rates", "tried", "losses", "diverged", "by_metric")
    others = {name: value for name, value in given.items() if name not in told}
    return JudgedCell.of(replicas, seeds=(0, 1, 2, 3), rates=rates, metrics=("exact_match",), **others)


def test_every_seed_has_the_learning_rate_of_its_own_validation():
    """Of a published table as of a verdict: with one rate for all seeds the luck of the choice is in no interval."""
    found = of(
        [
            *(replica(0, 1e-3, 0.9, 0.1), replica(0, 2e-3, 0.8, 0.2)),
            *(replica(1, 1e-3, 0.7, 0.3), replica(1, 2e-3, 0.8, 0.4)),
            *(replica(2, 1e-3, None, 0, diverged_at=5), replica(2, 2e-3, 0.1, 0.5)),
            *(replica(3, 1e-3, None, 0, diverged_at=5), replica(3, 2e-3, None, 0, diverged_at=5)),
            *(replica(4, 1e-3, 0.9, 0.6), replica(0, 5e-3, 0.99, 0.7)),  # nobody asks for them
        ],
        rates=(1e-3, 2e-3),
    )
    assert found.learning_rates == {0: 1e-3, 1: 2e-3, 2: 2e-3}
    assert found.by_metric == {"exact_match": {4: {0: 0.1, 1: 0.4, 2: 0.5}}}
    assert found.diverged == (3,)
    assert found.tried[1e-3] == {0: 0.9, 1: 0.7, 2: None, 3: None}


def test_a_single_learning_rate_needs_no_validation():
    found = of([replica(0, 1e-3, None, 0.1), replica(1, 1e-3, None, 0, diverged_at=3)], rates=(1e-3,))
    assert (found.learning_rates, found.diverged) == ({0: 1e-3}, (1,))
    assert found.by_metric == {"exact_match": {4: {0: 0.1}}}


def test_all_directions_are_corrected_together(tmp_path):
    noisy = (0.00, 0.10, -0.02, 0.05)
    found = ours(
        cell("rsc", "a", {4: level(0.75, noisy), 6: level(0.75, noisy)}),
        cell("rsc", "b", {4: level(0.65, (0, 0, 0, 0.001)), 6: level(0.65, (0, 0, 0, 0.001))}),
        cell("rsc", "c", {4: level(0.65), 6: level(0.65)}),
    )
    one = check_directions(folder(tmp_path, direction("a", "b")), found)
    assert one[0].judged.p == one[0].judged.comparison.p < 0.05
    assert one[0].outcome == "held"
    many = check_directions(folder(tmp_path, direction("a", "b"), *[direction("b", "c")] * 3), found)
    assert many[0].judged.p == pytest.approx(4 * one[0].judged.p)
    assert many[0].outcome == "no difference seen"


def test_results_are_read_as_written(tmp_path):
    found = ours(cell("rsc", "a", {2: [1.0, 0.9], 4: [0.5, 0.7]}, diverged=(3,)))
    save_results(found, tmp_path / "results.json")
    assert read_results(tmp_path / "results.json") == found
    assert read_results(tmp_path / "none.json") is None
    text = (tmp_path / "results.json").read_text()
    (tmp_path / "results.json").write_text(text.replace("0.7", "0.8"))
    with pytest.raises(ValueError, match="is damaged"):
        read_results(tmp_path / "results.json")


def test_how_far_a_table_is():
    length = RUN.task.train_lengths[-1]
    run = dataclasses.replace(RUN, evaluation=dataclasses.replace(RUN.evaluation, lengths=(length,)))
    config = Ablation("t", (run, dataclasses.replace(run, label="b")))
    whole = {length: [0.1, 0.2, 0.3]}
    first = cell("rsc", "a", whole, diverged=(3,), config=config_hash(run))
    assert state(ours(), config) == "partial, 0 of 8 runs"
    assert state(ours(first), config) == "partial, 4 of 8 runs"
    assert state(ours(first, dataclasses.replace(first, label="b")), config) == "done"
    assert (
        state(ours(first, dataclasses.replace(first, label="b", seeds=(0, 1), diverged=())), config)
        == "partial, 7 of 8 runs"
    )
    longer = dataclasses.replace(run, evaluation=dataclasses.replace(run.evaluation, lengths=(4, 21)))
    measured = cell("rsc", "a", {4: [0.1] * 4}, config=config_hash(longer))
    assert state(ours(measured), Ablation("t", (longer,))) == "done", "no example of the last length"
    other = dataclasses.replace(first, label="b", config="00000000")
    assert state(ours(first, other), config) == "of other settings: rsc b"
