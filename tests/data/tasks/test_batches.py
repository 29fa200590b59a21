import functools

import jax
import numpy as np
import pytest

from posenc_jax.data.tasks import Copying, EvenPairs, Scan
from posenc_jax.data.tasks.base import integers


def train_batch(task, key, batch_size):
    return task.train_batch(None, None, key, batch_size)


TASKS = [EvenPairs(max_length=6), Copying(kind="mcrv", min_length=2, max_length=6), Scan()]


def as_numpy(draw):
    """The same function with NumPy results: slices and joins of them are no programs."""
    return lambda *arguments: jax.tree.map(np.asarray, draw(*arguments))


def assert_trees_equal(one, two):
    jax.tree.map(np.testing.assert_array_equal, one, two)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_train_batch_depends_on_its_key_alone(task):
    draw = as_numpy(jax.jit(train_batch, static_argnums=(0, 2)))
    key = jax.random.key(1)
    batch = draw(task, key, 64)
    assert_trees_equal(draw(task, jax.random.key(1), 64), batch)
    assert not np.array_equal(draw(task, jax.random.key(2), 64).inputs, batch.inputs)
    # A smaller batch is the beginning of a larger one: the batch size changes no example.
    assert_trees_equal(draw(task, key, 16), jax.tree.map(lambda x: x[:16], batch))
    assert batch.inputs.shape == (64, task.width(max(task.train_lengths)))
    assert len(np.unique(batch.inputs, axis=0)) > 1


def test_one_length_per_step_or_per_example():
    keys = jax.random.split(jax.random.key(5), 400)
    of_steps = jax.jit(jax.vmap(lambda key: train_batch(EvenPairs(max_length=6), key, 3).length))
    step = np.asarray(of_steps(keys)) - 1
    assert (step == step[:, :1]).all()
    of_examples = jax.jit(jax.vmap(lambda key: train_batch(Copying(min_length=2, max_length=6), key, 3).length))
    each = np.asarray(of_examples(keys)) // 2 - 1
    assert (each != each[:, :1]).any(axis=1).mean() > 0.8  # three of five lengths are all equal in 4 % of batches
    for lengths, values in ((step[:, 0], range(1, 7)), (each.ravel(), range(2, 7))):
        assert set(lengths.tolist()) == set(values)
        share = 1 / len(values)
        deviation = max(abs(np.mean(lengths == n) - share) for n in values)
        assert deviation < 5 * np.sqrt(share * (1 - share) / len(lengths))


@pytest.mark.parametrize("task", [Copying(kind="rdc", num_symbols=7), Scan(split="simple")])
def test_test_batches_do_not_depend_on_chunks_or_padding_and_compile_once(task):
    traces = []

    @as_numpy
    @functools.partial(jax.jit, static_argnums=(3,))
    def draw(key, length, indices, max_length):
        traces.append(1)
        return task.test_batch(None, key, length, indices, max_length)

    key = jax.random.key(0)
    whole = {n: draw(key, n, np.arange(32), 16) for n in (5, 9)}
    assert len(traces) == 1
    for n, batch in whole.items():
        parts = [draw(key, n, np.arange(start, start + 16), 16) for start in (0, 16)]
        assert_trees_equal(jax.tree.map(lambda *x: np.concatenate(x), *parts), batch)
        wider = draw(key, n, np.arange(32), 20)
        for small, large in zip(jax.tree.leaves(batch), jax.tree.leaves(wider)):
            np.testing.assert_array_equal(small, large[:, : small.shape[1]] if small.ndim == 2 else large)


def test_strings_of_different_lengths_do_not_begin_alike():
    draw = jax.jit(lambda n: EvenPairs().test_batch(None, jax.random.key(0), n, np.arange(64), 20).inputs[:, :19])
    one, two = draw(19), draw(20)
    agreement = np.mean(np.asarray(one) == np.asarray(two))
    assert abs(agreement - 0.5) < 5 * 0.5 / np.sqrt(one.size)


@pytest.mark.parametrize("task", [TASKS[1], pytest.param(TASKS[2], marks=pytest.mark.slow)], ids=lambda task: task.name)
def test_double_precision_changes_no_example(task):
    draw = jax.jit(train_batch, static_argnums=(0, 2))
    plain = draw(task, jax.random.key(1), 4)
    with jax.enable_x64(True):
        wide = draw(task, jax.random.key(1), 4)
    assert_trees_equal(wide, plain)
    for batch in (plain, wide):
        assert {str(leaf.dtype) for leaf in jax.tree.leaves(batch)} == {"int32", "float32"}


def test_integers_are_uniform_and_their_beginning_does_not_depend_on_the_length():
    key = jax.random.key(2)
    drawn = jax.jit(integers, static_argnums=(1, 2))
    draw = np.asarray(drawn(key, (7000,), 7))
    assert draw.dtype == np.int32
    assert np.abs(np.bincount(draw, minlength=7) - 1000).max() < 5 * np.sqrt(1000)
    assert draw.max() == 6
    np.testing.assert_array_equal(drawn(key, (11,), 7), draw[:11])
