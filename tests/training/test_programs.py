"""One program for encodings that differ in values alone: their tables are inputs, not constants."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from trained_runs import CONFIG

from posenc_jax import Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.tasks import TASKS
from posenc_jax.runs.state import abstract_state
from posenc_jax.training.batches import buckets
from posenc_jax.training.leaf_names import names
from posenc_jax.training.replicas import Program, lowered, make_mesh, put_state
from posenc_jax.training.step import evaluate_length, init_params, init_state, train_call, validate
from posenc_jax.training.streams import STREAMS, at_step, stream


def text(run):
    """The program that trains a group of the run."""
    state = abstract_state(run, 2)
    call = lambda s, _, __: train_call(run, None, s)  # noqa: E731
    return lowered(call, run.execution, make_mesh(run.execution, 2), state, None, donate=True)[0].as_text()


@pytest.mark.parametrize(
    ("posenc", "programs"),
    [
        (("rope", "rope(base=5e5)", "rope(scaling=linear(factor=4))"), 1),
        (("sinusoidal", "sinusoidal(base=100)", "rope(rotary_dim=4)"), 2),  # the last has other operations
        (("temperature(0.5)", "temperature(2)"), 1),
    ],
)
def test_encodings_that_differ_in_values_share_a_program(posenc, programs):
    assert len({text(dataclasses.replace(CONFIG, posenc=parse(own))) for own in posenc}) == programs


@pytest.mark.parametrize("mode", ["devices", "vmap", "map"])
def test_a_program_computes_with_its_own_values(mode):
    """Equal tables go in once; whole numbers stay constants."""
    whole, execution = np.arange(3), Execution(mode=mode)
    mesh, state = make_mesh(execution, 2), np.arange(6, dtype=np.float32).reshape(2, 3)

    def scaled(table):
        other = table.copy()
        return lambda replica, fed, shared: (replica * table + whole * shared, replica + other)

    first, second = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)
    given = [lowered(scaled(table), execution, mesh, state, 2.0) for table in (first, second)]
    assert [len(tables) for _, _, tables in given] == [1, 1]
    assert given[0][0].as_text() == given[1][0].as_text()
    executables = {}
    for table in (first, second):
        program = Program("scaled", scaled(table), execution, mesh, state, 2.0, executables=executables)
        product, total = program(put_state(state, mesh), 2.0)
        np.testing.assert_array_equal(product, state * table + 2 * whole)
        np.testing.assert_array_equal(total, state + table)
    assert len(executables) == 1
    named = Program("named", lambda x, *_: {"a": x * first}, execution, mesh, state, 2.0, executables=executables)
    other = Program("named", lambda x, *_: {"b": x * first}, execution, mesh, state, 2.0, executables=executables)
    assert [list(own(put_state(state, mesh), 2.0)) for own in (named, other)] == [["a"], ["b"]]


def test_a_program_for_devices_that_are_only_described_touches_none(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("no device is there to put anything on")

    monkeypatch.setattr("jax.device_put", refuse)
    run = dataclasses.replace(CONFIG, posenc=parse("rope"))
    assert "stablehlo" in text(run)


# A run under JAX's strict settings, and the settings under which no program runs.


SMALL = (
    *("copying", "even_pairs", "bucket_sort", "counting", "arrow_grid", "flip_flop"),
    *("token_back", "position_or_token"),
)


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(n, marks=pytest.mark.slow) for n in TASKS if n not in SMALL)])
def test_every_program_of_a_run_is_traced(name):
    task = TASKS[name]()
    length = getattr(task, "max_length", getattr(task, "length", 8))
    run = Run(
        task=task,
        model=Transformer(d_model=8, num_layers=1, num_heads=2),
        training=Training(steps=2, steps_per_call=2, log_every=2, batch_size=2, validation_batches=1),
        evaluation=Evaluation(lengths=(length,), num_examples=2),
        execution=Execution(mode="map"),
    )
    state = jax.eval_shape(lambda: init_state(run, init_params(run, 0), 0, 1e-3))
    [bucket] = buckets(run, run.evaluation.lengths)
    evaluate = functools.partial(evaluate_length, run, bucket)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        jax.eval_shape(lambda s: train_call(run, None, s, None, None), state)
        jax.eval_shape(lambda p, seed: validate(run, p, seed), state["params"], np.int32(0))
        jax.eval_shape(evaluate, state["params"], np.int32(0), np.int32(length))


# Names of leaves: the same in a state of NNX and in the tree of its arrays, and the same as on disk.


def of(tree):
    return [".".join(names(path)) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


def test_a_projection_called_value_keeps_its_name():
    """Attention has one; only the attribute that holds a variable's array is no part of a name."""
    state = nnx.State(
        {"attention": {"value": {"kernel": nnx.Param(jnp.zeros(2))}, "key": {"bias": nnx.Param(jnp.ones(1))}}}
    )
    assert of(state) == ["attention.key.bias", "attention.value.kernel"]
    assert of(nnx.to_pure_dict(state)) == of(state)


def test_moments_and_counts_of_the_optimizer_have_names():
    state = {"opt": optax.scale_by_adam().init(np.zeros(2, np.float32)), "params": {"blocks": {0: np.zeros(1)}}}
    assert of(state) == ["opt.count", "opt.mu", "opt.nu", "params.blocks.0"]


# Random streams: no two of them, no two seeds and no two steps share a key.


def test_no_two_streams_of_a_thousand_seeds_share_a_key():
    seeds = jnp.arange(1000)
    keys = [jax.random.key_data(jax.vmap(lambda s, n=name: stream(s, n))(seeds)) for name in STREAMS]
    keys += [jax.random.key_data(jax.vmap(lambda s, n=name: at_step(s, n, 7))(seeds)) for name in STREAMS]
    assert len(np.unique(np.concatenate(keys), axis=0)) == 2 * len(STREAMS) * 1000


def test_no_two_steps_share_a_key():
    keys = jax.random.key_data(jax.vmap(lambda t: at_step(3, "dropout", t))(jnp.arange(10_000)))
    assert len(np.unique(keys, axis=0)) == 10_000


def test_streams_are_threefry_and_stay_what_they_are():
    """Every result depends on these numbers."""
    key = at_step(0, "data", 5)
    assert jax.random.key_impl(key) == "threefry2x32"
    with jax.default_prng_impl("rbg"):
        assert jax.random.key_impl(stream(0, "data")) == "threefry2x32"
    expected = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), 2), 5)
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(expected))
    assert " ".join(STREAMS[:8]) == ("model posenc data dropout positions validation evaluation evaluation_positions")
