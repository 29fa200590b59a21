"""Every score that the rows of a cell have, over training and over unseen lengths, and at each length."""

import dataclasses
from collections.abc import Mapping

from posenc_jax.data.score_kinds import KINDS, kind_of
from posenc_jax.results.averages import interval_of
from posenc_jax.results.record import COUNTS
from posenc_jax.statistics import Interval

Values = Mapping[str, Mapping[int, float]]  # name -> length -> value


@dataclasses.dataclass(frozen=True)
class EveryScore:
    """All scores of one cell.

    Attributes:
      training, unseen: score -> the mean over seeds of its means over those lengths.
      at_length: length -> score -> the mean over seeds.
      counts: length -> how many examples were scored, of how many outputs were decoded.
      columns: score -> its values at every seed and length, in a fixed order.
    """

    training: dict[str, Interval]
    unseen: dict[str, Interval]
    at_length: dict[int, dict[str, Interval]]
    counts: dict[int, tuple[int, int]]
    columns: dict[str, tuple[float, ...]]


def every_score(
    replicas: Mapping[int, Values],
    asked: tuple[int, ...],
    training: tuple[int, ...],
    unseen: tuple[int, ...],
    lengths: tuple[int, ...],
) -> EveryScore:
    """All scores of a cell from seed -> name -> length -> value of its finished seeds; ``lengths``: all, with mixed
    ones.
    """
    there = {name for values in replicas.values() for name in values if name not in COUNTS}
    names = sorted(there, key=lambda name: ((*KINDS, name).index(name), name))
    first: Values = next(iter(replicas.values()), {})
    return EveryScore(
        training={name: _mean(name, replicas, asked, training) for name in names},
        unseen={name: _mean(name, replicas, asked, unseen) for name in names},
        at_length={n: {name: _mean(name, replicas, asked, (n,)) for name in names} for n in lengths},
        counts={
            length: (round(first["count"][length]), round(first.get("decoded", {}).get(length, 0)))
            for length in lengths
            if length in first.get("count", {})
        },
        columns={
            name: tuple(own[name][n] for own in replicas.values() for n in lengths if n in own.get(name, {}))
            for name in names
        },
    )


def worth_a_column(cells: list[EveryScore], metric: str) -> tuple[str, ...]:
    """The scores that a table has columns for: the metric, and those that say something of their own.

    Not the loss beside a perplexity, which is its exponential; not what is 0 everywhere or the same as another.
    """
    columns: dict[str, tuple[float, ...]] = {}
    own = (name for cell in cells for name in cell.columns)
    for name in dict.fromkeys((metric, *KINDS, *own)):
        values = tuple(value for cell in cells for value in cell.columns.get(name, ()))
        if name == metric or (any(values) and values not in columns.values()):
            columns[name] = values
    return tuple(name for name in columns if name != "loss" or "perplexity" not in columns or name == metric)


def _mean(name: str, replicas: Mapping[int, Values], asked: tuple[int, ...], lengths: tuple[int, ...]) -> Interval:
    """Over seeds of the means over lengths; a seed that lacks a length is missing."""
    kind, values = kind_of(name), []
    for seed in asked:
        here = replicas.get(seed, {}).get(name, {})
        complete = lengths and all(length in here for length in lengths)
        values.append(kind.mean(here[length] for length in lengths) if complete else None)
    return interval_of(values, kind)
