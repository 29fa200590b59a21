"""Many tasks at once: the interquartile mean, performance profiles, and their bootstrap intervals.

Scores are one sequence of seeds for each task, on one scale for all tasks (such as exact match, or a score rescaled by
chance and ceiling). Every task has the same weight, whatever its number of seeds.

Reference: Agarwal, R., Schwarzer, M., Castro, P. S., Courville, A., Bellemare, M. G. (2021). Deep reinforcement
learning at the edge of the statistical precipice. NeurIPS 34, arXiv:2108.13264 (sections 4.1 to 4.3).
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Scores = Mapping[str, Sequence[float]]  # task -> scores of its seeds


def interquartile_mean(scores: Scores) -> float:
    """The mean of the middle half of all runs of all tasks: robust to a single task or seed as the median is, and
    nearly as precise as the mean.

    A run weighs 1 / (its task's seeds); where the quarter's edge lies within a run, the part inside counts, so the
    result has no jumps.

    >>> interquartile_mean({"copy": [0.0, 1.0], "count": [0.25, 0.75]})
    0.5
    """
    values, weights = _pooled(scores)
    order = np.argsort(values, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weights[order])])
    inside = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0.0, None)
    return float(np.dot(inside, values[order]) / inside.sum())


def performance_profile(scores: Scores, thresholds: Sequence[float]) -> np.ndarray:
    """``[len(thresholds)]``: for each tau the share of runs with a score above it, mean over tasks.

    >>> performance_profile({"copy": [0.0, 1.0], "count": [0.5, 1.0]}, [0.0, 0.5, 1.0])
    array([0.75, 0.5 , 0.  ])
    """
    values, weights = _pooled(scores)
    above = values > np.asarray(thresholds, np.float64)[:, None]
    return np.asarray(above @ weights)


def stratified_bootstrap(
    scores: Scores,
    statistic: Callable[[Scores], float | np.ndarray],
    confidence: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """The percentile interval of a statistic over seeds drawn again within each task; the tasks are the population. Of
    an array, such as a `performance_profile`, an interval for each entry by itself.

    Within the range of the scores, so never out of bounds; a function of its arguments. Few seeds make it too narrow:
    at 3 seeds a task a seed is drawn with 2/3 of its variance (the table in scripts/docs/intervals.md), so use at
    least `posenc_jax.statistics.CLAIM_SEEDS`.
    """
    _checked(confidence)
    _pooled(scores)  # refuses what has no statistic
    rng = np.random.default_rng(seed)
    arrays = {task: np.asarray(own, np.float64) for task, own in scores.items()}
    drawn: list[np.ndarray] = [
        np.asarray(statistic({task: own[rng.integers(0, len(own), len(own))] for task, own in arrays.items()}))  # type: ignore[misc]
        for _ in range(samples)
    ]
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return low, high


def _checked(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1: pass 0.95 for a 95 % interval")


def _pooled(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    if not scores:
        raise ValueError("no task has scores: pass at least one, {'task': [score of each seed]}")
    for task, own in scores.items():
        if not len(own) or not np.isfinite(np.asarray(own, np.float64)).all():
            raise ValueError(f"task {task!r} has scores {list(own)}: pass finite ones, and leave a missing seed out")
    values = np.concatenate([np.asarray(own, np.float64) for own in scores.values()])
    weights = np.concatenate([np.full(len(own), 1 / len(own) / len(scores)) for own in scores.values()])
    return values, weights
