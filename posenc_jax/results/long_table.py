"""Results of an ablation as one long table: a line for each cell, seed, learning rate, length and score."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from posenc_jax.files.fields import varying
from posenc_jax.results.record import Range, Record, ReplicaScores
from posenc_jax.results.summation import summarise

_FIRST = ("table", "cell", "encoding")
_LAST = ("seed", "learning_rate", "chosen", "range", "length", "metric", "value")


def long_table(record: Record) -> tuple[str, list[str]]:
    """The table as CSV, and a line for everything that has no part in it.

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
    writer, columns = csv.writer(file, lineterminator="\n"), (*_FIRST, *names, *_LAST)
    writer.writerow(map(_as_text, columns))
    left_out = list(record.skipped)
    for task in summarise(record).tasks:
        validation = record.info["validation_metric"][task.task_label]
        for cell in task.cells:
            where = task.task_label, cell.label
            asked = len(cell.asked) * len(cell.tried)
            if missing := asked - len(record.replicas[where]):
                left_out.append(f"{where[0]} / {where[1]}: {missing} of {asked} replicas have no results")
            own = {**dict(zip(_FIRST, (*where, cell.posenc))), **fields.get(where, {})}
            for replica in record.replicas[where]:
                if replica.diverged_at is not None:
                    left_out.append(
                        f"{where[0]} / {where[1]}, seed {replica.seed}, learning rate {replica.learning_rate:g}: "
                        f"diverged at step {replica.diverged_at}"
                    )
                chosen = replica.learning_rate == cell.learning_rate
                rate = {"seed": replica.seed, "learning_rate": replica.learning_rate, "chosen": chosen}
                for line in _lines(replica, record.ranges[where], validation) if replica.finished else ():
                    found = {**own, **rate, **line}
                    writer.writerow(_as_text(found.get(name)) for name in columns)
    return file.getvalue(), left_out


def _as_text(value: Any) -> Any:
    """A text as one that no spreadsheet computes; anything else as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value


def _lines(replica: ReplicaScores, ranges: dict[int, Range], validation: str) -> Iterator[dict[str, Any]]:
    if replica.validation is not None:
        yield {"range": "validation", "metric": validation, "value": replica.validation}
    for metric, by_length in replica.every_score.items():
        for length, value in sorted(by_length.items()):
            yield {"range": ranges[length], "length": length, "metric": metric, "value": value}
