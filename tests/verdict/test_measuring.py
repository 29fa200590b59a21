"""Every seed at every learning rate; of each the score at the rate that its own validation prefers."""

import json
import math

import jax
import pytest
import sealed_files
from trained_runs import copy_of_the_run

from posenc_jax.encodings import parse
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict import measuring
from posenc_jax.verdict.cells import environments_of
from posenc_jax.verdict.measuring import measure
from posenc_jax.verdict.tables import SEEDS, tables

TABLES = tables()

TABLE = TABLES["copy"]


def replica(cell, seed, rate, *, validation, score, diverged_at=None):
    return {
        "seed": seed,
        "learning_rate": rate,
        "diverged_at": diverged_at,
        "validation": {cell.task.validation_metric: validation},
        "evaluation": [{"length": n, "exact_match": score(seed, n)} for n in cell.evaluation.lengths],
    }


LOW, HIGH = TABLE.run.learning_rates


@pytest.fixture
def asked(monkeypatch):
    """The runs that are asked for. Validation prefers the low rate for seeds 0 and 2 and the high one for the others;
    scores at the high rate are 0.001 higher. Seed 6 diverges at both, seed 7 at the high one.
    """
    found = []

    def run(cell, place, **_):
        found.append((cell, place))

        def score(seed, length, rate):
            if seed == 5 and length == 16:
                return math.nan
            return seed / 10 + (length > 8) * 0.01 * length + (rate == HIGH) * 0.001

        replicas = [
            replica(
                cell,
                seed,
                rate,
                validation=0.9 if (rate == LOW) == (seed in (0, 2)) else 0.8,
                score=lambda seed, length, rate=rate: score(seed, length, rate),
                diverged_at=40 if seed == 6 or (seed == 7 and rate == HIGH) else None,
            )
            for seed, rate in [*cell.replicas, (99, LOW)]  # 99: of another verdict
        ]
        return [{"replicas": replicas, "num_parameters": 7, "num_posenc_parameters": 2}]

    monkeypatch.setattr(measuring, "run", run)
    monkeypatch.setattr(measuring, "other_scores", lambda *_, **__: ({}, 0.0))
    return found


def test_each_seed_has_the_learning_rate_of_its_own_validation(asked, tmp_path):
    """So that seeds are independent repeats of the choice, and an encoding is not better than itself by its luck."""
    found = measure(TABLE, parse("rope"), "rope", tmp_path, seeds=(0, 1, 2, 7), reporter=Reporter())
    ((cell, place),) = asked
    assert sorted(cell.replicas) == sorted((seed, rate) for rate in (LOW, HIGH) for seed in (0, 1, 2, 7))
    assert place.parent == tmp_path / "copy"
    assert found.learning_rates == {0: LOW, 1: HIGH, 2: LOW, 7: LOW}, "7 diverged at the rate it would prefer"
    assert found.tried[HIGH] == {0: 0.8, 1: 0.9, 2: 0.8, 7: None}
    assert found.scores == {
        0: pytest.approx(0.125),
        1: pytest.approx(0.226),
        2: pytest.approx(0.325),
        7: pytest.approx(0.825),
    }
    assert found.diverged == ()


def test_scores_are_means_over_unseen_lengths_of_the_seeds_asked_for(asked, tmp_path):
    found = measure(TABLE, parse("rope"), "rope", tmp_path, seeds=(0, 1, 5, 6), reporter=Reporter())
    assert TABLE.asked.score_lengths == (9, 10, 11, 12, 13, 14, 15, 16)
    assert found.scores == {0: pytest.approx(0.125), 1: pytest.approx(0.226)}, "5 has no finite score, 6 diverged"
    assert found.in_range == {0: 0.0, 1: pytest.approx(0.101), 5: pytest.approx(0.501)}
    assert found.diverged == (6,)
    assert found.by_length[16].keys() == {0, 1}
    assert (found.num_parameters, found.num_posenc_parameters, found.milliseconds_per_step) == (7, 2, None)


def test_changed_code_of_ones_own_has_another_folder(asked, tmp_path, monkeypatch):
    code = {"mine.py:Mine": "1"}
    monkeypatch.setattr(measuring, "digests", lambda cell: dict(code))
    places = []
    for digest in "121":
        code["mine.py:Mine"] = digest
        measure(TABLE, parse("rope"), "mine", tmp_path, seeds=(0, 1), reporter=Reporter())
        places.append(asked[-1][1])
    assert places[0] == places[2] != places[1]


def test_every_table_is_ready_to_run():
    for name, table in TABLES.items():
        full = table.at_full_size
        assert full.run == table.full != table.run
        assert (full.asked.metric, type(full.run.task)) == (table.asked.metric, type(table.run.task))
        for run in (table.run, full.run):
            assert run.table == table.name == name
            assert run.posenc == ()
            assert run.seeds == SEEDS
            assert len(run.learning_rates) > 1
        assert table.asked.score_lengths
        assert bool(table.asked.score_lengths == table.run.evaluation.lengths) == bool(
            full.asked.score_lengths == full.run.evaluation.lengths
        ), "both sizes ask within the training lengths, or both beyond them"
        assert table.source
        assert table.question
        json.dumps([table.asked.metric, table.asked.kind.title])
    assert sum(table.quick for table in TABLES.values()) >= 2


def test_where_runs_were_made_is_read_from_them(tmp_path):
    """Whoever makes a card: by its beginning, and by every other environment in which it went on."""
    place = copy_of_the_run(tmp_path / "run")
    path = place / "group-000" / "environment.json"
    sealed_files.rewrite(path, lambda record: record["began"].update(commit="a" * 40))
    (where,) = environments_of([place / "group-000"], measuring.RECORDED)
    assert (where["commit"], where["jax"]) == ("a" * 40, jax.__version__)
    sealed_files.rewrite(path, lambda record: record.update(resumed=[{**record["began"], "commit": "b" * 40}]))
    assert [own["commit"][0] for own in environments_of([place / "group-000"], measuring.RECORDED)] == ["a", "b"]
