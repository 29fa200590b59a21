"""Training that begins with short lengths: which are drawn at which step, and what cannot have it."""

from __future__ import annotations

import dataclasses
import functools

import jax
import numpy as np
import pytest

from posenc_jax.config import Run, Training
from posenc_jax.data.tasks import Copying, EvenPairs, FlipFlop, Scan
from posenc_jax.data.tasks.base import Task
from posenc_jax.data.text import Classification
from posenc_jax.models import Transformer
from posenc_jax.training.step import init_params, init_state, train_step

TASK = Copying(kind="cmc", min_length=2, max_length=5, num_symbols=5)
MODEL = Transformer(d_model=16, num_layers=1, num_heads=2)


@functools.cache
def drawn(task, size=64):
    """The lengths of batches of 1 to 9 lengths, each with 20 keys: ``[9, 20, size]``, in symbols."""
    keys = jax.random.split(jax.random.key(0), 20)
    counts = np.arange(1, 10, dtype=np.int32)
    draw = jax.jit(jax.vmap(jax.vmap(lambda n, k: task.growing_batch(k, size, n), (None, 0)), (0, None)))
    return jax.tree.map(np.asarray, draw(counts, keys))


def test_the_shortest_lengths_are_drawn_all_alike():
    lengths = drawn(TASK).length // 2 - 1
    for count, found in enumerate(lengths, 1):
        allowed = range(2, min(2 + count, 6))
        assert set(found.ravel().tolist()) == set(allowed)
        share = 1 / len(allowed)
        for n in allowed:
            assert abs(np.mean(found == n) - share) <= 5 * np.sqrt(share * (1 - share) / found.size)


def test_with_all_lengths_a_batch_is_the_usual_one():
    usual = jax.jit(jax.vmap(lambda key: TASK.train_batch(None, None, key, 64)))(
        jax.random.split(jax.random.key(0), 20)
    )
    for count in (4, 9):
        grown = jax.tree.map(lambda leaf, n=count: leaf[n - 1], drawn(TASK))
        jax.tree.map(np.testing.assert_array_equal, grown, jax.tree.map(np.asarray, usual))


def test_one_length_per_step_stays_one_length_per_step():
    lengths = drawn(EvenPairs(max_length=6)).length
    assert (lengths == lengths[:, :, :1]).all()
    assert {int(n) for n in lengths[2].ravel()} == {2, 3, 4}  # 1 to 3 symbols and the empty token


def test_lengths_of_scan_are_drawn_as_often_as_it_has_commands():
    task = Scan()
    drawn_lengths, first = task.drawn_lengths, task.train_lengths[:3]
    lengths = jax.jit(lambda key: task.growing_batch(key, 2000, np.int32(3)).weights.sum(axis=1) - 1)(jax.random.key(1))
    lengths = np.asarray(lengths).astype(int)
    assert set(lengths.tolist()) == set(first)
    weights = np.array([np.sum(drawn_lengths == n) for n in first])
    for n, share in zip(first, weights / weights.sum()):
        assert abs(np.mean(lengths == n) - share) < 5 * np.sqrt(share * (1 - share) / 2000)


def test_training_draws_one_more_length_every_so_many_steps(monkeypatch):
    """What a step asks for, told by its weighted targets: 8 examples of the longest of so many lengths, with EOS."""

    def longest(task, key, size, count):
        make = functools.partial(task.example, max_length=task.max_length, split="train")
        return jax.vmap(lambda k: make(k, task.min_length - 1 + count))(jax.random.split(key, size))

    monkeypatch.setattr(Task, "growing_batch", longest)
    run = Run(task=TASK, model=MODEL, training=Training(steps=8, batch_size=8, curriculum_every=2))
    state = init_state(run, init_params(run, 0), 0, 1e-2)
    step = jax.jit(lambda now: train_step(run, None, {**state, "step": now})[1]["sums"]["weight_sum"])
    assert [float(step(np.int32(now))) / 8 - 1 for now in range(8)] == [2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        (TASK, {"curriculum_every": 34}, "would come after step 100, the last one; set it to at most 33"),
        (FlipFlop(length=8), {"curriculum_every": 5}, "task 'flip_flop' trains on one length only; set it to 0"),
        (Classification(), {"curriculum_every": 5}, "is for generated tasks: set it to 0 for 'classification'"),
    ],
)
def test_what_cannot_grow_is_refused(task, settings, message):
    model = dataclasses.replace(MODEL, pooling="mean" if isinstance(task, Classification) else None)
    with pytest.raises(ValueError, match=r".") as refused:
        Run(task=task, model=model, training=Training(steps=100, **settings))
    assert message in str(refused.value)
