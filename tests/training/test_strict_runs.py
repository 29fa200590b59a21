"""A run under JAX's strict settings, and the settings under which no program runs."""

import functools

import jax
import numpy as np
import pytest

from posenc_jax import Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import TASKS
from posenc_jax.training.batches import buckets
from posenc_jax.training.step import evaluate_length, init_params, init_state, train_call, validate

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
