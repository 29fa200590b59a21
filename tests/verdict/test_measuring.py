"""Learning rates by seeds of their own; scores of the seeds that are compared."""

import json
import math

import jax
import pytest
import sealed_files
from trained_runs import copy_of_the_run

from posenc_jax.encodings import parse
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict import measuring
from posenc_jax.verdict.measuring import measure
from posenc_jax.verdict.tables import CHOOSING_SEEDS, SEEDS, TABLES

TABLE = TABLES["copy"]


def replica(cell, seed, rate, *, validation, score, diverged_at=None):
    return {
        "seed": seed,
        "learning_rate": rate,
        "diverged_at": diverged_at,
        "validation": {cell.task.validation_metric: validation},
        "evaluation": [{"length": n, "exact_match": score(seed, n)} for n in cell.evaluation.lengths],
    }


@pytest.fixture
def asked(monkeypatch):
    """The runs that are asked for; in validation the middle rate is best."""
    found = []

    def run(cell, place, **_):
        found.append((cell, place))
        validation = dict(zip(TABLE.run.learning_rates, (0.5, 0.9, 0.7), strict=True))

        def score(seed, length):
            if seed == 5 and length == 16:
                return math.nan
            return seed / 10 + (length > 8) * 0.01 * length

        replicas = [
            replica(
                cell,
                seed,
                rate,
                validation=validation[rate],
                score=score,
                diverged_at=40 if seed == 6 or (seed == 1001 and rate == 2e-3) else None,
            )
            for seed, rate in [*cell.replicas, (99, 1e-3)]  # 99: of another verdict
        ]
        return [{"replicas": replicas, "num_parameters": 7, "num_posenc_parameters": 2}]

    monkeypatch.setattr(measuring, "run", run)
    monkeypatch.setattr(measuring, "otherwise", lambda *_, **__: {})
    return found


def test_rates_are_chosen_on_seeds_that_are_not_compared(asked, tmp_path):
    found = measure(TABLE, parse("rope"), "rope", tmp_path, seeds=(0, 1), reporter=Reporter())
    (choosing, place), (compared, again) = asked
    assert choosing.replicas == tuple((seed, rate) for rate in TABLE.run.learning_rates for seed in CHOOSING_SEEDS)
    assert compared.replicas == ((0, 1e-3), (1, 1e-3))
    assert not set(CHOOSING_SEEDS) & set(SEEDS)
    assert place == again
    assert place.parent == tmp_path / "copy"
    assert found.learning_rate == 1e-3
    assert found.tried == {5e-4: {1000: 0.5, 1001: 0.5}, 1e-3: {1000: 0.9, 1001: 0.9}, 2e-3: {1000: 0.7, 1001: None}}


def test_scores_are_means_over_unseen_lengths_of_the_seeds_asked_for(asked, tmp_path):
    found = measure(TABLE, parse("rope"), "rope", tmp_path, seeds=(0, 1, 5, 6), reporter=Reporter())
    assert TABLE.score_lengths == (9, 10, 11, 12, 13, 14, 15, 16)
    assert found.scores == {0: pytest.approx(0.125), 1: pytest.approx(0.225)}, "5 has no finite score, 6 diverged"
    assert found.in_range == {0: 0.0, 1: pytest.approx(0.1), 5: pytest.approx(0.5)}
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
        assert (full.metric, type(full.run.task)) == (table.metric, type(table.run.task))
        for run in (table.run, full.run):
            assert run.table == table.name == name
            assert run.posenc == ()
            assert run.seeds == SEEDS
            assert len(run.learning_rates) == 3
        assert table.score_lengths
        assert bool(table.score_lengths == table.run.evaluation.lengths) == bool(
            full.score_lengths == full.run.evaluation.lengths
        ), "both sizes ask within the training lengths, or both beyond them"
        assert table.source
        assert table.question
        json.dumps([table.metric, table.kind.title])
    assert sum(table.quick for table in TABLES.values()) >= 2


def test_where_runs_were_made_is_read_from_them(tmp_path):
    """Whoever makes a card: by its beginning, and by every other environment in which it went on."""
    place = copy_of_the_run(tmp_path / "run")
    path = place / "group-000" / "environment.json"
    sealed_files.rewrite(path, lambda record: record["began"].update(commit="a" * 40))
    (where,) = measuring._environments(place)
    assert (where["commit"], where["jax"]) == ("a" * 40, jax.__version__)
    sealed_files.rewrite(path, lambda record: record.update(resumed=[{**record["began"], "commit": "b" * 40}]))
    assert [own["commit"][0] for own in measuring._environments(place)] == ["a", "b"]
