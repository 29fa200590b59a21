"""What an ablation over sizes says: of every encoding on every table, whether its lead grows with the model.

python -m experiments.sizes.trend runs/sizes-small
"""

import sys
from pathlib import Path

from experiments.sizes.grid import BASELINE, WIDTHS
from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.markdown import grid
from posenc_jax.drawing.quantities import p_value
from posenc_jax.results.averages import comparison_of
from posenc_jax.statistics import size_trends
from posenc_jax.verdict.cells import Results, collect
from posenc_jax.verdict.published import Selection

LEAD = ScoreKind("lead")


def leads(results: Results, table: str, label: str) -> dict[int, dict[int, float]]:
    """Number of the baseline's parameters -> seed -> how far an encoding is ahead of it, beyond the training lengths.

    Raises:
      ValueError: a cell has not been run.
    """
    found = {}
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
    return found


def blind(results: Results, table: str, label: str) -> tuple[str, ...]:
    """The sizes at which both are at chance, or both near the best score: a lead of 0 there says nothing."""
    found = []
    for size in WIDTHS:
        selection = Selection(f"{table} {size}")
        ours, theirs = (results.scores(selection, own) for own in (label, BASELINE))
        chance = results.tasks[selection.table].chance
        if comparison_of(ours, theirs, results.kind(selection), chance).at_bound:
            found.append(size)
    return tuple(found)


def table_of(results: Results) -> str:
    """A row for every encoding and table, all corrected together."""
    names = dict.fromkeys(name.rpartition(" ")[0] for name in results.tasks)
    rows = [(label, name) for name in names for label in _labels(results, f"{name} {next(iter(WIDTHS))}")]
    by_row = {f"{label} on {name}": leads(results, name, label) for label, name in rows}
    trends = size_trends(by_row)
    entries = []
    for label, name in rows:
        row = f"{label} on {name}"
        own, unseen = trends[row], blind(results, name, label)
        means = [sum(of.values()) / len(of) for of in by_row[row].values()]
        interval = (
            "-"
            if own.low is None
            else f"{LEAD.show(own.slope, sign=True)} [{LEAD.show(own.low)}, {LEAD.show(own.high)}]"
        )
        word = f"cannot be told (at chance or at the best at {', '.join(unseen)})" if unseen else own.word
        p = "-" if own.p is None else p_value(own.p)
        entries.append(
            [label, name, *(LEAD.show(mean, sign=True) for mean in means), interval, p, str(own.seeds), word]
        )
    columns = ("encoding", "table", *WIDTHS, "change with 4x [95 %]", "p", "seeds", "its lead")
    return grid(columns, "llrrrrrrl", entries)


def _labels(results: Results, table: str) -> list[str]:
    return [cell.label for cell in results.cells if cell.table == table and cell.label != BASELINE]


def main() -> None:
    """Prints the table of the directory that is named."""
    print(table_of(collect(Path(sys.argv[1]), ())))


if __name__ == "__main__":
    main()
