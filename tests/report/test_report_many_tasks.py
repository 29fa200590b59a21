"""All tasks together: one scale, encodings that have all of them."""

import dataclasses
import re

import pytest

from posenc_jax.data.score_kinds import KINDS
from posenc_jax.results import read_record, summarise
from posenc_jax.results.report.many_tasks import across_tasks, matrix
from posenc_jax.statistics import interquartile_mean


@pytest.fixture
def summary(ablation):
    return summarise(read_record(ablation))


def with_scores(summary, scores, **changes):
    """The summary with these scores, task by task: label -> scores of its seeds."""
    tasks = []
    for task, own in zip(summary.tasks, scores, strict=True):
        cell = task.cells[-1]
        cells = tuple(
            dataclasses.replace(cell, label=label, scores=dict(enumerate(values))) for label, values in own.items()
        )
        tasks.append(dataclasses.replace(task, cells=cells, **changes.get(task.task_label, {})))
    labels = tuple(dict.fromkeys(label for own in scores for label in own))
    return dataclasses.replace(summary, tasks=tuple(tasks), labels=labels)


COPY = {"a": [0.4, 0.6, 0.5, 0.5], "b": [0.0, 0.0, 0.1, 0.0], "only here": [1.0] * 4}
EVEN = {"a": [1.0, 0.9, 1.0, 0.9], "b": [0.5, 0.5, 0.55, 0.5]}


def test_scores_lie_between_chance_and_the_best(summary):
    table = across_tasks(with_scores(summary, (COPY, EVEN)))
    assert [line[0] for line in table.entries] == ["a", "b"], "an encoding without all tasks has no line"
    (_, mean, *shares), _ = table.entries
    expected = interquartile_mean({"rsc": COPY["a"], "even_pairs": [2 * (s - 0.5) for s in EVEN["a"]]})
    found, low, high = map(float, re.findall(r"\d\.\d+", mean))
    assert found == pytest.approx(expected, abs=5e-4)
    assert low < found < high
    assert shares == ["1.00", "0.62", "0.50", "0.25"]
    assert "Fewer than 8 seeds" in table.notes[1]


def test_of_errors_less_is_more(summary):
    errors = {"kind": KINDS["read_error"], "chance": 0.5}
    found = with_scores(summary, ({"a": [0.0, 0.0], "b": [0.5, 0.5]}, {"a": [1.0, 1.0], "b": [0.5, 0.5]}), rsc=errors)
    table = across_tasks(found)
    assert [line[1] for line in table.entries] == ["1.000 [1.000, 1.000]", "0.000 [0.000, 0.000]"]


def test_nothing_where_there_is_nothing_to_put_together(summary):
    assert across_tasks(summary).entries == (), "one encoding has both tasks"
    perplexity = {"even_pairs": {"kind": KINDS["perplexity"]}}
    assert across_tasks(with_scores(summary, (COPY, EVEN), **perplexity)).entries == ()
    assert across_tasks(with_scores(summary, (COPY, {"a": [], "b": []}))).entries == ()


def test_every_task_has_a_column(summary):
    table = matrix(with_scores(summary, (COPY, EVEN)))
    assert table.columns == ("encoding", "rsc", "even_pairs")
    assert [line[0] for line in table.entries] == ["a", "b", "only here"]
    assert table.entries[2][2] == "-"
    assert table.best == {(2, 1), (0, 2)}
    assert matrix(with_scores(summary, (COPY, {"a": [], "b": []}))).entries == ()
