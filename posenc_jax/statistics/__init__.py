"""Means over seeds with intervals that respect bounds, paired differences, families of tests, many tasks at once, and
the choice of a learning rate.

Pure functions on numbers. A missing value (a seed that diverged or has not finished) is None or NaN: it is left out of
every sum and counted in every result.
"""

from posenc_jax.statistics.comparison import (
    CLAIM_SEEDS,
    Comparison,
    Judged,
    PairedDifference,
    Word,
    holm,
    judge,
    paired_comparison,
    paired_difference,
    word,
)
from posenc_jax.statistics.extremes import extreme_p, seeds_that_would_do
from posenc_jax.statistics.intervals import Interval, detectable, mean_interval, p_value
from posenc_jax.statistics.learning_rate import at_ends, lead, select_by_seed, select_learning_rate, widened
from posenc_jax.statistics.many_tasks import (
    improvement_interval,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    stratified_bootstrap,
)
from posenc_jax.statistics.shares import Share, correlation, share_of, wilson
from posenc_jax.statistics.sign_flips import TwoTests, bca_intervals, sign_flip_p, two_tests

__all__ = [
    "CLAIM_SEEDS",
    "Comparison",
    "Interval",
    "Judged",
    "PairedDifference",
    "Share",
    "TwoTests",
    "Word",
    "at_ends",
    "bca_intervals",
    "correlation",
    "detectable",
    "extreme_p",
    "holm",
    "improvement_interval",
    "interquartile_mean",
    "judge",
    "lead",
    "mean_interval",
    "p_value",
    "paired_comparison",
    "paired_difference",
    "performance_profile",
    "probability_of_improvement",
    "seeds_that_would_do",
    "select_by_seed",
    "select_learning_rate",
    "share_of",
    "sign_flip_p",
    "stratified_bootstrap",
    "two_tests",
    "widened",
    "wilson",
    "word",
]
