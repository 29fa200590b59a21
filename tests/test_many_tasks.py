"""Interquartile means, profiles, the probability of improvement, and their intervals, by hand and against scipy."""

import itertools

import numpy as np
import pytest
from scipy import stats

from experiments.verdicts.together import improvement_interval, probability_of_improvement
from posenc_jax.statistics import (
    interquartile_mean,
    performance_profile,
    stratified_bootstrap,
)


def test_interquartile_mean_is_the_trimmed_mean_of_all_runs():
    rng = np.random.default_rng(0)
    scores = {f"task {i}": rng.beta(2, 2, 4) for i in range(5)}
    pooled = np.concatenate(list(scores.values()))
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(pooled, 0.25), abs=1e-12)


def test_interquartile_mean_by_hand():
    # 1, 2, 3: from 0.25 to 0.75 of the runs lie a quarter of the first third's run, all of the second's, a quarter.
    assert interquartile_mean({"a": [3.0, 1.0, 2.0]}) == pytest.approx(2.0)
    # Weights 1/2 (0.0), 1/4 (0.5), 1/4 (1.0): half of the middle is 0.0, half 0.5.
    assert interquartile_mean({"a": [0.0], "b": [0.5, 1.0]}) == pytest.approx(0.25)
    # One task or seed out of four that fails has no part in it.
    assert interquartile_mean({"a": [0.9, 0.9, 0.9, 0.0]}) == pytest.approx(0.9)
    assert interquartile_mean({"a": [0.7]}) == pytest.approx(0.7)


def test_tasks_weigh_the_same_whatever_their_seeds():
    once, thrice = {"a": [0.2, 0.4], "b": [0.6]}, {"a": [0.2, 0.4], "b": [0.6] * 3}
    assert interquartile_mean(once) == pytest.approx(interquartile_mean(thrice))
    assert performance_profile(once, [0.3]) == pytest.approx(performance_profile(thrice, [0.3]))


def test_profiles_fall_from_all_runs_to_none():
    scores = {"a": [0.0, 0.5, 1.0], "b": [0.25]}
    profile = performance_profile(scores, [-0.1, 0.0, 0.25, 0.5, 1.0])
    assert profile == pytest.approx([1.0, 5 / 6, 1 / 3, 1 / 6, 0.0])
    assert (np.diff(profile) <= 0).all()


def test_the_bootstrap_draws_within_each_task():
    # Each task is constant: nothing changes, however far apart the tasks are.
    assert stratified_bootstrap({"a": [0.1] * 3, "b": [0.9] * 5}, interquartile_mean) == pytest.approx((0.5, 0.5))
    scores = {"a": [0.0, 1.0] * 4, "b": [0.4, 0.6] * 4}

    def mean(drawn):
        return float(np.mean([np.mean(own) for own in drawn.values()]))

    low, high = stratified_bootstrap(scores, mean, samples=4000)
    half = stats.norm.ppf(0.975) * np.sqrt(0.25 / 8 + 0.01 / 8) / 2
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.02)
    assert stratified_bootstrap(scores, mean, samples=50) == stratified_bootstrap(scores, mean, samples=50)
    assert stratified_bootstrap(scores, mean, samples=50) != stratified_bootstrap(scores, mean, samples=50, seed=1)


@pytest.mark.parametrize("function", [interquartile_mean, lambda scores: performance_profile(scores, [0.5])])
def test_what_has_no_score_is_refused(function):
    with pytest.raises(ValueError, match="no task has scores: pass at least one"):
        function({})
    with pytest.raises(ValueError, match=r"task 'b' has scores \[\]: pass finite ones, and leave a missing seed out"):
        function({"a": [0.5], "b": []})
    with pytest.raises(ValueError, match=r"task 'b' has scores \[nan\]"):
        function({"a": [0.5], "b": [float("nan")]})


def test_probability_of_improvement_by_loops_over_all_pairs():
    rng = np.random.default_rng(1)
    ours = {"a": rng.integers(0, 4, 5) / 4, "b": rng.normal(size=3)}
    theirs = {"a": rng.integers(0, 4, 2) / 4, "b": rng.normal(size=7)}
    by_task = []
    for task in ours:
        wins = 0.0
        for x in ours[task]:
            for y in theirs[task]:
                wins += 1.0 if x > y else 0.5 if x == y else 0.0
        by_task.append(wins / len(ours[task]) / len(theirs[task]))
    assert probability_of_improvement(ours, theirs) == pytest.approx(sum(by_task) / 2, abs=1e-15)
    assert probability_of_improvement(theirs, ours) == pytest.approx(1 - sum(by_task) / 2, abs=1e-15)
    u = stats.mannwhitneyu(ours["a"], theirs["a"]).statistic
    assert by_task[0] == pytest.approx(u / 10)


def test_its_interval_is_that_of_all_draws():
    """Two runs of each arm on each of two tasks: 256 draws, each as likely; quantiles where the mass is far from their
    edges, so that 20000 draws give them exactly.
    """
    ours, theirs = {"a": [0.1, 0.6], "b": [0.3, 0.9]}, {"a": [0.2, 0.2], "b": [0.5, 0.1]}
    every = []
    for draw in itertools.product((0, 1), repeat=8):
        pairs = zip((ours["a"], theirs["a"], ours["b"], theirs["b"]), zip(draw[::2], draw[1::2]))
        a, b, c, d = ([arm[first], arm[second]] for arm, (first, second) in pairs)
        every.append(probability_of_improvement({"a": a, "b": c}, {"a": b, "b": d}))
    expected = np.quantile(every, [0.1, 0.9], method="inverted_cdf")
    assert improvement_interval(ours, theirs, 0.8, samples=20000) == pytest.approx(expected, abs=1e-12)
    assert improvement_interval({"a": [1.0, 2.0]}, {"a": [0.0, 0.5]}) == (1.0, 1.0)


def test_a_profile_has_a_band():
    scores = {"a": [0.1, 0.9], "b": [0.4]}
    low, high = stratified_bootstrap(scores, lambda drawn: performance_profile(drawn, [0.0, 0.3, 0.5]))
    # Of "a" both runs may be the low one, or the high one, each in a quarter of the draws.
    assert low == pytest.approx([1.0, 0.5, 0.0])
    assert high == pytest.approx([1.0, 1.0, 0.5])
