"""The choice of a learning rate, or of any other setting, for all seeds together or for each."""

from collections.abc import Mapping
from typing import TypeVar

from posenc_jax.statistics.intervals import mean_interval

_Setting = TypeVar("_Setting", float, tuple[float, ...])


def select_learning_rate(validation: Mapping[_Setting, Mapping[int, float | None]]) -> _Setting | None:
    """The learning rate with the best mean in-range validation score (higher is better), from rate -> seed -> score;
    of several numbers that were swept together, the best tuple of them, by the same rule.

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


def select_by_seed(validation: Mapping[float, Mapping[int, float | None]]) -> dict[int, float]:
    """Seed -> the learning rate that is best by its own validation score; without the seeds that have none.

    Published tables and verdicts choose by it. Seeds are independent repeats of "choose a rate, then train", so an
    interval over them holds the luck of the choice: with one rate for all seeds, chosen on a few, an encoding could
    come out better than itself.

    >>> select_by_seed({1e-3: {0: 0.9, 1: 0.5}, 2e-3: {0: 0.8, 1: 0.7, 2: None}})
    {0: 0.001, 1: 0.002}
    """
    chosen = {}
    for seed in dict.fromkeys(seed for by_seed in validation.values() for seed in by_seed):
        rate = select_learning_rate({rate: {seed: by_seed.get(seed)} for rate, by_seed in validation.items()})
        if rate is not None:
            chosen[seed] = rate
    return chosen
