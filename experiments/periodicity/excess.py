"""The alias-excess tables of a finished ablation, and their figures.

    python -m experiments.periodicity.excess runs/periodicity-small
    python -m experiments.periodicity.excess runs/periodicity-small --figures experiments/periodicity

The first prints Markdown, the second also writes PNGs.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.periodicity.measures import alias_excess, both_signs, by_distance, pair_excess, rank_correlation
from experiments.periodicity.trained_frequencies import TrainedFrequencies
from posenc_jax import Run
from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.analysis.views import frequencies
from posenc_jax.config import from_json
from posenc_jax.drawing.markdown import grid
from posenc_jax.encodings import Sinusoidal, elements
from posenc_jax.runs.directory import RefusedError, read_json, results
from posenc_jax.statistics import Interval, mean_interval

HOME, ALIAS = 5, 68
OFFSET = ALIAS - HOME
FAST = 6
"""The nearest whole number to a turn of the fastest wave."""
CONTROL = 31
"""Half of 63: also near a whole number of the fastest waves (5 instead of 10), but half a turn of the next wave. For
Vaswani's frequencies at d_model 8 the kernel has a maximum there too, of 0.467 only.
"""


@dataclasses.dataclass(frozen=True)
class Cell:
    """One arm: its config and, by seed, the scores of its test examples; seeds that diverged are left out."""

    run: Run
    seeds: dict[int, dict[str, Any]]

    @property
    def positions(self) -> int:
        """How many there are."""
        return self.run.task.length  # type: ignore[attr-defined]

    def interval(self, measure: Callable[[dict[str, Any]], float]) -> Interval:
        """Of a measure over the seeds."""
        return mean_interval(measure(self.seeds[seed]) if seed in self.seeds else None for seed in self.run.seeds)

    def predicted(self) -> np.ndarray | None:
        """``[n]``: the kernel of its frequencies by offset, at the start of training; None where it has none or moves
        positions at random.
        """
        slot, offsets = self.run.posenc, np.arange(self.positions)
        used = elements(slot)
        if len(used) == 1 and isinstance(used[0], TrainedFrequencies):
            return kernel(frequencies((Sinusoidal(base=used[0].base),), self.run.dims), offsets)
        if not used or any("map_positions" in element.acts_on for element in used):
            return None
        try:
            return kernel(frequencies(slot, self.run.dims), offsets)
        except ValueError:
            return None


def read(directory: Path) -> list[Cell]:
    """The cells that have results, in order; RefusedError if there is none of these tasks."""
    data = read_json(directory / "config.json") if (directory / "config.json").exists() else {}
    if not data.get("type", "").endswith(":Ablation"):
        raise RefusedError(f"{directory} is no ablation directory: name the one that posenc ablate wrote")
    cells = []
    for run in from_json(data).runs:
        seeds = {}
        for result in results(directory / run.directory_name, run):
            for replica in result["replicas"]:
                if replica["diverged_at"] is None and "given_contrast" in (replica["evaluation"] or ({},))[0]:
                    seeds[replica["seed"]] = replica["evaluation"][0]
        if seeds:
            cells.append(Cell(run, seeds))
    if not cells:
        raise RefusedError(f"{directory} has no result of token_at, position_of or token_back: let the ablation finish")
    return cells


def excess_of(cell: Cell, offset: int, which: str = "given") -> Interval:
    """Alias excess over the seeds; ``which`` is "given" (probability) or "said" (how often it is the largest)."""
    return cell.interval(lambda s: alias_excess(s[f"{which}_contrast"], s["asked_by_offset"], offset))


def confusion_at(cell: Cell, offset: int) -> float | None:
    """Mean probability at an offset, both signs, over seeds."""
    return cell.interval(lambda s: both_signs(s["given_by_offset"], s["asked_by_offset"], offset)).mean


def agreement(cell: Cell) -> Interval | None:
    """Rank correlation of the predicted kernel with the confusion, over all offsets."""
    predicted = cell.predicted()
    if predicted is None:
        return None
    return cell.interval(lambda s: rank_correlation(predicted, by_distance(s["given_by_offset"], s["asked_by_offset"])))


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
        from experiments.periodicity.figures import write

        for path in write(cells, given.figures):
            print(f"wrote {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
