"""Means over seeds and paired differences of any kind of score: of logarithms, if the kind is logarithmic."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import Kind
from posenc_jax.statistics import Interval, PairedDifference, mean_interval, paired_difference


def interval_of(values: Iterable[float | None], kind: Kind) -> Interval:
    """As `posenc_jax.statistics.mean_interval`; the bounds of a geometric mean are never negative."""
    return _outer(mean_interval(None if value is None else kind.inner(value) for value in values), kind)


def difference_of(
    scores: Mapping[int, float | None], baseline: Mapping[int, float | None], kind: Kind
) -> PairedDifference:
    """As `posenc_jax.statistics.paired_difference`; of a logarithmic kind the ratio to the baseline."""
    ours, theirs = (
        {seed: None if value is None else kind.inner(value) for seed, value in side.items()}
        for side in (scores, baseline)
    )
    found = paired_difference(ours, theirs)
    return dataclasses.replace(found, interval=_outer(found.interval, kind))


def _outer(interval: Interval, kind: Kind) -> Interval:
    if not kind.logarithmic:
        return interval
    mean, low, high = (
        None if value is None else kind.outer(value) for value in (interval.mean, interval.low, interval.high)
    )
    return dataclasses.replace(interval, mean=mean, low=low, high=high)
