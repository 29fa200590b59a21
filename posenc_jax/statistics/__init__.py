"""Means over seeds with intervals that respect bounds, paired differences, families of tests, many tasks at once, and
the choice of a learning rate.

Pure functions on numbers. A missing value (a seed that diverged or has not finished) is None or NaN: it is left out of
every sum and counted in every result.
"""

from posenc_jax.statistics.comparison import CLAIM_SEEDS as CLAIM_SEEDS
from posenc_jax.statistics.comparison import Comparison as Comparison
from posenc_jax.statistics.comparison import Judged as Judged
from posenc_jax.statistics.comparison import PairedDifference as PairedDifference
from posenc_jax.statistics.comparison import Word as Word
from posenc_jax.statistics.comparison import holm as holm
from posenc_jax.statistics.comparison import judge as judge
from posenc_jax.statistics.comparison import paired_comparison as paired_comparison
from posenc_jax.statistics.comparison import paired_difference as paired_difference
from posenc_jax.statistics.comparison import word as word
from posenc_jax.statistics.extremes import extreme_p as extreme_p
from posenc_jax.statistics.extremes import seeds_that_would_do as seeds_that_would_do
from posenc_jax.statistics.intervals import Interval as Interval
from posenc_jax.statistics.intervals import detectable as detectable
from posenc_jax.statistics.intervals import mean_interval as mean_interval
from posenc_jax.statistics.intervals import p_value as p_value
from posenc_jax.statistics.learning_rate import at_ends as at_ends
from posenc_jax.statistics.learning_rate import lead as lead
from posenc_jax.statistics.learning_rate import select_by_seed as select_by_seed
from posenc_jax.statistics.learning_rate import select_learning_rate as select_learning_rate
from posenc_jax.statistics.learning_rate import tied as tied
from posenc_jax.statistics.learning_rate import widened as widened
from posenc_jax.statistics.many_tasks import interquartile_mean as interquartile_mean
from posenc_jax.statistics.many_tasks import performance_profile as performance_profile
from posenc_jax.statistics.many_tasks import stratified_bootstrap as stratified_bootstrap
from posenc_jax.statistics.shares import Share as Share
from posenc_jax.statistics.shares import correlation as correlation
from posenc_jax.statistics.shares import share_of as share_of
from posenc_jax.statistics.shares import wilson as wilson
from posenc_jax.statistics.sign_flips import TwoTests as TwoTests
from posenc_jax.statistics.sign_flips import bca_intervals as bca_intervals
from posenc_jax.statistics.sign_flips import sign_flip_p as sign_flip_p
from posenc_jax.statistics.sign_flips import two_tests as two_tests
