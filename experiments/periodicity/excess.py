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
    Arm,
    agreement,
    confusion_at,
    excess_of,
    read,
)
from posenc_jax.analysis.kernels import lobes
from posenc_jax.drawing.markdown import grid
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import Interval


def tables(arms: Iterable[Arm]) -> str:
    """Markdown, one block for each table of the ablation."""
    arms, lines = list(arms), []
    for name in dict.fromkeys(arm.run.table for arm in arms):
        members = [arm for arm in arms if arm.run.table == name and arm.positions - 1 > OFFSET]
        if not members:
            continue
        lines += [f"### {name}", "", _excess_table(members), "", _lobe_table(members), ""]
        paired = [arm for arm in members if "confusion_given" in next(iter(arm.seeds.values()))]
        if paired:
            lines += [_pair_table(paired), ""]
    return "\n".join(lines)


def _excess_table(arms: list[Arm]) -> str:
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
    for arm in arms:
        predicted, near = arm.predicted(), (OFFSET - 1, OFFSET, OFFSET + 1)
        rank = agreement(arm)
        rows.append(
            (
                arm.run.label,
                _number(arm.interval(lambda s: s["accuracy"]).mean, 3),
                "" if predicted is None else ", ".join(f"{predicted[k]:.3f}" for k in near),
                _number(confusion_at(arm, 1), 2, 100),
                ", ".join(_number(confusion_at(arm, k), 2, 100) for k in near),
                _interval(excess_of(arm, OFFSET), 2, 100),
                _interval(excess_of(arm, OFFSET, "said"), 2, 100),
                *(_interval(excess_of(arm, offset), 2, 100) for offset in (FAST, CONTROL)),
                "" if rank is None else _interval(rank, 2),
            )
        )
    return grid(head, "l" * len(head), rows)


def _lobe_table(arms: list[Arm]) -> str:
    """Alias excess where theory says it should be largest: at the highest side lobe of each arm's own kernel."""
    rows = []
    for arm in arms:
        predicted = arm.predicted()
        found = None if predicted is None else lobes(predicted[: arm.positions - 1])
        if found is None or found.offset is None or found.offset < 2:
            continue
        rows.append(
            (
                arm.run.label,
                str(found.offset),
                f"{found.level:.3f}",
                _number(confusion_at(arm, found.offset), 2, 100),
                _interval(excess_of(arm, found.offset), 2, 100),
            )
        )
    head = ("arm", "highest side lobe at", "kernel", "confusion there, %", "alias excess there, points")
    return grid(head, "l" * len(head), rows)


def _pair_table(arms: list[Arm]) -> str:
    """Positions 5 and 68 themselves."""
    rows = []
    for arm in arms:
        here, beside, excess = (
            arm.interval(lambda s, i=i: pair_excess(s["confusion_given"], HOME, ALIAS)[i]) for i in range(3)
        )
        rows.append(
            (arm.run.label, _number(here.mean, 2, 100), _number(beside.mean, 2, 100), _interval(excess, 2, 100))
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
        arms = read(given.directory)
    except RefusedError as error:
        print(f"excess: {error}", file=sys.stderr)
        return 2
    print(tables(arms))
    if given.figures is not None:
        for path in figures.write(arms, given.figures):
            print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
