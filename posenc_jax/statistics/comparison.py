"""Differences paired by seed, what may be said of them, and families of tests."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from posenc_jax.statistics.intervals import Interval, detectable, mean_interval, p_value

CLAIM_SEEDS = 8
"""Seeds of each arm behind a claimed difference, unless its power says otherwise."""

Word = Literal["better", "worse", "no difference seen", "not measurable here"]


@dataclasses.dataclass(frozen=True)
class PairedDifference:
    """The mean over shared seeds of ``score - baseline score``.

    Attributes:
      interval: of the differences; ``interval.n`` is the number of pairs, ``interval.missing`` of other seeds.
      higher, lower, equal: in how many pairs the score lies above, below or at the baseline's.
      unpaired: the seeds for which one side (or both) is missing, ascending.
      p: two-sided, that the mean difference is 0; at or below 0.05 exactly where the 95 % interval is without 0. None
        for fewer than two pairs.
    """

    interval: Interval
    higher: int
    lower: int
    equal: int
    unpaired: tuple[int, ...]
    p: float | None


class Comparison(NamedTuple):
    """Two arms, paired by seed, in the unit of the score.

    Attributes:
      difference: mean of ``ours - theirs``.
      low, high: its 95 % interval.
      p: as in `PairedDifference`.
      detectable: the smallest true difference that so many pairs with this spread find in 80 of 100 repeats.
      pairs: how many.
      at_bound: both arms are at the floor, or both at the ceiling (`paired_comparison`).

    Fields that cannot be computed are None: all of them without a pair, all but the difference with one, ``detectable``
    if all differences are equal, which shows no spread.
    """

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    detectable: float | None
    pairs: int
    at_bound: bool


def paired_difference(
    scores: Mapping[int, float | None],
    baseline: Mapping[int, float | None],
    confidence: float = 0.95,
    lower: float = -math.inf,
    upper: float = math.inf,
) -> PairedDifference:
    """``scores - baseline`` per seed that has both, as a mean with its interval; both map seed -> score.

    Runs of one seed share data order and common parameters, so pairing takes their spread over seeds out.
    A seed missing on one side is no pair and is named.

    Scores lie between ``lower`` and ``upper``, so differences within the distance of the two, and the interval is that
    of `posenc_jax.statistics.mean_interval` with these bounds. Where every pair has the same two bounded scores, it
    holds the differences that are possible if a share r of all seeds gives our score and a share s theirs, with
    ``(r s)^pairs = (1 - confidence) / 2``, and the others anything: the seeds of two arms agree no less often than
    if they were independent.
    """
    seeds = sorted(set(scores) | set(baseline))
    pairs: dict[int, tuple[float, float]] = {}
    for seed in seeds:
        ours, theirs = scores.get(seed), baseline.get(seed)
        if not (ours is None or theirs is None or math.isnan(ours) or math.isnan(theirs)):
            pairs[seed] = (ours, theirs)
    reach = upper - lower
    # A difference of two results of the same arithmetic is 0 if it is nothing but rounding.
    differences = {s: 0.0 if math.isclose(a, b, rel_tol=1e-12) else a - b for s, (a, b) in pairs.items()}
    interval = mean_interval((differences.get(seed) for seed in seeds), confidence, -reach, reach)
    p = p_value(interval, -reach, reach)
    both = [mean_interval((pair[side] for pair in pairs.values()), confidence, lower, upper) for side in (0, 1)]
    if math.isfinite(reach) and all(arm.all_equal for arm in both):
        ours, theirs = ((arm.mean - lower) / reach for arm in both)  # type: ignore[operator]
        low, p = _least_difference(ours, theirs, len(pairs), confidence)
        most, _ = _least_difference(1 - ours, 1 - theirs, len(pairs), confidence)
        interval = dataclasses.replace(interval, low=reach * low, high=-reach * most)
    return PairedDifference(
        interval=interval,
        higher=sum(difference > 0 for difference in differences.values()),
        lower=sum(difference < 0 for difference in differences.values()),
        equal=sum(difference == 0 for difference in differences.values()),
        unpaired=tuple(seed for seed in seeds if seed not in pairs),
        p=p,
    )


def paired_comparison(
    ours: Sequence[float | None],
    theirs: Sequence[float | None],
    lower: float = 0.0,
    upper: float = 1.0,
    chance: float | None = None,
    margin: float = 0.02,
) -> Comparison:
    """Two arms whose i-th scores belong together: of one seed, or of any seeds if the arms have different ones.

    An arm is at the floor if its mean is at most ``margin`` of the range above ``lower`` (above ``chance``, if it is
    given), at the ceiling if at most so far below ``upper``. With an infinite bound there is none.

    >>> found = paired_comparison([0.9, 0.8, 0.9, 0.7], [0.5, 0.5, 0.6, 0.4])
    >>> f"{found.difference:.2f} [{found.low:.2f}, {found.high:.2f}], p = {found.p:.4f}"
    '0.33 [0.24, 0.40], p = 0.0012'

    Raises:
      ValueError: arms of different lengths; scores out of bounds.
    """
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} scores against {len(theirs)}: pass one of each arm for a pair, None if missing")
    found = paired_difference(dict(enumerate(ours)), dict(enumerate(theirs)), lower=lower, upper=upper)
    interval = found.interval
    seen = None if not interval.deviation else detectable(interval.deviation, interval.n)
    means = [mean_interval(arm, lower=lower, upper=upper).mean for arm in (ours, theirs)]
    room = margin * (upper - lower)
    floor, ceiling = (lower if chance is None else chance) + room, upper - room
    known = [mean for mean in means if mean is not None]
    at_bound = math.isfinite(room) and bool(known) and (max(known) <= floor or min(known) >= ceiling)
    return Comparison(interval.mean, interval.low, interval.high, found.p, seen, interval.n, at_bound)


def word(
    comparison: Comparison,
    p: float | None = None,
    better: Literal["higher", "lower"] = "higher",
    alpha: float = 0.05,
) -> Word:
    """The word that the comparison allows for our arm.

    "not measurable here": fewer than two pairs, or both arms at the floor or both at the ceiling; "better" or "worse":
    p is at most alpha; else "no difference seen", which is not that there is none: ``comparison.detectable`` says how
    large one could have been found.

    Args:
      p: that of the family (`holm`) in place of the comparison's own.
      better: which scores are.
    """
    p = comparison.p if p is None else p
    if comparison.at_bound or comparison.difference is None or p is None:
        return "not measurable here"
    if p > alpha:
        return "no difference seen"
    return "better" if (comparison.difference > 0) == (better == "higher") else "worse"


class Judged(NamedTuple):
    """A comparison among others of its family.

    Attributes:
      comparison: its ``detectable`` is found as often after the correction, whatever the others show.
      p: corrected by Holm's method for the whole family; None where the arms are at a bound, or nothing is tested.
      word: what may be said by that p, from 0.05 down.
    """

    comparison: Comparison
    p: float | None
    word: Word


def judge(
    family: Sequence[tuple[Comparison, Literal["higher", "lower"]]],
    times: Sequence[float] = (),
    others: Sequence[float] = (),
) -> tuple[Judged, ...]:
    """Comparisons that are read together, each with which scores are better.

    Those that turn out not to be measurable count in the correction too: which ones do is known from the same scores.

    Args:
      times: a factor of each p, for looks at fewer seeds; 1 without them.
      others: p of tests elsewhere that are read together with these.
    """
    factors = [*times] or [1.0] * len(family)
    known = {str(i): min(1.0, factors[i] * found.p) for i, (found, _) in enumerate(family) if found.p is not None}
    corrected = holm(known | {f"elsewhere {i}": p for i, p in enumerate(others)})
    judged = []
    for number, (found, better) in enumerate(family):
        p = None if found.at_bound else corrected.get(str(number))
        judged.append(Judged(_in_family(found, len(corrected) * factors[number]), p, word(found, p, better)))
    return tuple(judged)


def _in_family(comparison: Comparison, tests: float) -> Comparison:
    """The comparison with the difference detectable at ``0.05 / tests``, Holm's level for the smallest p."""
    if comparison.detectable is None or tests < 2:
        return comparison
    alone, together = (detectable(1.0, comparison.pairs, confidence=1 - 0.05 / m) for m in (1, tests))
    return comparison._replace(detectable=comparison.detectable * together / alone)


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
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def all_equal_p(ours: float, theirs: float, pairs: int) -> float:
    """Two-sided p of no difference between two arms in [0, 1] of which every seed has the same score
    (`paired_difference`).
    """
    return _least_difference(ours, theirs, pairs, 0.95)[1]


def _least_difference(ours: float, theirs: float, pairs: int, confidence: float) -> tuple[float, float]:
    """The smallest difference of means that two arms in [0, 1] with one score each do not exclude, and the two-sided p
    of no difference.

    A share r of our seeds gives ``ours`` and the rest 0, a share s of theirs gives ``theirs`` and the rest 1: the
    difference of means is ``r ours + s (1 - theirs) - 1``, the probability of what was seen ``(r s)^pairs``.
    """
    below = 1 - theirs
    share = ((1 - confidence) / 2) ** (1 / pairs)
    r = min(max(math.sqrt(share * below / ours), share), 1.0) if ours else 1.0
    low = r * ours + share / r * below - 1
    above, other = max(ours, theirs), 1 - min(ours, theirs)  # p knows no direction
    if above + other <= 1:
        return low, 1.0
    r = min(max(1 / (2 * above), (1 - other) / above), 1.0)
    return low, min(1.0, 2 * (r * (1 - r * above) / other) ** pairs)
