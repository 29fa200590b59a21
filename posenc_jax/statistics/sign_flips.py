"""The protocol of Du 2025 for few paired seeds: a bootstrap interval and a sign-flip test, which must both hold.

Reference: Du, W. (2025). When +1% Is Not Enough: A Paired Bootstrap Protocol for Evaluating Small Improvements.
arXiv:2511.19794. There for improvements; here for both signs, by the same two conditions.
"""

import functools
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

RESAMPLES = 10_000
_EXACT, _RANDOM = 16, 2**13
"""Pairs up to which every pattern of signs is tried, and how many random ones are of more."""


class TwoTests(NamedTuple):
    """The 95 % BCa interval ``low`` to ``high`` of the mean difference, the two-sided ``p`` of the sign flips, and the
    word: better or worse where the interval is without 0 and p is below 0.05.
    """

    low: float
    high: float
    p: float
    word: Literal["better", "worse", "no difference seen"]


def two_tests(differences: Sequence[float], better: Literal["higher", "lower"] = "higher") -> TwoTests | None:
    """Both tests of differences by seed; None for fewer than two.

    >>> found = two_tests([0.02, 0.03, 0.01, 0.04, 0.03, 0.02])
    >>> f"[{found.low:.3f}, {found.high:.3f}], p = {found.p:.4f}: {found.word}"
    '[0.017, 0.032], p = 0.0312: better'
    >>> two_tests([0.2, 0.3, 0.1]).word  # three seeds never tell: p is 0.25 at least
    'no difference seen'
    """
    if len(differences) < 2:
        return None
    (low,), (high,) = bca_intervals(np.asarray(differences)[None])
    (p,) = sign_flip_p(np.asarray(differences)[None])
    if p >= 0.05 or low <= 0 <= high:
        return TwoTests(float(low), float(high), float(p), "no difference seen")
    return TwoTests(float(low), float(high), float(p), "better" if (low > 0) == (better == "higher") else "worse")


def bca_intervals(differences: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """``(low [R], high [R])`` of the means of ``[R, n]``, a row for each repeat: the bias-corrected and accelerated
    interval from `RESAMPLES` resamples, the same for every row and call.

    Equal differences have an interval without width.

    Reference: Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171-185.
    """
    from scipy.special import ndtr, ndtri

    n = differences.shape[1]
    means = differences.mean(1)
    drawn = np.sort(differences @ _resamples(n), 1)
    below = (drawn < means[:, None] - 1e-15).mean(1) + 0.5 * (np.abs(drawn - means[:, None]) <= 1e-15).mean(1)
    bias = ndtri(np.clip(below, 0.5 / RESAMPLES, 1 - 0.5 / RESAMPLES))
    left_out = (differences - means[:, None]) / (n - 1)  # the mean minus that without each
    spread = (left_out**2).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.where(spread > 0, (left_out**3).sum(1) / (6 * spread**1.5), 0.0)
    ends = []
    for z in ndtri(np.array([(1 - confidence) / 2, (1 + confidence) / 2])):
        share = ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
        place = np.clip(share * RESAMPLES, 0, RESAMPLES - 1).astype(int)
        ends.append(np.take_along_axis(drawn, place[:, None], 1)[:, 0])
    return ends[0], ends[1]


def sign_flip_p(differences: np.ndarray) -> np.ndarray:
    """``[R]``: of ``[R, n]`` the share of patterns of signs with a mean as far from 0 as the real one; all patterns up
    to 16 pairs, of more pairs 8,191 random ones and the real one.
    """
    sums = np.abs(differences @ _signs(differences.shape[1]))
    real = np.abs(differences.sum(1))
    found: np.ndarray = (sums >= real[:, None] * (1 - 1e-9) - 1e-15).mean(1)
    return found


@functools.cache
def _resamples(n: int) -> np.ndarray:
    """``[n, RESAMPLES]``: the weight of each value in a resample."""
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES).T / n


@functools.cache
def _signs(n: int) -> np.ndarray:
    """``[n, patterns]``, the first without a flip."""
    if n <= _EXACT:
        flips = np.arange(2**n)[None] >> np.arange(n)[:, None] & 1
    else:
        flips = np.random.default_rng(0).integers(0, 2, (n, _RANDOM))
        flips[:, 0] = 0
    return 1.0 - 2.0 * flips
