"""Means over seeds with Student-t intervals and tests, differences paired by seed, and the choice of a learning rate.

Pure functions on numbers. A missing value (a seed that diverged or has not finished) is None or NaN: it is left out of
every sum and counted in every result.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean over seeds with its confidence interval.

    Attributes:
      mean: of the values that are there; None without any.
      low, high: the two-sided interval ``mean -+ t(n-1) s / sqrt(n)``; None when ``n < 2``. Not clipped to the range of
        the metric.
      deviation: the sample standard deviation ``s`` (n - 1); None when ``n < 2``.
      n: number of values that are there. missing: number of values that are not.
    """

    mean: float | None
    low: float | None
    high: float | None
    deviation: float | None
    n: int
    missing: int


@dataclasses.dataclass(frozen=True)
class PairedDifference:
    """The mean over shared seeds of ``score - baseline score``.

    Attributes:
      interval: of the differences; ``interval.n`` is the number of pairs, ``interval.missing`` of other seeds.
      higher, lower, equal: in how many pairs the score lies above, below or at the baseline's.
      unpaired: the seeds for which one side (or both) is missing, ascending.
    """

    interval: Interval
    higher: int
    lower: int
    equal: int
    unpaired: tuple[int, ...]


def mean_interval(values: Iterable[float | None], confidence: float = 0.95) -> Interval:
    """The mean of the values that are there, with a Student-t interval of the given coverage.

    One value gives no interval; identical values give one of zero width. An infinite value is refused (ValueError).

    >>> mean_interval([0.5, 0.5, None])
    Interval(mean=0.5, low=0.5, high=0.5, deviation=0.0, n=2, missing=1)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1: pass 0.95 for a 95 % interval")
    values = list(values)
    present = [float(value) for value in values if value is not None and not math.isnan(value)]
    for value in present:
        if math.isinf(value):
            raise ValueError(f"value {value} is not finite, so it has no mean: pass None for a missing seed")
    n, missing = len(present), len(values) - len(present)
    if n == 0:
        return Interval(None, None, None, None, 0, missing)
    if n == 1:
        return Interval(present[0], None, None, None, 1, missing)
    if min(present) == max(present):  # the rounded sum need not divide back to the value
        return Interval(present[0], present[0], present[0], 0.0, n, missing)
    from scipy.special import stdtrit

    mean = math.fsum(present) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in present) / (n - 1))
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * deviation / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, deviation, n, missing)


def detectable(deviation: float, seeds: int, power: float = 0.8, confidence: float = 0.95) -> float:
    """The smallest true mean that a two-sided t-test over ``seeds`` values of this standard deviation finds with
    ``power``, from the noncentral F distribution.

    >>> round(detectable(1.0, 12), 3)
    0.889

    ValueError: fewer than two seeds; a power that is no probability above ``1 - confidence``.
    """
    from scipy.optimize import brentq
    from scipy.stats import ncf, t

    if seeds < 2:
        raise ValueError(f"{seeds} seeds have no deviation: at least 2")
    if not 1 - confidence < power < 1:
        raise ValueError(f"power {power} must lie between {1 - confidence:.3g} and 1")
    critical = t.ppf((1 + confidence) / 2, seeds - 1) ** 2

    def missing(shift: float) -> float:
        return float(ncf.sf(critical, 1, seeds - 1, shift**2)) - power

    return float(brentq(missing, 0.0, 100.0)) * deviation / math.sqrt(seeds)


def p_value(interval: Interval) -> float | None:
    """Two-sided, of a Student-t test that the mean is 0; None for fewer than two values.

    Equal values other than 0 have 0, all 0 have 1.
    """
    if interval.mean is None or interval.deviation is None:
        return None
    if not interval.deviation:
        return float(interval.mean == 0)
    from scipy.special import stdtr

    size = abs(interval.mean) / interval.deviation * math.sqrt(interval.n)
    return float(2 * stdtr(interval.n - 1, -size))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values of a family of tests: those at or below alpha may be called found, with probability alpha or
    less that any of them is not.

    The i-th smallest of m, from 0, is multiplied by ``m - i``; none is smaller than one before it, none above 1.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}

    Reference: Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6(2), 65-70.
    """
    largest, adjusted = 0.0, {}
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def paired_difference(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None], confidence: float = 0.95
) -> PairedDifference:
    """``scores - baseline`` per seed that has both, as a mean with its interval; both map seed -> score.

    Runs of one seed share data order and common parameters, so pairing takes their spread over seeds out.
    A seed missing on one side is no pair and is named.
    """
    seeds = sorted(set(scores) | set(baseline))
    differences: list[float | None] = []
    unpaired = []
    for seed in seeds:
        ours, theirs = scores.get(seed), baseline.get(seed)
        if ours is None or theirs is None or math.isnan(ours) or math.isnan(theirs):
            unpaired.append(seed)
            differences.append(None)
        else:
            differences.append(ours - theirs)
    present = [difference for difference in differences if difference is not None]
    return PairedDifference(
        interval=mean_interval(differences, confidence),
        higher=sum(difference > 0 for difference in present),
        lower=sum(difference < 0 for difference in present),
        equal=sum(difference == 0 for difference in present),
        unpaired=tuple(unpaired),
    )


def select_learning_rate(validation: Mapping[float, Mapping[int, float | None]]) -> float | None:
    """The learning rate with the best mean in-range validation score (higher is better), from rate -> seed -> score.

    The rule: only the rates with the most seeds that have a score are candidates, so a rate at which a seed diverged
    never wins by the mean of the survivors over a rate at which all seeds trained; among them the highest mean; among
    equal means the smallest rate. None when no seed has a score. Test lengths play no part.
    """
    means = {rate: mean_interval(scores.values()) for rate, scores in validation.items()}
    most = max((interval.n for interval in means.values()), default=0)
    if most == 0:
        return None
    candidates = [(-interval.mean, rate) for rate, interval in means.items() if interval.n == most]  # type: ignore[operator]
    return min(candidates)[1]
