"""The alias-excess tables of a finished ablation, and their figures.

    python -m experiments.periodicity.excess runs/periodicity-small
    python -m experiments.periodicity.excess runs/periodicity-small --figures experiments/periodicity

The first prints Markdown, the second also writes PNGs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from experiments.periodicity import figures
from experiments.periodicity.measures import pair_excess
from experiments.periodicity.outcome import (
    ALIAS,
    CONTROL,
    FAST,
    HOME,
    OFFSET,
    Cell,
    agreement,
    confusion_at,
    excess_of,
    read,
)
from posenc_jax.analysis.kernels import lobes
from posenc_jax.drawing.markdown import grid
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import Interval


def tables(cells: Iterable[Cell]) -> str:
    """Markdown, one block for each table of the ablation."""
    cells, lines = list(cells), []
    for name in dict.fromkeys(cell.run.table for cell in cells):
        members = [cell for cell in cells if cell.run.table == name and cell.positions - 1 > OFFSET]
        if not members:
            continue
        lines += [f"### {name}", "", _excess_table(members), "", _lobe_table(members), ""]
        paired = [cell for cell in members if "confusion_given" in next(iter(cell.seeds.values()))]
        if paired:
            lines += [_pair_table(paired), ""]
    return "\n".join(lines)


def _excess_table(cells: list[Cell]) -> str:
    head = (
        "arm",
        "accuracy",
        "kernel at 62, 63, 64",
        "confusion at 1, %",
        "at 62, 63, 64, %",
        "alias excess at 63, points",
        "of the argmax",
        f"excess at {FAST}",
        f"at {CONTROL}",
        "rank correlation with the kernel",
    )
    rows = []
    for cell in cells:
        predicted, near = cell.predicted(), (OFFSET - 1, OFFSET, OFFSET + 1)
        rank = agreement(cell)
        rows.append(
            (
                cell.run.label,
                _number(cell.interval(lambda s: s["accuracy"]).mean, 3),
                "" if predicted is None else ", ".join(f"{predicted[k]:.3f}" for k in near),
                _number(confusion_at(cell, 1), 2, 100),
                ", ".join(_number(confusion_at(cell, k), 2, 100) for k in near),
                _interval(excess_of(cell, OFFSET), 2, 100),
                _interval(excess_of(cell, OFFSET, "said"), 2, 100),
                *(_interval(excess_of(cell, offset), 2, 100) for offset in (FAST, CONTROL)),
                "" if rank is None else _interval(rank, 2),
            )
        )
    return grid(head, "l" * len(head), rows)


def _lobe_table(cells: list[Cell]) -> str:
    """Alias excess where theory says it should be largest: at the highest side lobe of each arm's own kernel."""
    rows = []
    for cell in cells:
        predicted = cell.predicted()
        found = None if predicted is None else lobes(predicted[: cell.positions - 1])
        if found is None or found.offset is None or found.offset < 2:
            continue
        rows.append(
            (
                cell.run.label,
                str(found.offset),
                f"{found.level:.3f}",
                _number(confusion_at(cell, found.offset), 2, 100),
                _interval(excess_of(cell, found.offset), 2, 100),
            )
        )
    head = ("arm", "highest side lobe at", "kernel", "confusion there, %", "alias excess there, points")
    return grid(head, "l" * len(head), rows)


def _pair_table(cells: list[Cell]) -> str:
    """Positions 5 and 68 themselves."""
    rows = []
    for cell in cells:
        here, beside, excess = (
            cell.interval(lambda s, i=i: pair_excess(s["confusion_given"], HOME, ALIAS)[i]) for i in range(3)
        )
        rows.append(
            (cell.run.label, _number(here.mean, 2, 100), _number(beside.mean, 2, 100), _interval(excess, 2, 100))
        )
    head = ("arm", f"{HOME} taken for {ALIAS} or back, %", "the places beside, %", "excess, points")
    return grid(head, "l" * len(head), rows)


def _number(value: float | None, decimals: int, factor: float = 1.0) -> str:
    return "" if value is None or np.isnan(value) else f"{value * factor:.{decimals}f}"


def _interval(interval: Interval, decimals: int, factor: float = 1.0) -> str:
    """``+1.23 [0.45, 2.01]``."""
    if interval.mean is None:
        return ""
    mean = f"{interval.mean * factor:+.{decimals}f}"
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{interval.low * factor:.{decimals}f}, {interval.high * factor:.{decimals}f}]"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.periodicity.excess", description=__doc__)
    parser.add_argument("directory", type=Path, help="of a finished ablation of full.py or small.py")
    parser.add_argument("--figures", type=Path, help="folder to write PNGs in")
    given = parser.parse_args(arguments)
    try:
        cells = read(given.directory)
    except RefusedError as error:
        print(f"excess: {error}", file=sys.stderr)
        return 2
    print(tables(cells))
    if given.figures is not None:
        for path in figures.write(cells, given.figures):
            print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
