"""Wrong positions and wrong tokens, told apart: against loops over questions, and for observers of known faults."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.data.tasks import PositionOrToken

TASK = PositionOrToken(length=6, num_symbols=10, queries=3)


@functools.cache
def batch(size=32):
    made = jax.jit(lambda: TASK.test_batch(None, jax.random.key(3), TASK.length, jnp.arange(size), TASK.length))()
    return jax.tree.map(np.asarray, made)


def scored(logits):
    sums = jax.tree.map(np.asarray, jax.jit(TASK.extra_sums)(logits.astype(np.float32), batch()))
    return TASK.results({"accuracy": np.float32(0), **sums})


def test_no_symbol_stands_twice_and_questions_are_those_of_the_definition():
    example = batch()
    for tokens, targets, weights in zip(example.inputs, example.targets, example.weights, strict=True):
        symbols, asked = tokens[:6].tolist(), tokens[6:] - 10
        assert len(set(symbols)) == 6
        assert set(symbols) <= set(range(10))
        assert targets[6:].tolist() == [symbols[p] for p in asked]
        assert weights.tolist() == [0] * 6 + [1] * 3
    shown = np.bincount(example.inputs[:, :6].ravel(), minlength=10)
    assert shown.min() > 0
    assert len({tuple(tokens[:6]) for tokens in example.inputs.tolist()}) == 32


def test_errors_are_those_of_a_loop_over_questions():
    logits = np.random.default_rng(0).normal(size=(32, 9, 10))
    found = scored(logits)
    given = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    position, token = [], []
    for i, tokens in enumerate(batch().inputs.tolist()):
        for q in range(6, 9):
            right = tokens[tokens[q] - 10]
            position.append(sum(given[i, q, s] for s in tokens[:6] if s != right))
            token.append(sum(given[i, q, s] for s in range(10) if s not in tokens[:6]))
    assert found["position_error"] == pytest.approx(np.mean(position), rel=1e-5)
    assert found["token_error"] == pytest.approx(np.mean(token), rel=1e-5)


def sure_of(symbols):
    """Logits of a model that names these symbols at the questions ``[32, 3]``."""
    logits = np.zeros((32, 9, 10))
    np.put_along_axis(logits[:, 6:], symbols[..., None], 50.0, axis=-1)
    return logits


def test_one_place_beside_is_a_wrong_position_and_the_next_symbol_a_wrong_token_or_not():
    tokens = batch().inputs
    asked = tokens[:, 6:] - 10
    beside = scored(sure_of(np.take_along_axis(tokens[:, :6], (asked + 1) % 6, axis=1)))
    assert (beside["position_error"], beside["token_error"]) == (pytest.approx(1), pytest.approx(0))
    absent = np.array([[next(s for s in range(10) if s not in row[:6])] * 3 for row in tokens.tolist()])
    misread = scored(sure_of(absent))
    assert (misread["position_error"], misread["token_error"]) == (pytest.approx(0), pytest.approx(1))
    right = scored(sure_of(np.take_along_axis(tokens[:, :6], asked, axis=1)))
    assert right["position_error"] + right["token_error"] == pytest.approx(0)
