"""The tasks on positions: their definitions in plain Python, and their sums against loops over positions."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.data.tasks import PositionOf, TokenAt, TokenBack
from posenc_jax.data.tasks.by_offset import by_offset, contrast

TASKS = [TokenAt(length=9, num_symbols=3, queries=4), PositionOf(length=9, num_symbols=3), TokenBack(9, 3, back=2)]
NAMES = [task.name for task in TASKS]


@functools.cache
def batch(task, size=24):
    return jax.jit(lambda: task.test_batch(None, jax.random.key(3), task.length, jnp.arange(size), task.length))()


def rows(task):
    example = jax.tree.map(np.asarray, batch(task))
    return zip(example.inputs.tolist(), example.targets.tolist(), example.weights.tolist())


def answers(task, tokens):
    """slot -> the right class, in words of the definition."""
    n = task.length
    if task.name == "token_at":
        return {slot: tokens[tokens[slot] - task.num_symbols] for slot in range(n, n + task.queries)}
    if task.name == "position_of":
        mark = tokens.index(task.num_symbols)
        return {mark: mark}
    return {slot: tokens[slot - task.back] for slot in range(task.back, n)}


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_targets_are_those_of_the_definition(task):
    for tokens, targets, weights in rows(task):
        right = answers(task, tokens)
        assert {slot: value for slot, value in enumerate(targets) if weights[slot]} == right
        assert all(value == 0 for slot, value in enumerate(targets) if slot not in right)
        assert len(tokens) == task.width(task.length)
        symbols = [token for token in tokens[: task.length] if token != task.num_symbols]
        assert all(0 <= symbol < task.num_symbols for symbol in symbols)
        assert len(symbols) == task.length - (task.name == "position_of")


def test_every_position_is_asked_about_equally_often():
    """Within five standard deviations, and so is every symbol shown."""
    for task in (TokenAt(length=8, queries=2), PositionOf(length=8)):
        example = jax.tree.map(np.asarray, batch(task, 2048))
        if task.name == "token_at":
            asked = example.inputs[:, 8:].ravel() - task.num_symbols
        else:
            asked = np.argmax(example.weights, axis=1)
        for values, count in ((asked, 8), (example.inputs[:, :8][example.inputs[:, :8] < 8], 8)):
            shares = np.bincount(values, minlength=count) / len(values)
            assert abs(shares - 1 / count).max() < 5 * math.sqrt(1 / count / len(values))


def questions(task, tokens, weights):
    """(slot, place asked for, places that count): those that are seen and do not hold the right answer elsewhere."""
    for slot, right in answers(task, tokens).items():
        if not weights[slot]:
            continue
        if task.name == "position_of":
            yield slot, right, range(task.length)
            continue
        place = tokens[slot] - task.num_symbols if task.name == "token_at" else slot - task.back
        seen = range(task.length if task.name == "token_at" else slot + 1)
        yield slot, place, [j for j in seen if j == place or tokens[j] != right]


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_sums_are_those_of_a_loop_over_questions_and_places(task):
    """The last examples, without weight, count nowhere."""
    example = jax.tree.map(np.asarray, batch(task))
    weights = example.weights * (np.arange(24) < 20)[:, None].astype(np.float32)
    logits = 2 * np.asarray(jax.random.normal(jax.random.key(0), (*example.inputs.shape, task.num_classes)))
    sums = jax.jit(task.extra_sums)(logits, dataclasses.replace(example, weights=weights))
    expected = {name: np.zeros((9, 9)) for name in ("given", "said", "asked")}
    values = np.asarray(logits, np.float64)
    for number, (tokens, _, _) in enumerate(rows(task)):
        for slot, place, counted in questions(task, tokens, weights[number]):
            exponentials = [math.exp(value) for value in values[number, slot]]
            for j in counted:
                said = j if task.name == "position_of" else tokens[j]
                expected["given"][place, j] += exponentials[said] / sum(exponentials)
                expected["said"][place, j] += max(values[number, slot]) == values[number, slot, said]
                expected["asked"][place, j] += 1
    for name, total in expected.items():
        np.testing.assert_allclose(sums[name], total, rtol=2e-6, atol=1e-6, err_msg=name)
    assert expected["asked"].sum() > 100


def curve(matrix, asked, offset):
    places = range(len(matrix))
    pairs = [(p, p + offset) for p in places if p + offset in places]
    return sum(matrix[p][j] for p, j in pairs) / sum(asked[p][j] for p, j in pairs)


def test_curves_are_means_over_pairs_of_one_offset():
    rng = np.random.default_rng(0)
    asked = rng.integers(1, 9, (7, 7)).astype(float)
    total = rng.random((7, 7)) * asked
    expected = [curve(total, asked, offset) for offset in range(-6, 7)]
    np.testing.assert_allclose(by_offset(total, asked), expected, rtol=1e-12)
    found = contrast(total, asked)
    for offset in range(-6, 7):
        places = [p for p in range(7) if all(0 <= p + offset + step < 7 for step in (-1, 0, 1))]
        if abs(offset) < 2 or not places:
            assert np.isnan(found[offset + 6])
            continue
        below, here, above = (
            sum(total[p, p + offset + step] for p in places) / sum(asked[p, p + offset + step] for p in places)
            for step in (-1, 0, 1)
        )
        assert found[offset + 6] == pytest.approx(here - (below + above) / 2, abs=1e-12)


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_results_are_curves_of_the_sums(task):
    rng, n = np.random.default_rng(1), task.length
    asked = rng.integers(1, 9, (n, n)).astype(float)
    sums = {"asked": asked} | {name: rng.random((n, n)) * asked for name in ("given", "said", "logit")}
    found = task.results(sums | {"accuracy": 1.0})
    for name in ("given", "said", "logit"):
        np.testing.assert_allclose(np.array(found[f"{name}_by_offset"], float), by_offset(sums[name], asked), rtol=1e-6)
    for name in ("given", "said"):
        np.testing.assert_allclose(np.array(found[f"{name}_contrast"], float), contrast(sums[name], asked), rtol=1e-6)
    assert "given" not in found
    if task.name == "position_of":
        np.testing.assert_allclose(found["confusion_given"], sums["given"], rtol=1e-3)
