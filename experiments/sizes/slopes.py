"""The change of a difference between two arms with the size of the model."""

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from posenc_jax.statistics.comparison import holm
from posenc_jax.statistics.intervals import mean_interval, p_value

TrendWord = Literal["grows", "shrinks", "cannot be told"]
FACTOR = 4
"""The ratio of two sizes that a slope is for."""


class Trend(NamedTuple):
    """The change of a lead with size.

    Attributes:
      slope: mean over seeds of the change in the lead with each `FACTOR` times as many parameters; None without a seed.
      low, high: its 95 % interval over seeds.
      p: two-sided, that the mean slope is 0, corrected by Holm's method for all that are read together. All three are
        None for fewer than two seeds, and where all have the same slope.
      seeds: how many have a difference at every size.
      word: "grows" or "shrinks" where p is at most 0.05, else "cannot be told".
    """

    slope: float | None
    low: float | None
    high: float | None
    p: float | None
    seeds: int
    word: TrendWord


def size_trends(family: Mapping[str, Mapping[int, Mapping[int, float]]]) -> dict[str, Trend]:
    """The trends of differences that are read together.

    Every seed has the slope of the least-squares line of its differences ``d_k`` at the sizes ``N_k``,

        slope = sum_k (x_k - mean(x)) d_k / sum_k (x_k - mean(x))^2,  x_k = log_4 N_k,

    and the interval is Student's over these slopes. So it holds whatever the spread is at each size, and whether or not
    differences of one seed at several sizes go together.

    Args:
      family: name -> number of parameters -> seed -> our score minus the baseline's, or the other way round where lower
        scores are better: a lead is positive. A seed that lacks a size is left out.

    >>> lead = {1000: {0: 0.0, 1: 0.1, 2: 0.0}, 4000: {0: 0.1, 1: 0.2, 2: 0.2}, 16000: {0: 0.3, 1: 0.3, 2: 0.3}}
    >>> found = size_trends({"copy": lead})["copy"]
    >>> f"{found.slope:+.3f} [{found.low:.3f}, {found.high:.3f}], {found.seeds} seeds: {found.word}"
    '+0.133 [0.062, 0.205], 3 seeds: grows'

    Raises:
      ValueError: fewer than two sizes, which have no slope.
    """
    intervals, p_values = {}, {}
    for name, by_size in family.items():
        weights = _weights(name, list(by_size))
        seeds = set.intersection(*(set(own) for own in by_size.values()))
        slopes = [math.fsum(weights[size] * by_size[size][seed] for size in by_size) for seed in sorted(seeds)]
        intervals[name] = mean_interval(slopes)
        p = p_value(intervals[name])
        if p is not None and not intervals[name].all_equal:
            p_values[name] = p
    corrected = holm(p_values)
    return {
        name: Trend(own.mean, own.low, own.high, corrected.get(name), own.n, _word(own.mean, corrected.get(name)))
        for name, own in intervals.items()
    }


def _weights(name: str, sizes: list[int]) -> dict[int, float]:
    """The weight of each size in a slope."""
    if len(sizes) < 2:
        raise ValueError(f"{name} has {len(sizes)} size{'s' * (len(sizes) != 1)}, and a slope needs two at least")
    logarithms = {size: math.log(size, FACTOR) for size in sizes}
    mean = math.fsum(logarithms.values()) / len(sizes)
    total = math.fsum((own - mean) ** 2 for own in logarithms.values())
    return {size: (own - mean) / total for size, own in logarithms.items()}


def _word(slope: float | None, p: float | None) -> TrendWord:
    if slope is None or p is None or p > 0.05:
        return "cannot be told"
    return "grows" if slope > 0 else "shrinks"
