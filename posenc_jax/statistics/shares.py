"""Shares of seeds, for scores that are all or nothing, and how far two arms go together over seeds."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """So many of ``of`` seeds, and the 95 % interval ``low`` to ``high`` of their share."""

    solving: int
    of: int
    low: float
    high: float


def wilson(count: int, total: int, confidence: float = 0.95) -> Share:
    """A share with Wilson's score interval.

    >>> "{0} of {1} [{2:.2f}, {3:.2f}]".format(*wilson(3, 8))
    '3 of 8 [0.14, 0.69]'

    ValueError: no seeds, or more than there are.

    Reference: Wilson, E. B. (1927), JASA 22, 209-212.
    """
    from scipy.special import ndtri

    if not 0 <= count <= total or not total:
        raise ValueError(f"{count} of {total} is no share: pass at most {total} of at least 1")
    z = float(ndtri((1 + confidence) / 2))
    share, wide = count / total, z * z / total
    middle, half = share + wide / 2, z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return Share(count, total, max(0.0, (middle - half) / (1 + wide)), min(1.0, (middle + half) / (1 + wide)))


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
