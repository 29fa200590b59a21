"""Batches whose lengths are stratified: the same distribution, narrower rows, the same sums."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.config import Execution, Optimizer, Run, Training
from posenc_jax.data.tasks import Copying, EvenPairs, FlipFlop, ReverseString, Scan, base
from posenc_jax.data.tasks.base import Task
from posenc_jax.data.text import Classification
from posenc_jax.encodings import RoPE
from posenc_jax.models import Transformer
from posenc_jax.training import step
from posenc_jax.training.replicas import over_replicas, stack
from posenc_jax.training.step import init_params, init_state, train_call, train_step

TASK = Copying(kind="cmc", min_length=2, max_length=8, num_symbols=5)
TRAINING = Training(steps=2, batch_size=12, microbatches=6, steps_per_call=1, log_every=1)
RUN = Run(task=TASK, model=Transformer(d_model=16, num_layers=1, num_heads=2), posenc=(RoPE(),), training=TRAINING)


def at_full_width(task, key, size, strata):
    """The examples of a stratified batch as one batch, padded to the longest length of training."""
    drawn, (length_key, example_key) = task.drawn_lengths, jax.random.split(key)
    count = 1 if task.length_per == "step" else size // strata
    within = jnp.broadcast_to(base.integers(length_key, (strata, count), len(drawn)), (strata, size // strata))
    shares = [jnp.asarray(drawn)[(s * len(drawn) + v) // strata] for s, v in enumerate(within)]
    keys = jax.vmap(functools.partial(jax.random.fold_in, example_key))(jnp.arange(size))
    make = functools.partial(task.example, max_length=task.train_lengths[-1], split="train")
    return jax.vmap(make)(keys, jnp.concatenate(shares))


@pytest.mark.parametrize("strata", [2, 3, 7])
@pytest.mark.parametrize("task", [TASK, Copying(kind="rsc", max_length=64), Scan()], ids=["7", "64", "scan"])
def test_every_length_is_drawn_as_often_as_without(task, strata):
    """Over all draws, counted: also where a share ends within a length, and where lengths are not equally frequent."""
    drawn = task.drawn_lengths
    draws = np.arange(len(drawn))
    found = np.concatenate([drawn[(share * len(drawn) + draws) // strata] for share in range(strata)])
    np.testing.assert_array_equal(np.bincount(found), strata * np.bincount(drawn))
    longest = [drawn[(share * len(drawn) + draws) // strata].max() for share in range(strata)]
    assert task.strata(strata) == tuple(longest)


@pytest.mark.parametrize(("task", "strata"), [(TASK, 3), (EvenPairs(max_length=10), 3)])
def test_examples_are_the_same_and_the_rows_narrower(task, strata):
    key = jax.random.key(3)
    wide = jax.jit(lambda key: at_full_width(task, key, 12, strata))(key)
    batches = jax.jit(lambda key: task.stratified_batch(key, 12, strata))(key)
    assert [batch.inputs.shape for batch in batches] == [
        (12 // strata, task.width(longest)) for longest in task.strata(strata)
    ]
    one_length = [len(set(np.asarray(batch.length).tolist())) == 1 for batch in batches]
    assert one_length == [task.length_per == "step"] * strata
    for share, batch in enumerate(batches):
        rows = slice(share * 12 // strata, (share + 1) * 12 // strata)
        for name in ("inputs", "targets", "weights", "length", "segment_ids"):
            narrow, full = np.asarray(getattr(batch, name)), np.asarray(getattr(wide, name))[rows]
            if narrow.ndim > 1:
                assert not np.asarray(wide.segment_ids)[rows, narrow.shape[1] :].any(), "something is cut off"
                full = full[:, : narrow.shape[1]]
            np.testing.assert_array_equal(narrow, full, err_msg=name)


def called(run):
    call = jax.jit(over_replicas(lambda state, *_: train_call(run, None, state), Execution(mode="map"), None))
    start = stack([jax.jit(lambda params: init_state(run, params, 0, 1e-2))(init_params(run, 0))])
    return jax.tree.map(np.asarray, call(start, None, None))


@pytest.mark.parametrize("strata", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_a_step_is_that_of_the_same_examples_at_full_width(monkeypatch, strata):
    """Scores and gradient; the numbers of the examples too, by which positions and dropout are drawn."""
    run = dataclasses.replace(RUN, model=dataclasses.replace(RUN.model, dropout=0.3))
    state, metrics = called(dataclasses.replace(run, training=dataclasses.replace(TRAINING, length_strata=strata)))
    monkeypatch.setattr(Task, "train_batch", lambda task, data, fed, key, size: at_full_width(task, key, size, strata))
    wanted_state, wanted = called(run)
    assert metrics["count"] == wanted["count"] == 12
    for name in ("loss", "accuracy", "gradient_norm", "largest_token", "largest_target"):
        np.testing.assert_allclose(metrics[name], wanted[name], rtol=2e-5, err_msg=name)
    for a, b in zip(jax.tree.leaves(state["opt"]), jax.tree.leaves(wanted_state["opt"]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


class SeenError(Exception):
    """Ends a step as soon as all examples were seen."""


def test_examples_of_a_step_have_numbers_of_their_own(monkeypatch):
    """By which their positions and dropout are drawn."""
    seen = []

    def record(run, params, example, *, streams, example_ids, train):
        seen.append(np.asarray(example_ids).tolist())
        if len(seen) == 3:
            raise SeenError
        return jnp.zeros((*example.targets.shape, run.task.num_classes))

    shapes = jax.eval_shape(lambda key: TASK.stratified_batch(key, 12, 3), jax.random.key(0))
    batches = jax.tree.map(lambda own: np.ones(own.shape, own.dtype), shapes)
    monkeypatch.setattr(step, "forward", record)
    monkeypatch.setattr(Task, "stratified_batch", lambda task, key, size, strata: batches)
    training = dataclasses.replace(TRAINING, microbatches=3, length_strata=3)
    state = {"params": {}, "opt": (), "step": np.int32(0), "seed": np.int32(0)}
    with pytest.raises(SeenError):
        step.train_step(dataclasses.replace(RUN, training=training), None, state)
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize(("apart", "wanted"), [(True, 2.5), (False, 2.6)])
def test_a_gradient_is_the_mean_over_targets_or_over_strata(apart, wanted):
    totals = [({"a": jnp.array(4.0)}, {"weight_sum": 2.0}), ({"a": jnp.array(9.0)}, {"weight_sum": 3.0})]
    assert step._mean_gradient(totals, apart=apart)["a"] == pytest.approx(wanted)


def first_moment(state):
    """Of Adam: after one step a multiple of the gradient."""
    (adam,) = jax.tree.leaves(state["opt"], is_leaf=lambda node: hasattr(node, "mu"))
    return adam.mu


def test_where_a_step_has_one_length_every_length_weighs_the_same(monkeypatch):
    """The gradient is the mean of those that steps of each stratum alone would have, so its expectation is that of
    steps without strata: lengths are drawn as often. A sum over all targets would give long ones the weight of their
    length.
    """
    strata = 3
    task = ReverseString(max_length=8)
    run = dataclasses.replace(RUN, task=task, optimizer=Optimizer(clip_norm=None))
    wide = dataclasses.replace(TRAINING, length_strata=strata)
    alone = dataclasses.replace(TRAINING, microbatches=TRAINING.microbatches // strata)
    together, _ = called(dataclasses.replace(run, training=wide))
    moments, widths = [], set()
    for share in range(strata):

        def batch_of_share(task, data, fed, key, size, share=share):
            batch = task.stratified_batch(key, size, strata)[share]
            widths.add(batch.inputs.shape[1])
            return batch

        monkeypatch.setattr(Task, "train_batch", batch_of_share)
        moments.append(first_moment(called(dataclasses.replace(run, training=alone))[0]))
    assert len(widths) == strata
    wanted = jax.tree.map(lambda *leaves: sum(leaves) / strata, *moments)
    for a, b in zip(jax.tree.leaves(first_moment(together)), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


@dataclasses.dataclass(frozen=True)
class OftenShort(Copying):
    """Draws its lengths itself, as a user's task may."""

    name = "often_short"

    def sample_lengths(self, key, shape):
        return jnp.minimum(super().sample_lengths(key, shape), 3)


@pytest.mark.parametrize(
    ("task", "strata", "microbatches", "message"),
    [
        (
            OftenShort(kind="cmc", max_length=8),
            2,
            2,
            "has a sample_lengths of its own, which strata would pass by; set",
        ),
        (TASK, 4, 6, "training.length_strata = 4 does not divide training.microbatches = 6: every share"),
        (
            Copying(kind="cmc", min_length=2, max_length=3),
            3,
            3,
            "length_strata = 3 is more than the 2 training lengths",
        ),
        (
            Classification(),
            2,
            2,
            "training.length_strata = 2 is for generated tasks: set it to 1; 'classification' has",
        ),
    ],
)
def test_what_cannot_be_stratified_is_refused(task, strata, microbatches, message):
    pooling = "mean" if isinstance(task, Classification) else None
    with pytest.raises(ValueError, match=r".") as refused:
        Run(
            task=task,
            model=Transformer(d_model=16, num_layers=1, num_heads=2, pooling=pooling),
            training=Training(batch_size=12 * microbatches, microbatches=microbatches, length_strata=strata),
        )
    assert message in str(refused.value)


# Training that begins with short lengths: which are drawn at which step, and what cannot have it.


GROWING = Copying(kind="cmc", min_length=2, max_length=5, num_symbols=5)
MODEL = Transformer(d_model=16, num_layers=1, num_heads=2)


@functools.cache
def drawn(task, size=64):
    """The lengths of batches of 1 to 9 lengths, each with 20 keys: ``[9, 20, size]``, in symbols."""
    keys = jax.random.split(jax.random.key(0), 20)
    counts = np.arange(1, 10, dtype=np.int32)
    draw = jax.jit(jax.vmap(jax.vmap(lambda n, k: task.growing_batch(k, size, n), (None, 0)), (0, None)))
    return jax.tree.map(np.asarray, draw(counts, keys))


def test_the_shortest_lengths_are_drawn_all_alike():
    lengths = drawn(GROWING).length // 2 - 1
    for count, found in enumerate(lengths, 1):
        allowed = range(2, min(2 + count, 6))
        assert set(found.ravel().tolist()) == set(allowed)
        share = 1 / len(allowed)
        for n in allowed:
            assert abs(np.mean(found == n) - share) <= 5 * np.sqrt(share * (1 - share) / found.size)


def test_with_all_lengths_a_batch_is_the_usual_one():
    usual = jax.jit(jax.vmap(lambda key: GROWING.train_batch(None, None, key, 64)))(
        jax.random.split(jax.random.key(0), 20)
    )
    for count in (4, 9):
        grown = jax.tree.map(lambda leaf, n=count: leaf[n - 1], drawn(GROWING))
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
    run = Run(task=GROWING, model=MODEL, training=Training(steps=8, batch_size=8, curriculum_every=2))
    state = init_state(run, init_params(run, 0), 0, 1e-2)
    step = jax.jit(lambda now: train_step(run, None, {**state, "step": now})[1]["sums"]["weight_sum"])
    assert [float(step(np.int32(now))) / 8 - 1 for now in range(8)] == [2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        (GROWING, {"curriculum_every": 34}, "would come after step 100, the last one; set it to at most 33"),
        (FlipFlop(length=8), {"curriculum_every": 5}, "task 'flip_flop' trains on one length only; set it to 0"),
        (Classification(), {"curriculum_every": 5}, "is for generated tasks: set it to 0 for 'classification'"),
    ],
)
def test_what_cannot_grow_is_refused(task, settings, message):
    model = dataclasses.replace(MODEL, pooling="mean" if isinstance(task, Classification) else None)
    with pytest.raises(ValueError, match=r".") as refused:
        Run(task=task, model=model, training=Training(steps=100, **settings))
    assert message in str(refused.value)
