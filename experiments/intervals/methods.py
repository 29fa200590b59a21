"""Rules by which a 95 % interval of a mean of rates is made from a few seeds, for `simulate` to compare.

Each takes the rates of the seeds, ``[repeats, seeds]`` between 0 and 1, and gives the lower and the upper bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special, stats

from posenc_jax.statistics import mean_interval

EXAMPLES, CONFIDENCE = 100, 0.95
Bounds = tuple[np.ndarray, np.ndarray]


def student(x: np.ndarray) -> Bounds:
    """``mean -+ t s / sqrt(n)``; x ``[repeats, seeds]``."""
    half = stats.t.ppf((1 + CONFIDENCE) / 2, x.shape[1] - 1) * x.std(1, ddof=1) / math.sqrt(x.shape[1])
    return x.mean(1) - half, x.mean(1) + half


def clipped(x: np.ndarray) -> Bounds:
    """Student's, cut off at the bounds."""
    low, high = student(x)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def logit(x: np.ndarray) -> Bounds:
    """Student's on the logits of (right + 1/2) / (examples + 1)."""
    low, high = student(special.logit((x * EXAMPLES + 0.5) / (EXAMPLES + 1)))
    return special.expit(low), special.expit(high)


def score(x: np.ndarray) -> Bounds:
    """`posenc_jax.statistics.mean_interval`."""
    found = [mean_interval(row, CONFIDENCE, 0, 1) for row in x]
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def effective(x: np.ndarray) -> Bounds:
    """Clopper and Pearson's with the number of independent examples that the spread of the seeds is worth, scaled by
    (z / t)^2: Korn and Graubard 1998. Equal seeds count as one example each.
    """
    seeds, mean = x.shape[1], x.mean(1)
    ratio = stats.norm.ppf((1 + CONFIDENCE) / 2) / stats.t.ppf((1 + CONFIDENCE) / 2, seeds - 1)
    variance = x.var(1, ddof=1) / seeds
    same = variance < 1e-20
    number = np.where(same, seeds, mean * (1 - mean) / np.where(same, 1, variance) * ratio**2)
    right, wrong, tail = mean * number, (1 - mean) * number, (1 - CONFIDENCE) / 2
    low = np.where(right > 0, special.betaincinv(np.maximum(right, 1e-9), wrong + 1, tail), 0)
    return low, np.where(wrong > 0, special.betaincinv(right + 1, np.maximum(wrong, 1e-9), 1 - tail), 1)


def accelerated(x: np.ndarray, samples: int = 1000) -> Bounds:
    """The bootstrap over seeds, bias corrected and accelerated (BCa)."""
    seeds = x.shape[1]
    drawn = np.random.default_rng(0).integers(0, seeds, (samples, seeds))
    z = stats.norm.ppf([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    bounds = []
    for row in x:
        means, mean, off = row[drawn].mean(1), row.mean(), row - row.mean()
        bias = special.ndtri(np.clip(((means < mean).mean() + (means <= mean).mean()) / 2, 1e-3, 1 - 1e-3))
        bend = (off**3).sum() / (6 * max((off**2).sum(), 1e-100) ** 1.5)
        bounds.append(np.quantile(means, special.ndtr(bias + (bias + z) / (1 - bend * (bias + z)))))
    return np.array(bounds)[:, 0], np.array(bounds)[:, 1]


def stratified(x: np.ndarray, samples: int = 1000) -> Bounds:
    """The percentile bootstrap over seeds, then over the examples of each."""
    seeds, rng = x.shape[1], np.random.default_rng(0)
    drawn = rng.integers(0, seeds, (samples, seeds))
    bounds = [
        np.quantile(
            (rng.binomial(EXAMPLES, row[drawn]) / EXAMPLES).mean(1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
        )
        for row in x
    ]
    return np.array(bounds)[:, 0], np.array(bounds)[:, 1]


def hierarchical(x: np.ndarray) -> Bounds:
    """The profile likelihood of a beta-binomial model (a beta distribution of seeds, examples binomial), its limit that
    of Student's t.
    """
    seeds = x.shape[1]
    means = special.expit(np.linspace(-9, 9, 181))
    sizes = 1 / special.expit(np.linspace(-8, 8, 41)) - 1
    a, b = means[:, None] * sizes, (1 - means)[:, None] * sizes
    right = np.arange(EXAMPLES + 1)[:, None, None]
    table = special.betaln(right + a, EXAMPLES - right + b) - special.betaln(a, b)
    limit = seeds / 2 * math.log1p(stats.t.ppf((1 + CONFIDENCE) / 2, seeds - 1) ** 2 / (seeds - 1))
    low, high = [], []
    for row in np.rint(x * EXAMPLES).astype(int):
        profile = table[row].sum(0).max(1)
        inside = np.flatnonzero(profile >= profile.max() - limit)
        low.append(0.0 if inside[0] == 0 else means[inside[0]])
        high.append(1.0 if inside[-1] == len(means) - 1 else means[inside[-1]])
    return np.array(low), np.array(high)


def worst_case(x: np.ndarray, samples: int = 2000) -> Bounds:
    """Gaffke's bounds, for any distribution in [0, 1]: the weights of the seeds and of the bound drawn uniformly."""
    seeds = x.shape[1]
    weights = np.random.default_rng(0).dirichlet(np.ones(seeds + 1), samples)
    means = x @ weights[:, :seeds].T
    return np.quantile(means, (1 - CONFIDENCE) / 2, axis=1), np.quantile(
        means + weights[:, seeds], (1 + CONFIDENCE) / 2, axis=1
    )


METHODS: dict[str, Callable[[np.ndarray], Bounds]] = {
    "score (used)": score,
    "Student": student,
    "Student, clipped": clipped,
    "logit": logit,
    "effective examples": effective,
    "BCa": accelerated,
    "seeds and examples": stratified,
    "beta-binomial": hierarchical,
    "worst case": worst_case,
}
