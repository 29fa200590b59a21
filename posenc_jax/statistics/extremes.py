"""Best cases: the p of the largest possible difference with so many seeds."""

import dataclasses
import math
from collections.abc import Callable, Sequence

from posenc_jax.statistics.comparison import all_equal_p, paired_difference
from posenc_jax.statistics.intervals import p_value

MOST_SEEDS = 1000


def extreme_p(theirs: Sequence[float], target: float, lower: float, upper: float, seeds: int | None = None) -> float:
    """Two-sided p of an arm with the score ``target`` in every seed against these scores, by the test of
    `posenc_jax.statistics.paired_difference`: no arm whose seeds are independent of theirs can be expected to have a
    smaller one.

    Args:
      seeds: how many, where there are others than scores; they have the mean and the spread of the given ones.

    >>> f"{extreme_p([0.90, 0.94, 0.96, 0.92], 1.0, 0.0, 1.0):.4f}"
    '0.0124'
    """
    return _of_seeds(theirs, target, lower, upper)(seeds or len(theirs))


def seeds_that_would_do(
    theirs: Sequence[float], target: float, lower: float, upper: float, tests: int = 1, alpha: float = 0.05
) -> int | None:
    """The fewest seeds with which such an arm has a p of at most ``alpha / tests``; None where `MOST_SEEDS` are too
    few, as where ``target`` is what the others have already.

    >>> seeds_that_would_do([0.90, 0.94, 0.96, 0.92], 1.0, 0.0, 1.0, tests=14)
    6
    """
    low, high = 2, MOST_SEEDS
    p = _of_seeds(theirs, target, lower, upper)
    if p(high) * tests > alpha:
        return None
    while low < high:  # p falls with the number of seeds
        middle = (low + high) // 2
        enough = p(middle) * tests <= alpha
        low, high = (low, middle) if enough else (middle + 1, high)
    return high


def _of_seeds(theirs: Sequence[float], target: float, lower: float, upper: float) -> Callable[[int], float]:
    """`extreme_p` as a function of the number of seeds, whose mean and spread are found once."""
    found = paired_difference(dict.fromkeys(range(len(theirs)), target), dict(enumerate(theirs)), 0.95, lower, upper)
    interval, reach = found.interval, upper - lower

    def p(seeds: int) -> float:
        if found.p is None or interval.mean is None:
            return 1.0
        if interval.all_equal and math.isfinite(reach):
            return all_equal_p((target - lower) / reach, (theirs[0] - lower) / reach, seeds)
        told = p_value(dataclasses.replace(interval, n=seeds), -reach, reach)
        return 1.0 if told is None else told

    return p
