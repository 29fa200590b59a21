"""Results of an ablation as flat rows: for tables of your own, with pandas or without."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posenc_jax.results.record import Range, read_record
from posenc_jax.results.summary import CellSummary, TaskSummary
from posenc_jax.results.summation import summarise
from posenc_jax.statistics import Interval

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class AblationResult:
    """The results of an ablation; each list makes a table by itself, ``pandas.DataFrame(result.means)``.

    A mean is over seeds at the chosen learning rate: at one ``length``, or (``length`` None) of the means of each seed
    over all lengths of one ``range`` that the cells of a table share.

    Attributes:
      directory: of the ablation.
      rows: those of ``results.jsonl``: one for each cell, seed, learning rate and length.
      means: ``table, label, range, length, score, mean, low, high, deviation, seeds``, one for each score of the
        rows. ``low`` and ``high`` bound the 95 % interval of `posenc_jax.statistics.mean_interval` within the bounds of
        the score (None below two seeds), ``seeds`` counts those behind it, ``deviation`` is theirs: 0 if all seeds are
        equal (of a perplexity: of its logarithm).
      differences: the same columns and ``baseline``, of the headline score: the mean over the seeds that both have of
        score minus that of the baseline (of a perplexity: divided by it).
    """

    directory: Path
    rows: list[Row]
    means: list[Row]
    differences: list[Row]


def read_result(directory: Path | str) -> AblationResult:
    """The results in an ablation's directory, by the sums that its report shows; ValueError if nothing is finished."""
    record = read_record(directory)
    tasks = summarise(record).tasks
    return AblationResult(
        directory=record.directory,
        rows=record.rows,
        means=[row for task in tasks for cell in task.cells for row in _means(task, cell)],
        differences=[row for task in tasks for row in _differences(task)],
    )


def _means(task: TaskSummary, cell: CellSummary) -> Iterator[Row]:
    found = cell.every_score
    ranges: list[tuple[Range, int | None, dict[str, Interval]]] = []
    ranges += [("within", None, found.training)] * bool(task.in_range_lengths)
    ranges += [("beyond", None, found.unseen)] * bool(task.unseen_lengths)
    ranges += [(task.ranges[length], length, scores) for length, scores in found.at_length.items()]
    for where, length, scores in ranges:
        for score, interval in scores.items():
            yield _row(task, cell, where, length, score, interval)


def _differences(task: TaskSummary) -> Iterator[Row]:
    baseline = next((cell for cell in task.cells if cell.is_baseline), None)
    if baseline is None:
        return
    theirs = dict(_seed_scores(task, baseline))
    for cell in task.cells:
        for (where, length), scores in _seed_scores(task, cell):
            if cell.is_baseline or (where, length) not in theirs:
                continue
            difference = cell.difference_to(baseline, scores, theirs[where, length], task.kind)
            yield _row(task, cell, where, length, task.metric, difference.interval) | {"baseline": baseline.label}


def _seed_scores(task: TaskSummary, cell: CellSummary) -> Iterator[tuple[tuple[Range, int | None], dict[int, float]]]:
    """Headline scores by seed, for each range and length."""
    if task.in_range_lengths:
        yield ("within", None), cell.in_range_scores
    if task.unseen_lengths:
        yield ("beyond", None), cell.scores
    for point in cell.curve:
        yield (point.range, point.length), point.scores


def _row(task: TaskSummary, cell: CellSummary, where: Range, length: int | None, score: str, interval: Interval) -> Row:
    row = {"table": task.task_label, "label": cell.label, "range": where, "length": length, "score": score}
    return row | {
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "deviation": interval.deviation,
        "seeds": interval.n,
    }
