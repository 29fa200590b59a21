"""The mean over the last checkpoints, and label smoothing: against plain loops over what training makes."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry_slots import AllowingTypes

from posenc_jax.config import Evaluation, Execution, Optimizer, Run, Training
from posenc_jax.data.scoring import scores, smoothed_loss
from posenc_jax.data.tasks.base import Example
from posenc_jax.models import Transformer
from posenc_jax.runs.cell import run
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.state import load_group_state
from posenc_jax.training.optimizer import averaged, measured
from posenc_jax.training.step import init_params, init_state, train_step

CONFIG = Run(
    task=AllowingTypes(kind="cmc", max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=2),
    optimizer=Optimizer(schedule="constant"),
    training=Training(steps=6, batch_size=4, steps_per_call=2, log_every=2, checkpoint_every=2, averaged_checkpoints=2),
    evaluation=Evaluation(lengths=(2,), num_examples=4),
    execution=Execution(mode="map", group_size=2),
    seeds=(0, 1),
    learning_rates=(1e-2,),
)


def test_a_running_mean_over_the_last_checkpoints():
    training = Training(steps=12, checkpoint_every=3, log_every=3, averaged_checkpoints=3)
    rng = np.random.default_rng(0)
    params = [{"a": rng.normal(size=3).astype(np.float32), "frozen": np.float32([0.1])} for _ in range(12)]
    average = jax.tree.map(np.zeros_like, params[0])
    for step in range(1, 13):
        average = averaged(training, average, params[step - 1], jnp.int32(step))
        if step < 6:
            assert not any(leaf.any() for leaf in jax.tree.leaves(average))
    np.testing.assert_allclose(average["a"], np.mean([params[i]["a"] for i in (5, 8, 11)], axis=0), rtol=1e-6)
    assert average["frozen"] == np.float32(0.1), "what is not trained stays, to the bit"


def test_replicas_that_diverged_keep_their_last_good_parameters():
    state = {"params": {"a": np.zeros((2, 3))}, "average": {"a": np.ones((2, 3))}, "diverged_at": np.array([-1, 4])}
    assert measured(CONFIG.training, state)["params"]["a"].tolist() == [[1.0] * 3, [0.0] * 3]
    assert measured(Training(), state) is state


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("averaged") / "run"
    return directory, run(CONFIG, directory, reporter=Reporter())


def test_a_run_measures_and_keeps_the_mean_of_its_checkpoints(finished):
    """Those of another run with the same steps that measures its last state only."""
    directory, _ = finished
    _, state = load_group_state(CONFIG, directory / "group-000")
    step = jax.jit(lambda s: train_step(plain, None, s)[0])
    plain = dataclasses.replace(CONFIG, training=dataclasses.replace(CONFIG.training, averaged_checkpoints=1))
    for index, seed in enumerate(CONFIG.seeds):
        one, passed = init_state(plain, init_params(plain, seed), seed, 1e-2), []
        for _ in range(6):
            one = step(one)
            passed.append(one["params"])
        wanted = jax.tree.map(lambda a, b: (a + b) / 2, passed[3], passed[5])
        got = jax.tree.map(lambda leaf, i=index: leaf[i], state["params"])
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), got, wanted)


def test_a_run_that_is_stopped_goes_on_to_the_same_average(finished, tmp_path):
    _, whole = finished
    asked = iter([None, 15])
    with pytest.raises(Exception, match="stopped at step 4"):
        run(CONFIG, tmp_path / "run", reporter=Reporter(), stop=lambda: next(asked))
    again = run(CONFIG, tmp_path / "run", reporter=Reporter())
    assert [r["parameters_sha256"] for r in again[0]["replicas"]] == [
        r["parameters_sha256"] for r in whole[0]["replicas"]
    ]


def test_smoothed_targets():
    """-sum_c q_c log p_c with the smoothed q, in plain NumPy."""
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(2, 3, 5)).astype(np.float32)
    targets, weights = rng.integers(0, 5, (2, 3)), np.array([[1, 0.5, 0], [1, 0, 0]], np.float32)
    example = Example(inputs=targets, targets=targets, weights=weights, length=np.array([3, 3]), segment_ids=targets)
    total = 0.0
    for b in range(2):
        for t in range(3):
            z = logits[b, t].astype(np.float64)
            log_p = z - np.log(np.exp(z).sum())
            q = np.full(5, 0.1 / 5)
            q[targets[b, t]] += 0.9
            total -= weights[b, t] * (q * log_p).sum()
    np.testing.assert_allclose(smoothed_loss(logits, example, 0.1), total, rtol=1e-6)
    np.testing.assert_allclose(smoothed_loss(logits, example, 0.0), scores(logits, example)["loss_sum"], rtol=1e-6)


def test_training_descends_on_the_smoothed_loss_and_reports_the_plain_one():
    smooth, plain = (
        dataclasses.replace(CONFIG, training=Training(steps=1, batch_size=4, log_every=1, label_smoothing=part))
        for part in (0.3, 0.0)
    )
    state = init_state(plain, init_params(plain, 0), 0, 1e-2)
    (new, metrics), (other, reported) = (jax.jit(lambda s, c=c: train_step(c, None, s))(state) for c in (smooth, plain))
    assert metrics["sums"]["loss_sum"] == reported["sums"]["loss_sum"]
    assert metrics["gradient_norm"] != reported["gradient_norm"]
    assert any((a != b).any() for a, b in zip(*(jax.tree.leaves(s["params"]) for s in (new, other)), strict=True))
