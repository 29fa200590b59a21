"""The mean over seeds with an interval that stays within the bounds of the score."""

import dataclasses
import functools
import math
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean over seeds with its confidence interval.

    Attributes:
      mean: of the values that are there; None without any.
      low, high: the two-sided interval, in the unit of the values; None when ``n < 2``, and when all values are equal
        and have no bounds on both sides.
      deviation: the sample standard deviation ``s`` (n - 1); None when ``n < 2``.
      n: number of values that are there.
      missing: number of values that are not.
    """

    mean: float | None
    low: float | None
    high: float | None
    deviation: float | None
    n: int
    missing: int

    @property
    def all_equal(self) -> bool:
        """True if there are several values and all are equal: they show no spread, which must be said."""
        return self.deviation == 0


def mean_interval(
    values: Iterable[float | None],
    confidence: float = 0.95,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> Interval:
    """The mean of the values that are there, with an interval of the given coverage between ``lower`` and ``upper``.

    Without bounds: Student's, ``mean -+ t s / sqrt(n)``, t of n - 1 degrees of freedom. With bounds: all means mu with

        (mean - mu)^2 <= t^2 s^2 / n * (mu - lower)(upper - mu) / ((mean - lower)(upper - mean)),

    because a bounded score varies less the nearer its mean is to a bound (a factor with an infinite bound is left out).
    For values of 0 and 1 this is Wilson's score interval but for ``t sqrt(n / (n - 1))`` in place of z; far from the
    bounds it is Student's. The table ``scripts/docs/intervals.md`` says how often it holds the true mean, and
    where it does not do so in 93 to 97 % of cases.

    Equal values show no spread, and no formula with ``s`` can be used. Between two bounds the interval then holds every
    mean that is possible if a share q of all seeds, ``q^n = (1 - confidence) / 2``, gives this value and the rest
    anything: from ``lower + q (mean - lower)`` to ``upper - q (upper - mean)``; at a bound this is the exact binomial
    interval over seeds. Otherwise there is none. `Interval.all_equal` tells.

    >>> found = mean_interval([1.0, 0.9875, 1.0, 0.9625], lower=0, upper=1)
    >>> f"{found.mean:.4f} [{found.low:.4f}, {found.high:.4f}]"
    '0.9875 [0.9181, 0.9982]'

    Raises:
      ValueError: a value that is infinite or (by more than rounding) out of bounds; bounds in the wrong order.

    Reference: Wilson, E. B. (1927), JASA 22, 209-212. With the variance that clusters show: Dean, N., Pagano, M.
    (2015), Journal of Survey Statistics and Methodology 3(4), 484-503.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1: pass 0.95 for a 95 % interval")
    if not lower < upper:
        raise ValueError(f"lower {lower:g} is not below upper {upper:g}: pass the bounds of the score in this order")
    values = list(values)
    present = [_within(float(value), lower, upper) for value in values if value is not None and not math.isnan(value)]
    n, missing = len(present), len(values) - len(present)
    if n == 0:
        return Interval(None, None, None, None, 0, missing)
    if n == 1:
        return Interval(present[0], None, None, None, 1, missing)
    if max(present) - min(present) <= 1e-12 * max(map(abs, present)):  # but for rounding
        mean = present[0]
        if math.isinf(lower) or math.isinf(upper):
            return Interval(mean, None, None, 0.0, n, missing)
        share = ((1 - confidence) / 2) ** (1 / n)
        return Interval(mean, lower + share * (mean - lower), upper - share * (upper - mean), 0.0, n, missing)
    from scipy.special import stdtrit

    mean = math.fsum(present) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - 1))
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * deviation / math.sqrt(n)
    # With mu = mean + x: x^2 (1 + half^2 a b) - x half^2 (a - b) - half^2 = 0.
    a, b = 1 / (mean - lower), 1 / (upper - mean)
    root = math.hypot(half * (a - b), 2 * math.sqrt(1 + half**2 * a * b))
    below, above = (half * (half * (a - b) + sign * root) / (2 * (1 + half**2 * a * b)) for sign in (-1, 1))
    return Interval(mean, max(lower, mean + below), min(upper, mean + above), deviation, n, missing)


def p_value(interval: Interval, lower: float = -math.inf, upper: float = math.inf) -> float | None:
    """Two-sided, of the test that the mean is 0: the largest ``1 - confidence`` at which `mean_interval` with the same
    bounds, one on each side of 0, does not hold 0. None for fewer than two values.

    Equal values without bounds have no interval; other than 0 they have 0 here, all 0 have 1.
    """
    if interval.mean is None or interval.deviation is None:
        return None
    if not lower < 0 < upper:
        raise ValueError(f"0 does not lie between the bounds {lower:g} and {upper:g}: there is nothing to test")
    mean, n = interval.mean, interval.n
    bounded = math.isfinite(lower) and math.isfinite(upper)
    if interval.all_equal:
        share = -lower / (mean - lower) if mean > 0 else upper / (upper - mean)
        return min(1.0, 2 * share**n) if bounded else float(mean == 0)
    from scipy.special import stdtr

    nearer = (1 - mean / lower) * (1 - mean / upper)  # how much more the score varies at 0 than at its mean, inverted
    return float(2 * stdtr(n - 1, -abs(mean) / interval.deviation * math.sqrt(n * nearer)))


def detectable(deviation: float, seeds: int, power: float = 0.8, confidence: float = 0.95) -> float:
    """The smallest true mean that a two-sided t-test over ``seeds`` values of this standard deviation finds with
    ``power``, from the noncentral F distribution; in the unit of the deviation. Infinite at a confidence too close to 1
    to compute.

    >>> round(detectable(1.0, 12), 3)
    0.889

    Raises:
      ValueError: fewer than two seeds; a power that is no probability above ``1 - confidence``.
    """
    if seeds < 2:
        raise ValueError(f"{seeds} seeds have no deviation: at least 2")
    if not 1 - confidence < power < 1:
        raise ValueError(f"power {power} must lie between {1 - confidence:.3g} and 1")
    return _found_shift(seeds, power, confidence) * deviation / math.sqrt(seeds)


@functools.cache
def _found_shift(seeds: int, power: float, confidence: float) -> float:
    """The detectable shift, in standard errors of the mean."""
    from scipy.optimize import brentq
    from scipy.stats import ncf, t

    critical = t.ppf((1 + confidence) / 2, seeds - 1) ** 2

    def missing(shift: float) -> float:
        return float(ncf.sf(critical, 1, seeds - 1, shift**2)) - power

    high = 100 + 10 * math.sqrt(critical)
    return float(brentq(missing, 0.0, high)) if math.isfinite(high) and missing(high) > 0 else math.inf


def _within(value: float, lower: float, upper: float) -> float:
    """The value, moved onto a bound that it exceeds by rounding."""
    if math.isinf(value):
        raise ValueError(f"value {value} is not finite, so it has no mean: pass None for a missing seed")
    slack = 1e-6 * max([1.0, *(abs(bound) for bound in (lower, upper) if math.isfinite(bound))])
    if not lower - slack <= value <= upper + slack:
        raise ValueError(f"value {value:g} is not between {lower:g} and {upper:g}: pass the bounds of this score")
    return min(max(value, lower), upper)
