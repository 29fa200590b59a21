"""Means over seeds and paired differences of any kind of score: of logarithms, if the kind is logarithmic."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import Kind
from posenc_jax.statistics import Interval, PairedDifference, mean_interval, paired_difference


def interval_of(values: Iterable[float | None], kind: Kind) -> Interval:
    """As `posenc_jax.statistics.mean_interval` within the bounds of the kind."""
    inner = [None if value is None else kind.inner(value) for value in values]
    lower, upper = _bounds(kind, inner)
    return _outer(mean_interval(inner, lower=lower, upper=upper), kind)


def difference_of(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None], kind: Kind
) -> PairedDifference:
    """As `posenc_jax.statistics.paired_difference`; of a logarithmic kind the ratio to the baseline."""
    ours, theirs = (
        {seed: None if value is None else kind.inner(value) for seed, value in side.items()}
        for side in (scores, baseline)
    )
    lower, upper = _bounds(kind, [*ours.values(), *theirs.values()])
    found = paired_difference(ours, theirs, lower=lower, upper=upper)
    return dataclasses.replace(found, interval=_outer(found.interval, kind))


def _bounds(kind: Kind, values: list[float | None]) -> tuple[float, float]:
    """Those of the kind; none for a metric of one's own that turns out to be no fraction."""
    lower, upper = kind.bounds
    there = [value for value in values if value is not None and math.isfinite(value)]
    inside = all(lower - 1e-6 <= value <= upper + 1e-6 for value in there)
    return (lower, upper) if inside else (-math.inf, math.inf)


def _outer(interval: Interval, kind: Kind) -> Interval:
    if not kind.logarithmic:
        return interval
    mean, low, high = (
        None if value is None else kind.outer(value) for value in (interval.mean, interval.low, interval.high)
    )
    return dataclasses.replace(interval, mean=mean, low=low, high=high)
