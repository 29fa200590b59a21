"""Shares of seeds, for scores that are all or nothing, and the correlation of two arms over seeds."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple


class Share(NamedTuple):
    """A number of solving seeds among ``of``, and the 95 % interval ``low`` to ``high`` of their share."""

    solving: int
    of: int
    low: float
    high: float


def share_of(count: int, total: int) -> Share:
    """The share with Wilson's interval.

    >>> "{0} of {1} [{2:.2f}, {3:.2f}]".format(*share_of(3, 8))
    '3 of 8 [0.14, 0.69]'
    """
    return Share(count, total, *wilson(count, total))


def wilson(successes: float, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval of a share, always within 0 .. 1.

    >>> [round(x, 4) for x in wilson(50, 100)]
    [0.4038, 0.5962]

    Raises:
      ValueError: no trials, or more successes than trials.

    Reference: Wilson, E. B. (1927), JASA 22, 209-212.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials have no share: give 0 <= successes <= trials > 0")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    share = successes / trials
    centre = share + z2 / (2 * trials)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / (4 * trials)) / trials)
    scale = 1 + z2 / trials
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def correlation(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Pearson's, of pairs; None for fewer than three, or where one side has no spread.

    >>> round(correlation([0.1, 0.2, 0.3], [0.5, 0.5, 0.6]), 3)
    0.866
    """
    n = len(ours)
    if n < 3:
        return None
    a, b = ([value - math.fsum(side) / n for value in side] for side in (ours, theirs))
    spread = math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / spread if spread > 1e-12 else None
