"""Means over seeds and paired differences of any kind of score: of logarithms, if the kind is logarithmic."""

import dataclasses
import math
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.statistics import (
    CLAIM_SEEDS,
    Comparison,
    Interval,
    PairedDifference,
    mean_interval,
    paired_comparison,
    paired_difference,
)


def seed_means(
    by_length: Mapping[int, Mapping[int, float]], lengths: Iterable[int], kind: ScoreKind
) -> dict[int, float]:
    """Seed -> mean over the lengths, of the seeds that have them all; ``by_length``: length -> seed -> score."""
    scores = [by_length.get(length, {}) for length in lengths]
    seeds = set.intersection(*map(set, scores)) if scores else ()
    return {seed: kind.mean(own[seed] for own in scores) for seed in sorted(seeds)}


def interval_of(values: Iterable[float | None], kind: ScoreKind) -> Interval:
    """The interval by `posenc_jax.statistics.mean_interval` within the bounds of the kind."""
    inner = [None if value is None else kind.inner(value) for value in values]
    lower, upper = _bounds(kind, inner)
    return _outer(mean_interval(inner, lower=lower, upper=upper), kind)


def difference_of(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None], kind: ScoreKind
) -> PairedDifference:
    """The difference by `posenc_jax.statistics.paired_difference`; for a logarithmic kind the ratio to the baseline."""
    ours, theirs = (
        {seed: None if value is None else kind.inner(value) for seed, value in side.items()}
        for side in (scores, baseline)
    )
    lower, upper = _bounds(kind, [*ours.values(), *theirs.values()])
    found = paired_difference(ours, theirs, lower=lower, upper=upper)
    return dataclasses.replace(found, interval=_outer(found.interval, kind))


def comparison_of(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None], kind: ScoreKind, chance: float | None
) -> Comparison:
    """The comparison by `posenc_jax.statistics.paired_comparison`, by seed; of logarithms for a logarithmic kind.

    Args:
      chance: the score of guessing, at which there is no room for a difference; None: the worst score that there is.
    """
    seeds = sorted(set(scores) | set(baseline))
    ours, theirs = (
        [None if (value := side.get(seed)) is None else kind.inner(value) for seed in seeds]
        for side in (scores, baseline)
    )
    lower, upper = _bounds(kind, [*ours, *theirs])
    if kind.better == "higher" or math.isinf(upper):
        return paired_comparison(ours, theirs, lower=lower, upper=upper, chance=chance)
    # Of errors the floor is above: compared is what is left to the largest.
    ours, theirs = ([None if value is None else upper - value for value in side] for side in (ours, theirs))
    left = upper - chance if chance else None  # without any error is no guess
    found = paired_comparison(ours, theirs, lower=lower, upper=upper, chance=left)
    return found._replace(difference=_minus(found.difference), low=_minus(found.high), high=_minus(found.low))


def hint(pairs: Iterable[int]) -> str:
    """A note for differences from so many pairs each, if the fewest are too few for a claim; else ""."""
    fewest = min((n for n in pairs if n), default=CLAIM_SEEDS)
    if fewest >= CLAIM_SEEDS:
        return ""
    return f"A difference from fewer than {CLAIM_SEEDS} pairs is a hint: here the fewest are {fewest}."


def alike(
    scores: Mapping[int, float | None], draws: Mapping[int, int], others: Mapping[int, int]
) -> dict[int, float | None]:
    """Seed -> score, None where the seed drew other random numbers than the same seed of another arm: it is no pair."""
    return {
        seed: score if draws.get(seed) == others.get(seed, draws.get(seed)) else None for seed, score in scores.items()
    }


def best_and_tied(
    scores: Mapping[str, Mapping[int, float]], kind: ScoreKind, draws: Mapping[str, Mapping[int, int]] | None = None
) -> frozenset[str]:
    """Labels of the arm (label -> seed -> score) with the best mean, and of all arms without a significant difference
    to it: paired by seed, p above 0.05, not corrected for the number of arms. An arm without two pairs is tied if its
    mean is the same. Empty for a single arm.

    Args:
      draws: label -> seed -> which random numbers it drew; without, all drew the same.
    """
    means = {label: kind.mean(seeds.values()) for label, seeds in scores.items() if seeds}
    if len(means) < 2:
        return frozenset()
    best = (max if kind.better == "higher" else min)(means, key=lambda label: means[label])
    drawn = draws or {}
    pairs = {label: alike(scores[label], drawn.get(label, {}), drawn.get(best, {})) for label in means}
    found = {label: comparison_of(pairs[label], scores[best], kind, None) for label in means if label != best}
    tied = {
        label for label, own in found.items() if (own.p > 0.05 if own.p is not None else means[label] == means[best])
    }
    return frozenset({best, *tied})


def _minus(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


def _bounds(kind: ScoreKind, values: list[float | None]) -> tuple[float, float]:
    """The bounds of the kind; none if values of an own metric turn out to lie outside."""
    lower, upper = kind.bounds
    there = [value for value in values if value is not None and math.isfinite(value)]
    inside = all(lower - 1e-6 <= value <= upper + 1e-6 for value in there)
    return (lower, upper) if inside else (-math.inf, math.inf)


def _outer(interval: Interval, kind: ScoreKind) -> Interval:
    if not kind.logarithmic:
        return interval
    mean, low, high = (
        None if value is None else kind.outer(value) for value in (interval.mean, interval.low, interval.high)
    )
    return dataclasses.replace(interval, mean=mean, low=low, high=high)
