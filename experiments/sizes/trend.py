"""Whether the lead of every encoding grows with the size of the model, on every table of an ablation over sizes.

python -m experiments.sizes.trend runs/sizes-small

Several directories, of ablations of some tables each, and files of ``--keep FILE`` are read together.
"""

import argparse
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

from experiments.sizes.grid import BASELINE, WIDTHS
from experiments.sizes.slopes import Trend, size_trends
from experiments.tables.results import Results, Selection, collect, read_results, save_results
from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.markdown import grid
from posenc_jax.drawing.quantities import p_value
from posenc_jax.results.averages import comparison_of
from posenc_jax.verdict.cells import distinct
from posenc_jax.verdict.rule import learned

LEAD = ScoreKind("lead")


def leads(results: Results, table: str, label: str) -> dict[int, dict[int, float]]:
    """Number of the baseline's parameters -> seed -> how far an encoding is ahead of it, beyond the training lengths.

    Seeds that lack a size are left out.

    Raises:
      ValueError: a cell has not been run, fewer than two seeds have all sizes, or a lead is no finite number.
    """
    found: dict[int, dict[int, float]] = {}
    for size in WIDTHS:
        selection = Selection(f"{table} {size}")
        cell = results.cell(selection.table, BASELINE)
        ours, theirs = (results.scores(selection, own) for own in (label, BASELINE))
        if cell is None or not ours or not theirs:
            raise ValueError(f"{label} or {BASELINE} has no scores on {selection.table}: run the ablation to its end")
        kind = results.kind(selection)
        sign = 1 if kind.better == "higher" else -1
        found[cell.num_parameters] = {
            seed: sign * (kind.inner(ours[seed]) - kind.inner(theirs[seed])) for seed in sorted(ours.keys() & theirs)
        }
    shared = set.intersection(*map(set, found.values()))
    if len(shared) < 2:
        raise ValueError(f"{label} and {BASELINE} share {len(shared)} seeds at all sizes of {table}: two are needed")
    found = {size: {seed: lead for seed, lead in own.items() if seed in shared} for size, own in found.items()}
    if not all(math.isfinite(lead) for own in found.values() for lead in own.values()):
        raise ValueError(f"{label} on {table}: a lead over {BASELINE} is no finite number, as after a perplexity of 0")
    return found


def at_bounds(results: Results, table: str, label: str) -> tuple[str, ...]:
    """The sizes at which both are at the floor, or near the best score: a lead of 0 there says nothing."""
    found = []
    for size in WIDTHS:
        selection = Selection(f"{table} {size}")
        ours, theirs = (results.scores(selection, own) for own in (label, BASELINE))
        if comparison_of(ours, theirs, results.kind(selection), results.question(selection).beyond).at_bound:
            found.append(size)
    return tuple(found)


def unlearned(results: Results, table: str, label: str) -> tuple[str, ...]:
    """The sizes at which one of the two did not learn the task, so that a lead at longer lengths says little."""
    found = []
    for size in WIDTHS:
        selection = Selection(f"{table} {size}", where="within")
        question = results.question(selection)
        if any(learned(question, results.scores(selection, own)) is False for own in (label, BASELINE)):
            found.append(size)
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Row:
    """The leads of an encoding on a table at all sizes, and their trend.

    Attributes:
      leads: number of the baseline's parameters -> seed -> lead.
      at_bounds: the sizes of `at_bounds`, for which the trend has no word.
      unlearned: the sizes of `unlearned`.
    """

    label: str
    table: str
    leads: dict[int, dict[int, float]]
    trend: Trend
    at_bounds: tuple[str, ...]
    unlearned: tuple[str, ...]

    @property
    def word(self) -> str:
        """What is said of the lead, without its conditions."""
        return "cannot be told" if self.at_bounds else self.trend.word

    @property
    def said(self) -> str:
        """What is said of the lead."""
        where = f" (at a floor or at the best at {', '.join(self.at_bounds)})" if self.at_bounds else ""
        few = f"; not learned by one or both at {', '.join(self.unlearned)}" if self.unlearned else ""
        return f"{self.word}{where}{few}"


def rows_of(results: Results) -> tuple[Row, ...]:
    """A row for every encoding and table, their trends corrected together."""
    names = dict.fromkeys(name.rpartition(" ")[0] for name in results.tasks if name.rpartition(" ")[2] in WIDTHS)
    asked = [(label, name) for name in names for label in _labels(results, name)]
    if not asked:
        raise ValueError(f"no table has the sizes {', '.join(WIDTHS)} of an encoding beside {BASELINE}")
    found = {(label, name): leads(results, name, label) for label, name in asked}
    trends = size_trends({f"{label} on {name}": own for (label, name), own in found.items()})
    return tuple(
        Row(
            label,
            name,
            own,
            trends[f"{label} on {name}"],
            at_bounds(results, name, label),
            unlearned(results, name, label),
        )
        for (label, name), own in found.items()
    )


def table_of(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    entries = []
    for row in rows:
        own = row.trend
        means = [math.fsum(of.values()) / len(of) for of in row.leads.values()]  # sum changed in Python 3.12
        interval = (
            "-"
            if own.low is None
            else f"{LEAD.show(own.slope, sign=True)} [{LEAD.show(own.low)}, {LEAD.show(own.high)}]"
        )
        p = "-" if own.p is None else p_value(own.p)
        shown = (LEAD.show(mean, sign=True) for mean in means)
        entries.append([row.label, row.table, *shown, interval, p, str(own.seeds), row.said])
    columns = ("encoding", "table", *WIDTHS, "change with 4x [95 %]", "p", "seeds", "its lead")
    return grid(columns, "llrrrrrrl", entries)


def _labels(results: Results, table: str) -> list[str]:
    """The encodings that any size of a table has."""
    every = [cell.label for cell in results.cells if cell.table.rpartition(" ")[0] == table]
    return [label for label in dict.fromkeys(every) if label != BASELINE]


def joined(parts: Sequence[Results]) -> Results:
    """The results of several ablations of different tables.

    Raises:
      ValueError: two of them have a table in common.
    """
    tasks = {name: facts for own in parts for name, facts in own.tasks.items()}
    if len(tasks) < sum(len(own.tasks) for own in parts):
        raise ValueError("two of the sources have a table in common: name each table once")
    first, *others = distinct(own.machine for own in parts)
    return Results(
        tasks,
        tuple(cell for own in parts for cell in own.cells),
        distinct(code for own in parts for code in own.code),
        first | ({"others": others} if others else {}),
        tuple(dict.fromkeys(note for own in parts for note in own.notes)),
    )


def read(source: Path) -> Results:
    """The results in a directory of an ablation, or in a file of ``--keep``.

    Raises:
      ValueError: there are none.
    """
    found = collect(source, ()) if source.is_dir() else read_results(source)
    if found is None:
        raise ValueError(f"{source} is neither a directory of an ablation nor a file of --keep")
    return found


def main(arguments: list[str] | None = None) -> None:
    """Prints the table of all sources, and keeps their results in the file that ``--keep`` names."""
    parser = argparse.ArgumentParser(prog="python -m experiments.sizes.trend", description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+", metavar="SOURCE")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        results = joined([read(source) for source in options.sources])
        print(table_of(rows_of(results)))
        if options.keep is not None:
            save_results(results, options.keep)
    except (ValueError, OSError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
