"""The choice of a learning rate, or of any other setting, for all seeds together or for each."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from posenc_jax.statistics.intervals import mean_interval

_Setting = TypeVar("_Setting", float, tuple[float, ...])


def select_learning_rate(
    validation: Mapping[_Setting, Mapping[int, float | None]],
    losses: Mapping[_Setting, Mapping[int, float | None]] = MappingProxyType({}),
) -> _Setting | None:
    """The learning rate with the best mean in-range validation score (higher is better), from rate -> seed -> score;
    of several numbers that were swept together, the best tuple of them, by the same rule.

    The rule: only the rates with the most seeds that have a score are candidates, so a rate at which a seed diverged
    never wins by the mean of the survivors over a rate at which all seeds trained; among them the highest mean; among
    equal means the lowest mean of ``losses`` on the same examples, if every one has it; then the smallest rate. None
    when no seed has a score. Test lengths play no part.
    """
    return next(iter(_best(validation, losses)), None)


def _best(
    validation: Mapping[_Setting, Mapping[int, float | None]], losses: Mapping[_Setting, Mapping[int, float | None]]
) -> list[_Setting]:
    """The rates that share the best mean score, the one that is chosen first."""
    means = {rate: mean_interval(scores.values()) for rate, scores in validation.items()}
    most = max((interval.n for interval in means.values()), default=0)
    scores = {rate: own.mean for rate, own in means.items() if own.n == most and own.mean is not None}
    rates = [rate for rate, score in scores.items() if score == max(scores.values())]
    loss = {rate: own.mean for rate in rates if (own := mean_interval(losses.get(rate, {}).values())).n == most}
    return sorted(rates, key=lambda rate: (loss[rate] if len(loss) == len(rates) else 0.0, rate))


def select_by_seed(
    validation: Mapping[float, Mapping[int, float | None]],
    losses: Mapping[float, Mapping[int, float | None]] = MappingProxyType({}),
    *,
    last: bool = False,
) -> dict[int, float]:
    """Seed -> the learning rate that is best by its own validation score; without the seeds that have none. Among
    rates with the same score the one with the lowest validation loss, then the smallest.

    Published tables and verdicts choose by it. Seeds are independent repeats of "choose a rate, then train", so an
    interval over them holds the luck of the choice: with one rate for all seeds, chosen on a few, an encoding could
    come out better than itself.

    Args:
      losses: learning rate -> seed -> loss on the examples of the scores, where they are known.
      last: take the rate that comes last among those with the same score.

    >>> select_by_seed({1e-3: {0: 0.9, 1: 0.5}, 2e-3: {0: 0.8, 1: 0.7, 2: None}})
    {0: 0.001, 1: 0.002}
    >>> select_by_seed({1e-3: {0: 1.0}, 2e-3: {0: 1.0}}, {1e-3: {0: 0.02}, 2e-3: {0: 0.01}})
    {0: 0.002}
    """

    def of(seed: int, kept: Mapping[float, Mapping[int, float | None]]) -> dict[float, dict[int, float | None]]:
        return {rate: {seed: by_seed.get(seed)} for rate, by_seed in kept.items()}

    seeds = dict.fromkeys(seed for by_seed in validation.values() for seed in by_seed)
    best = {seed: _best(of(seed, validation), of(seed, losses)) for seed in seeds}
    return {seed: rates[-1 if last else 0] for seed, rates in best.items() if rates}


Validation = Mapping[float, Mapping[int, float | None]]
"""Learning rate -> seed -> validation score, higher better."""


def at_ends(validation: Validation) -> tuple[int, int, int]:
    """The numbers of seeds that do best at the lowest rate alone, at the highest alone, and of all seeds; a tie with
    another rate is no preference.

    >>> at_ends({1e-3: {0: 0.9, 1: 0.5, 2: 1.0}, 2e-3: {0: 0.8, 1: 0.7, 2: 1.0}})
    (1, 1, 3)
    """
    rates = sorted(validation)
    seeds = dict.fromkeys(seed for own in validation.values() for seed, score in own.items() if score is not None)
    if len(rates) < 2:
        return 0, 0, len(seeds)
    low = high = 0
    for seed in seeds:
        scores = [-math.inf if (own := validation[rate].get(seed)) is None else own for rate in rates]
        low += scores[0] > max(scores[1:])
        high += scores[-1] > max(scores[:-1])
    return low, high, len(seeds)


def tied(validation: Validation) -> int:
    """The number of seeds that have their best score at several rates, so that validation does not tell these apart.

    >>> tied({1e-3: {0: 0.9, 1: 0.5, 2: 1.0}, 2e-3: {0: 0.8, 1: 0.7, 2: 1.0}})
    1
    """
    by_seed: dict[int, list[float]] = {}
    for seed, score in (pair for scores in validation.values() for pair in scores.items()):
        by_seed.setdefault(seed, []).extend([] if score is None else [score])
    return sum(scores.count(max(scores)) > 1 for scores in by_seed.values() if scores)


def widened(rates: Sequence[float], arms: Iterable[Validation], most: int) -> tuple[float, ...]:
    """The grid of learning rates with a further one at each end that at least half of the seeds of any arm prefer, in
    the ratio of the two rates there, as long as there are fewer than ``most``; else as it was.

    >>> widened((5e-4, 1e-3), [{5e-4: {0: 0.5, 1: 0.5}, 1e-3: {0: 0.9, 1: 0.5}}], most=6)
    (0.0005, 0.001, 0.002)
    """
    grid, ends = sorted(rates), [at_ends(own) for own in arms]
    if len(grid) < 2:
        return tuple(rates)
    wider = list(grid)
    if len(wider) < most and any(2 * high >= seeds > 0 for _, high, seeds in ends):
        wider.append(float(f"{grid[-1] * grid[-1] / grid[-2]:.6g}"))
    if len(wider) < most and any(2 * low >= seeds > 0 for low, _, seeds in ends):
        wider.insert(0, float(f"{grid[0] * grid[0] / grid[1]:.6g}"))
    return tuple(wider) if wider != grid else tuple(rates)


def lead(validation: Validation) -> float | None:
    """The lead of a seed's best rate over its second best, averaged over seeds: near 0 the choice is flat; None for one
    rate.
    """
    scores = [
        sorted((score for own in validation.values() if (score := own.get(seed)) is not None), reverse=True)
        for seed in dict.fromkeys(seed for own in validation.values() for seed in own)
    ]
    ahead = [own[0] - own[1] for own in scores if len(own) > 1]
    return math.fsum(ahead) / len(ahead) if ahead else None
