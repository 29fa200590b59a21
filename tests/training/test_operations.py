"""Operations by the formula, against the products that stand in the program."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params
from test_memory import BASE, of_model, with_posenc

from posenc_jax.config import Evaluation, Run, Training
from posenc_jax.data.tasks import Scan
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.text import Classification, Summarization, Translation
from posenc_jax.models import Streams
from posenc_jax.models.config import Transformer
from posenc_jax.models.decoding_config import Beam
from posenc_jax.training.batches import Batch, buckets
from posenc_jax.training.operations import Work, forward, of_chunk, of_decoding, of_length, of_step, of_validation
from posenc_jax.training.step import evaluate_length, init_params, init_state, train_step, validate
from posenc_jax.training.step import forward as model_forward


def products(jaxpr) -> int:
    """Operations of all matrix products, those of loops as often as they run."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            depth = math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
            total += 2 * depth * math.prod(equation.outvars[0].aval.shape)
        for inner in jaxprs_in_params(equation.params):
            total += equation.params.get("length", 1) * products(inner)
    return total


RUNS = {
    "decoder": of_model(num_layers=2, num_kv_heads=2, mlp_dim=24, head_dim=5),
    "encoder-decoder": Run(task=Scan(model="encoder_decoder"), model=Transformer(d_model=32, num_layers=2)),
    "microbatches": dataclasses.replace(BASE, training=Training(batch_size=16, microbatches=4)),
    "strata": dataclasses.replace(BASE, training=Training(batch_size=16, microbatches=4, length_strata=4)),
    "RoPE, a mapping": with_posenc("randomized(max_position=500)|rope"),
}


@pytest.mark.parametrize("name", ["strata", "RoPE, a mapping"])  # others are in test_costs
def test_a_step_has_these_products(name):
    run = RUNS[name]
    state = jax.eval_shape(lambda: init_state(run, init_params(run, 0), 0, 0.0))
    assert of_step(run).operations == products(jax.make_jaxpr(lambda s: train_step(run, None, s))(state).jaxpr)


@pytest.mark.parametrize("name", ["decoder", "encoder-decoder"])
def test_validation_and_evaluation_have_these_products(name):
    run = dataclasses.replace(RUNS[name], evaluation=Evaluation(lengths=(3, 7), num_examples=24, memory_budget_mb=1))
    params = jax.eval_shape(lambda: init_params(run, 0))
    found = jax.make_jaxpr(lambda p: validate(run, p, np.int32(0)))(params)
    assert of_validation(run).operations == products(found.jaxpr)
    for bucket in buckets(run, (7,)):
        found = jax.make_jaxpr(lambda p, b=bucket: evaluate_length(run, b, p, np.int32(0), np.int32(7)))(params)
        assert of_length(run, 7, 1).operations == products(found.jaxpr)


@pytest.mark.parametrize("types", [0, 4])
def test_pooling_has_these_products(types):
    run = Run(task=Classification(), model=Transformer(pooling="attention", token_types=types, head_dim=8))
    tokens, length = np.zeros((3, 10), np.int32), np.full(3, 10, np.int32)
    read = Example(tokens, tokens[:, :1], tokens[:, :1], length, tokens, token_types=tokens if types else None)
    params = jax.eval_shape(lambda: init_params(run, 0))
    found = jax.make_jaxpr(
        lambda p: model_forward(run, p, read, streams=Streams(), example_ids=np.arange(3), train=False)
    )(params)
    assert forward(run, Batch(3, 10, 0, pooled=True)) == products(found.jaxpr)


def test_tokens_are_those_of_the_padded_batch():
    assert of_step(BASE).tokens == 16 * BASE.task.width(31)
    narrower = [BASE.task.width(n) for n in BASE.task.strata(4)]
    assert of_step(RUNS["strata"]).tokens == 4 * sum(narrower) < of_step(RUNS["microbatches"]).tokens
    packed = Run(task=Translation(row=112), training=Training(batch_size=5))
    assert of_step(packed).tokens == 5 * 2 * 112


def test_decoding_grows_with_what_is_written():
    def run(task, decoded, **evaluation):
        return Run(task=task, evaluation=Evaluation(lengths=(16,), decoded_examples=decoded, **evaluation))

    assert of_decoding(run(Translation(), 0), 16) == of_chunk(run(Translation(), 0), 16) == Work()
    assert of_decoding(run(Translation(), 33), 16) == of_chunk(run(Translation(), 33), 16) * 2
    one, four = (of_chunk(run(Translation(), 1, decoding=Beam(size=size)), 16) for size in (1, 4))
    assert four.tokens - one.tokens == 3 * 32 * Translation().decoder_width(16)
    assert 3 < four.operations / one.operations < 4
    summary = run(Summarization(), 1)
    given, new = summary.task.width(16), summary.task.max_summary + 1
    assert of_chunk(summary, 16).tokens == 32 * (given + new)
