"""Every score that the rows of a cell have, over training and over unseen lengths."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from posenc_jax.data.score_kinds import KINDS, kind_of
from posenc_jax.report.averages import interval_of
from posenc_jax.report.results import COUNTS
from posenc_jax.statistics import Interval

Values = Mapping[str, Mapping[int, float]]  # name -> length -> value


@dataclasses.dataclass(frozen=True)
class Others:
    """Of one cell.

    Attributes:
      training, unseen: score -> the mean over seeds of its means over those lengths.
      counts: length -> how many examples were scored, of how many outputs were decoded.
      columns: score -> its values at every seed and length, in a fixed order.
    """

    training: dict[str, Interval]
    unseen: dict[str, Interval]
    counts: dict[int, tuple[int, int]]
    columns: dict[str, tuple[float, ...]]


def summarise(
    runs: Mapping[int, Values], asked: tuple[int, ...], training: tuple[int, ...], unseen: tuple[int, ...]
) -> Others:
    """From seed -> name -> length -> value of the finished seeds."""
    there = {name for run in runs.values() for name in run if name not in COUNTS}
    names = sorted(there, key=lambda name: (*KINDS, name).index(name))
    lengths = (*training, *unseen)
    first: Values = next(iter(runs.values()), {})
    return Others(
        training={name: _mean(name, runs, asked, training) for name in names},
        unseen={name: _mean(name, runs, asked, unseen) for name in names},
        counts={
            length: (round(first["count"][length]), round(first.get("decoded", {}).get(length, 0)))
            for length in lengths
            if length in first.get("count", {})
        },
        columns={
            name: tuple(run[name][n] for run in runs.values() for n in lengths if n in run.get(name, {}))
            for name in names
        },
    )


def shown(cells: list[Others], metric: str) -> tuple[str, ...]:
    """The scores worth a column: the metric, and those that say something of their own.

    Not the loss beside a perplexity, which is its exponential; not what is 0 everywhere or the same as another.
    """
    columns: dict[str, tuple[float, ...]] = {}
    for name in dict.fromkeys((metric, *KINDS)):
        values = tuple(value for cell in cells for value in cell.columns.get(name, ()))
        if name == metric or (any(values) and values not in columns.values()):
            columns[name] = values
    return tuple(name for name in columns if name != "loss" or "perplexity" not in columns or name == metric)


def _mean(name: str, runs: Mapping[int, Values], asked: tuple[int, ...], lengths: tuple[int, ...]) -> Interval:
    """Over seeds of the means over lengths; a seed that lacks a length is missing."""
    kind, values = kind_of(name), []
    for seed in asked:
        here = runs.get(seed, {}).get(name, {})
        complete = lengths and all(length in here for length in lengths)
        values.append(kind.mean(here[length] for length in lengths) if complete else None)
    return interval_of(values, kind)
