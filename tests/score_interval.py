"""An oracle of intervals of bounded scores: the two means at which the equation that defines them holds, by search."""

import math

import numpy as np
from scipy import optimize, stats


def score_interval(values, lower=0.0, upper=1.0, confidence=0.95):
    """The means that a t-test does not reject whose variance is that seen, scaled as a bounded score's changes."""
    mean, seeds = float(np.mean(values)), len(values)
    error = np.std(values, ddof=1) / math.sqrt(seeds)
    limit = stats.t.ppf((1 + confidence) / 2, seeds - 1)

    def excess(mu):
        scale = (mu - lower) * (upper - mu) / ((mean - lower) * (upper - mean))
        return abs(mean - mu) - limit * error * math.sqrt(max(scale, 0.0))

    return optimize.brentq(excess, lower, mean, xtol=1e-14), optimize.brentq(excess, mean, upper, xtol=1e-14)
