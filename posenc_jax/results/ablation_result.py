"""Results of an ablation as flat rows, for tables of your own, and as one long table: a line for each score."""

import csv
import dataclasses
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posenc_jax.files.fields import varying
from posenc_jax.results.record import Range, Record, ReplicaScores, read_record
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
        yield (task.ranges[point.length], point.length), point.scores


def _row(task: TaskSummary, cell: CellSummary, where: Range, length: int | None, score: str, interval: Interval) -> Row:
    row = {"table": task.task_label, "label": cell.label, "range": where, "length": length, "score": score}
    return row | {
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "deviation": interval.deviation,
        "seeds": interval.n,
    }


_FIRST = ("table", "cell", "encoding")
_LAST = ("seed", "learning_rate", "chosen", "range", "length", "metric", "value")


def long_table(record: Record) -> str:
    """The table as CSV.

    Columns: ``table``, ``cell`` (its label), ``encoding``, a column for each field in which cells of a table differ,
    ``seed``, ``learning_rate``, ``chosen`` (whether the report shows this rate), ``range`` (within, beyond or mixed;
    or validation, which has no ``length``), ``length``, ``metric``, ``value``. Replicas that diverged or are not
    finished have no lines, as they have no part in a report. A text that a spreadsheet would compute, since it begins
    with ``=``, ``+``, ``-``, ``@`` or a tab, has an apostrophe before it.
    """
    runs = record.info["config"]["runs"]
    fields = {(run.get("table"), run.get("label")): own for run, own in zip(runs, varying(runs), strict=True)}
    names = [name for name in dict.fromkeys(n for own in fields.values() for n in own) if name != "learning_rate"]
    file = io.StringIO()
    columns = *_FIRST, *names, *_LAST
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_as_text, columns))
    for task in summarise(record).tasks:
        validation = record.info["validation_metric"][task.task_label]
        for cell in task.cells:
            where = task.task_label, cell.label
            own = {**dict(zip(_FIRST, (*where, cell.info["posenc"]))), **fields.get(where, {})}
            own.pop("learning_rate", None)
            for replica in record.replicas[where]:
                chosen = replica.learning_rate == cell.learning_rate
                rate = {"seed": replica.seed, "learning_rate": replica.learning_rate, "chosen": chosen}
                for line in _lines(replica, task.ranges, validation) if replica.finished else ():
                    found = {**own, **rate, **line}
                    writer.writerow(_as_text(found.get(name)) for name in columns)
    return file.getvalue()


def _as_text(value: Any) -> Any:
    """A text as one that no spreadsheet computes; anything else as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value


def _lines(replica: ReplicaScores, ranges: dict[int, Range], validation: str) -> Iterator[dict[str, Any]]:
    if replica.validation is not None:
        yield {"range": "validation", "metric": validation, "value": replica.validation}
    for metric, by_length in replica.every_score.items():
        for length, value in sorted(by_length.items()):
            yield {"range": ranges[length], "length": length, "metric": metric, "value": value}
