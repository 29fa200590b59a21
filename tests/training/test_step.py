"""One replica: paired randomness, microbatches, learning rates as data, divergence."""

from __future__ import annotations

import dataclasses
import functools
import json
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from registry_slots import AllowingTypes, slots_of_tasks

from posenc_jax.cli.scores import score_table
from posenc_jax.config import Evaluation, Execution, Optimizer, Run, Training
from posenc_jax.data.tasks import TASKS, Task
from posenc_jax.data.text import Classification, LanguageModel
from posenc_jax.encodings import Learned, Randomized
from posenc_jax.models import Transformer
from posenc_jax.runs.files import dumps
from posenc_jax.training import step as step_module
from posenc_jax.training.replicas import over_replicas, stack
from posenc_jax.training.step import init_params, init_state, train_call, train_step, validate

MODEL = Transformer(d_model=16, num_layers=1, num_heads=2, dropout=0.2)
TASK = AllowingTypes(kind="cmc", max_length=3, num_symbols=4)
TRAINING = Training(steps=4, batch_size=8, steps_per_call=1, log_every=1)


def run_with(posenc=(), **fields) -> Run:
    evaluation = Evaluation(lengths=(2, 5), num_examples=8)
    fields = {"task": TASK, "model": MODEL, "training": TRAINING, "evaluation": evaluation} | fields
    return Run(posenc=posenc, **fields)


def leaves(params):
    """Everything but the encodings' own parameters, by path."""
    rest = {name: value for name, value in params.items() if name != "posenc"}
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(rest)}


# Pairing: replicas of one seed share everything random but their encoding's own parameters.


# Most of the time is spent compiling draws that the test does not look at.
QUICK = ("learned", "fox")
CASES = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in slots_of_tasks()]


@pytest.mark.parametrize("name", CASES)
def test_initial_parameters_are_paired(name):
    for seed in (0, 3):
        plain, other = init_params(run_with(), seed), init_params(run_with(slots_of_tasks()[name]), seed)
        assert leaves(plain).keys() == leaves(other).keys()
        for path, leaf in leaves(plain).items():
            np.testing.assert_array_equal(leaf, leaves(other)[path], err_msg=path)


def test_initial_parameters_differ_between_seeds_and_layers():
    run = run_with((Learned(),), model=dataclasses.replace(MODEL, num_layers=2))
    first, second = init_params(run, 0), init_params(run, 1)
    drawn = [path for path, leaf in leaves(first).items() if leaf.ndim == 2]
    assert len(drawn) == 14  # two tables and, in each of two layers, six matrices
    for path in drawn:
        assert (leaves(first)[path] != leaves(second)[path]).mean() > 0.99, path
    blocks = first["decoder"]["blocks"]
    assert (blocks[0]["mlp"]["hidden"]["kernel"] != blocks[1]["mlp"]["hidden"]["kernel"]).mean() > 0.99
    tables = [np.asarray(p["posenc"]["decoder"][0]["table"]) for p in (first, second)]
    assert (tables[0] != tables[1]).mean() > 0.99


class SeenError(Exception):
    """Ends a step as soon as `forward` was called, with what it was given."""


def test_data_and_dropout_are_paired(monkeypatch):
    """What a step gives to `forward`: all but the parameters is the same for every encoding."""

    def record(run, params, example, *, streams, example_ids, train):
        keys = {"dropout": jax.random.key_data(streams.dropout), "positions": jax.random.key_data(streams.positions)}
        seen = {"inputs": example.inputs, "targets": example.targets, "weights": example.weights, "ids": example_ids}
        raise SeenError({name: np.asarray(value) for name, value in {**seen, **keys, "train": train}.items()})

    monkeypatch.setattr(step_module, "forward", record)
    drawn = jax.jit(Task.train_batch, static_argnums=(0, 4))
    monkeypatch.setattr(Task, "train_batch", lambda *arguments: drawn(*arguments))

    def record_of(posenc, seed, step):
        state = {"params": {}, "opt": (), "step": np.int32(step), "seed": np.int32(seed)}
        with pytest.raises(SeenError) as seen:
            train_step(run_with(posenc), None, state)
        return seen.value.args[0]

    expected = record_of((), 3, 5)
    for other in (record_of((), 4, 5), record_of((), 3, 6)):  # another seed, another step
        for name in ("inputs", "dropout", "positions"):
            assert (expected[name] != other[name]).any(), name
    assert (expected["ids"] == np.arange(8)).all()
    assert expected["train"]
    for encoding, slot in slots_of_tasks().items():
        for name, got in record_of(slot, 3, 5).items():
            np.testing.assert_array_equal(expected[name], got, err_msg=f"{encoding}: {name}")


def test_validation_draws_its_positions_apart_from_its_batch(monkeypatch):
    def drawn(task, data, key, index, size):
        seen["batch"] = np.asarray(jax.random.key_data(key))
        return SimpleNamespace(inputs=np.zeros((size, 1)))

    def record(run, params, example, *, streams, example_ids, train):
        raise SeenError({**seen, "positions": np.asarray(jax.random.key_data(streams.positions))})

    seen: dict[str, np.ndarray] = {}
    monkeypatch.setattr(Task, "validation_batch", drawn)
    monkeypatch.setattr(step_module, "forward", record)
    monkeypatch.setattr(jax.lax, "map", lambda function, indices: function(indices[0]))
    with pytest.raises(SeenError) as found:
        validate(run_with(), {}, np.int32(3))
    batch, positions = found.value.args[0].values()
    assert (batch != positions).all()


# The step.


SLOT = (Randomized(max_position=16, per="example"), Learned(max_len=16))


@functools.cache
def three_steps(microbatches: int):
    """State and metrics after three steps with Adam's epsilon at 1: an update is then as smooth as the gradient."""
    optimizer = Optimizer(schedule="constant", eps=1.0, clip_norm=None)
    run = run_with(SLOT, optimizer=optimizer, training=dataclasses.replace(TRAINING, microbatches=microbatches))
    call = jax.jit(functools.partial(train_call, run, None))
    state = init_state(run, init_params(run, 0), 0, 0.5)
    for _ in range(3):
        state, metrics = call(state)
    return jax.tree.map(np.asarray, (state, metrics))


def test_microbatches_change_results_by_rounding_only():
    """Dropout and positions drawn per example are on.

    Bound: sums of 8 rows and 8 positions in another order, a relative error of some 2**-24 * sqrt(64) of the largest
    gradients, three times over; the parameters move by about 0.1, so 2e-6 is generous and 1e4 below what other
    dropout masks or other positions would change.
    """
    start = jax.tree.leaves(init_params(run_with(SLOT), 0))
    end = jax.tree.leaves(three_steps(1)[0]["params"])
    assert max(np.abs(a - b).max() for a, b in zip(end, start, strict=True)) > 0.05
    for whole, split in zip(jax.tree.leaves(three_steps(1)), jax.tree.leaves(three_steps(4)), strict=True):
        np.testing.assert_allclose(split, whole, rtol=2e-5, atol=2e-6)


CONSTANT = {"model": dataclasses.replace(MODEL, dropout=0.0), "optimizer": Optimizer(schedule="constant")}


@pytest.fixture(scope="module")
def group():
    """A compiled call of three replicas: a function from (steps, replicas) to all states; ``metrics`` of its steps."""
    run = run_with(**CONSTANT)
    call = jax.jit(over_replicas(lambda state, *_: train_call(run, None, state), Execution(mode="map"), None))

    def train(steps, *replicas):
        states = [stack([init_state(run, init_params(run, seed), seed, rate) for seed, rate in replicas])]
        train.metrics = []
        for _ in range(steps):
            state, metrics = jax.tree.map(np.asarray, call(states[-1], None, None))
            states.append(state)
            train.metrics.append(metrics)
        return states

    return train


def test_the_metrics_of_a_call_are_means_over_its_steps(group):
    """Two calls of one step and one call of two steps end in the same state, and the losses average by weight."""
    state = group(2, (0, 0.01), (0, 0.01), (0, 0.01))[-1]
    first, second = ({name: value[0] for name, value in metrics.items()} for metrics in group.metrics)
    run = run_with(**CONSTANT, training=dataclasses.replace(TRAINING, steps_per_call=2, log_every=2))
    call = jax.jit(functools.partial(train_call, run, None))
    state2, both = call(init_state(run, init_params(run, 0), 0, 0.01))
    for a, b in zip(replica(state["params"], 0), jax.tree.leaves(state2["params"]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)  # Adam makes much of rounding in gradients near zero
    assert int(both["count"]) == int(first["count"] + second["count"]) == 16
    assert min(first["loss"], second["loss"]) < both["loss"] < max(first["loss"], second["loss"])
    np.testing.assert_allclose(both["exact_match"], (first["exact_match"] + second["exact_match"]) / 2, atol=1e-6)
    np.testing.assert_allclose(both["gradient_norm"], second["gradient_norm"], rtol=1e-3)


def replica(state, index):
    return jax.tree.leaves(jax.tree.map(lambda leaf: np.asarray(leaf)[index], state))


def equal(a, b):
    return all((x == y).all() for x, y in zip(a, b, strict=True))


def test_learning_rates_are_data(group):
    """Rates side by side give the bits of rates alone, and an update is proportional to its rate."""
    together = group(2, (0, 0.25), (0, 0.5), (0, 1e-3))[-1]
    for index, rate in enumerate((0.25, 0.5, 1e-3)):
        alone = group(2, (0, rate), (0, rate), (0, rate))[-1]
        assert equal(replica(together, index), replica(alone, 2)), rate
    start, after, _ = group(2, (0, 0.25), (0, 0.5), (0, 1e-3))
    moved = [
        [b - a for a, b in zip(replica(start["params"], i), replica(after["params"], i), strict=True)] for i in range(3)
    ]
    for quarter, half, little in zip(*moved, strict=True):
        # p - rate * d rounds at the size of p, which is below 4 here.
        np.testing.assert_allclose(half, 2 * quarter, atol=4 * 2**-23)
        np.testing.assert_allclose(little, half / 500, atol=4 * 2**-23)
    assert max(np.abs(m).max() for m in moved[1]) > 0.4


@pytest.mark.parametrize(("rate", "diverged_at"), [(np.inf, 0), (1e38, None)])
def test_a_diverged_replica_freezes_alone(group, rate, diverged_at):
    """Its last good state stays, with the step that failed; the bits of its neighbours do not change."""
    history = group(5, (0, 0.01), (0, rate), (1, 0.02))
    calm = group(5, (0, 0.01), (7, 0.01), (1, 0.02))
    for index in (0, 2):
        assert equal(replica(history[-1], index), replica(calm[-1], index))
        assert history[-1]["diverged_at"][index] == -1
    failed = int(history[-1]["diverged_at"][1])
    assert 0 <= failed < 4
    assert diverged_at is None or failed == diverged_at
    for state in history:
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state["params"]))
    for number, state in enumerate(history):
        assert state["diverged_at"][1] == (failed if number > failed else -1)
        for part in ("params", "opt"):
            if number > failed:
                assert equal(replica(state[part], 1), replica(history[failed][part], 1)), (part, number)
    if failed:
        assert not equal(replica(history[failed]["params"], 1), replica(history[0]["params"], 1))
    assert (history[-1]["step"] == 5).all()


def test_a_mean_of_nothing_is_no_score():
    """In results and tables of a length without a test example; never loss 0 or perplexity 1, the best there are."""
    sums = dict.fromkeys(("loss_sum", "correct_sum", "weight_sum", "exact_sum", "example_count"), np.float32(0))
    own = {
        LanguageModel(): {"range_loss": np.zeros(18, np.float32), "range_weight": np.zeros(18, np.float32)},
        Classification(): {"confusion": np.zeros((9, 9), np.float32)},
        TASK: {},
    }
    for task, more in own.items():
        means = jax.tree.map(np.asarray, step_module.means({**sums, **more}))
        row = json.loads(dumps(task.results(means)))
        assert row["count"] == 0
        for name in {"loss", "accuracy", "exact_match", "perplexity", "macro_f1"} & row.keys():
            assert row[name] is None, (task.name, name)
        config = run_with(task=task, evaluation=Evaluation(lengths=(7,)), model=Transformer())
        table = score_table(config, [{"seed": 0, "learning_rate": 1.0, "evaluation": [{"length": 7, **row}]}])
        assert table.splitlines()[-1].split() == ["0", "1", "-"]


# Two generated ones, one that is listed, and a probe with sums of its own: the others are built like one of them.
FEW = ("copying", "even_pairs", "scan", "token_at")


@pytest.mark.parametrize(
    "task", [task if name in FEW else pytest.param(task, marks=pytest.mark.slow) for name, task in TASKS.items()]
)
def test_the_state_of_every_task_comes_back_as_it_went_in(task):
    """Structure, shapes and dtypes of a call with microbatches, traced only."""
    training = dataclasses.replace(TRAINING, microbatches=2)
    run = run_with(task=task(), training=training, evaluation=Evaluation())
    state = jax.eval_shape(lambda: init_state(run, init_params(run, 0), 0, 1e-3))
    after, metrics = jax.eval_shape(functools.partial(train_call, run, None), state)
    assert jax.tree.structure(after) == jax.tree.structure(state)
    for leaf, got in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert (got.shape, got.dtype) == (leaf.shape, leaf.dtype)
    assert metrics["loss"].shape == ()
