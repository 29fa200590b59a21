"""The choice of a learning rate."""

from __future__ import annotations

from collections.abc import Mapping

from posenc_jax.statistics.intervals import mean_interval


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
