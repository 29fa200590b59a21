import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data import scoring
from posenc_jax.data.tasks.base import Example

scores, exact_match = jax.jit(scoring.scores), jax.jit(scoring.exact_match)
correct_tokens, token_losses = jax.jit(scoring.correct_tokens), jax.jit(scoring.token_losses)


def batch_of(targets, weights):
    targets, weights = np.asarray(targets, np.int32), np.asarray(weights, np.float32)
    lengths = np.full(targets.shape[0], targets.shape[1], np.int32)
    return Example(np.zeros_like(targets), targets, weights, lengths, np.ones_like(targets))


def random_batch(rows=7, width=5, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, (rows, width))
    weights = rng.choice([0.0, 1.0, 0.5], (rows, width))
    weights[2] = 0
    logits = rng.normal(size=(rows, width, classes)) * 3
    logits[0] += 10 * np.eye(classes)[targets[0]]  # one example that is right throughout
    return logits.astype(np.float32), batch_of(targets, weights)


def loops(logits, example):
    """The definition, one number at a time in float64."""
    total = dict.fromkeys(["loss_sum", "correct_sum", "weight_sum", "exact_sum", "example_count"], 0.0)
    for row, targets, weights in zip(np.asarray(logits, float), example.targets, example.weights):
        exact, exists = True, False
        for logit, target, weight in zip(row, targets, weights):
            if weight == 0:
                continue
            exists = True
            probability = math.exp(logit[target]) / sum(math.exp(x) for x in logit)
            right = all(logit[target] >= x for x in logit)
            exact &= right
            total["loss_sum"] -= weight * math.log(probability)
            total["correct_sum"] += weight * right
            total["weight_sum"] += weight
        total["exact_sum"] += exists and exact
        total["example_count"] += exists
    return total


def test_scores_are_the_sums_of_the_definition():
    logits, example = random_batch()
    expected = loops(logits, example)
    assert expected["exact_sum"] == 1
    assert expected["example_count"] == 6
    actual = scores(logits, example)
    assert actual.keys() == expected.keys()
    for name, value in actual.items():
        assert value.shape == ()
        assert value.dtype == jnp.float32
        np.testing.assert_allclose(value, expected[name], rtol=1e-6, err_msg=name)


def test_nothing_is_seen_where_the_weight_is_zero():
    logits, example = random_batch()
    hidden = example.weights == 0
    noise = np.where(hidden[..., None], np.float32(np.nan), logits)
    other = dataclasses.replace(example, targets=np.where(hidden, 10**6, example.targets))
    plain = scores(logits, example)
    for name, value in scores(noise, other).items():
        np.testing.assert_array_equal(value, plain[name])
    np.testing.assert_array_equal(exact_match(noise, other), exact_match(logits, example))
    assert not exact_match(logits, example)[2]  # an example without weights matches nothing


def test_a_nan_logit_is_never_right():
    logits, targets = np.full((1, 2, 3), np.nan, np.float32), np.zeros((1, 2), np.int32)
    example = batch_of(targets, np.ones((1, 2)))
    assert not correct_tokens(logits, targets).any()
    assert not exact_match(logits, example).any()
    assert np.isnan(scores(logits, example)["loss_sum"])


def test_a_target_that_is_no_class_has_no_finite_loss():
    """It cost as much as the most probable class, and was right where all logits were NaN. Without weight it is not
    read, nor is its gradient.
    """
    logits, example = random_batch()
    for outside in (4, 99, -1):
        targets = example.targets.copy()
        targets[0, 0] = outside
        losses = token_losses(logits, targets)
        assert np.isnan(losses[0, 0])
        np.testing.assert_array_equal(np.asarray(losses)[1:], token_losses(logits, example.targets)[1:])
        assert not correct_tokens(np.full_like(logits, np.nan), targets).any()
        unread = example.weights.copy()
        unread[0, 0] = 0
        loss = jax.grad(lambda x, t=targets, w=unread: scoring.scores(x, batch_of(t, w))["loss_sum"])
        assert np.isfinite(jax.jit(loss)(logits)).all()


def test_gradient_is_softmax_minus_one_hot():
    logits, example = random_batch()
    gradient = jax.grad(lambda x: scores(x, example)["loss_sum"])(logits)
    softmax = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(-1, keepdims=True)
    expected = (softmax - np.eye(4)[example.targets]) * example.weights[..., None]
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
