"""What a run is said to take of memory, against what XLA plans; what is named when it is too much."""

from __future__ import annotations

import contextlib
import dataclasses
import math

import jax
import numpy as np
import pytest
from effort import counted
from jax.extend.core import jaxprs_in_params
from registry_slots import slots_of_tasks

from posenc_jax.config import Evaluation, Run, Training
from posenc_jax.data.tasks import TASKS, Copying, Scan, TokenAt
from posenc_jax.data.tasks.base import Example
from posenc_jax.data.tasks.by_offset import SUMS
from posenc_jax.data.text import Classification, Summarization, Translation
from posenc_jax.encodings import elements, parse
from posenc_jax.models import Streams
from posenc_jax.models.config import Transformer
from posenc_jax.models.decoding_config import Beam
from posenc_jax.runs.preflight import check_memory, shortage
from posenc_jax.training.batches import Batch, buckets, of_few_lengths
from posenc_jax.training.layout import Devices
from posenc_jax.training.memory import memory_of, parameters_of
from posenc_jax.training.operations import Work, forward, of_chunk, of_decoding, of_length, of_step, of_validation
from posenc_jax.training.step import evaluate_length, init_params, init_state, train_call, train_step, validate
from posenc_jax.training.step import forward as model_forward

BASE = Run(
    task=Copying(kind="mc", max_length=31, num_symbols=50),
    model=Transformer(d_model=32, num_layers=1, num_heads=4),
    training=Training(batch_size=16, steps=4, steps_per_call=1, log_every=1),
    evaluation=Evaluation(lengths=(31,), num_examples=32),
)


def of_model(**fields) -> Run:
    return dataclasses.replace(BASE, model=dataclasses.replace(BASE.model, **fields))


def with_posenc(text: str, **fields) -> Run:
    return dataclasses.replace(BASE, posenc=parse(text), label="", **fields)


# Models at random are in test_costs; these have parameters of encodings.
MODELS = {
    "a set in each layer": with_posenc("cope/nope", model=Transformer(num_layers=3)),
    "a table behind a mapping": with_posenc("randomized(max_position=500)|learned"),
    "as many as layers": with_posenc("floater", model=Transformer(num_layers=3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_those_of_the_model(name):
    run = MODELS[name]
    shapes = jax.eval_shape(lambda: init_params(run, 0))
    assert parameters_of(run) == sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(shapes))


# Each makes another part the largest.
PLANNED = {
    "attention": of_model(num_heads=16, mlp_dim=8),
    "logits": dataclasses.replace(BASE, task=dataclasses.replace(BASE.task, num_symbols=1000)),
    "parts": dataclasses.replace(
        BASE, task=dataclasses.replace(BASE.task, max_length=255), training=Training(batch_size=4)
    ),
    "draws": with_posenc("randomized(max_position=1000000)|rope"),
    "blocks": dataclasses.replace(
        BASE, task=dataclasses.replace(BASE.task, max_length=1023), training=Training(batch_size=4)
    ),
}


FIRST = ("attention", "blocks", "parts", "draws")


@pytest.mark.parametrize("name", [n if n in FIRST else pytest.param(n, marks=pytest.mark.slow) for n in PLANNED])
def test_a_step_takes_what_xla_plans(name):
    run = PLANNED[name]
    state = jax.eval_shape(lambda: init_state(run, init_params(run, 0), 0, 0.0))
    step = jax.jit(lambda state: train_call(run, None, state), donate_argnums=0)
    planned, estimate = step.lower(state).compile().memory_analysis(), memory_of(run, 1, 1)
    assert estimate.state == pytest.approx(planned.argument_size_in_bytes, rel=1e-2)
    assert 0.7 < estimate.step / planned.temp_size_in_bytes < 1.4


def test_blocks_of_attention_are_counted():
    """Of 256 queries and 256 keys, of four heads: by XLA's plan two of each row in a step, three in an evaluation,
    beside eight vectors of 32 numbers of each token.
    """
    one = dataclasses.replace(PLANNED["blocks"], evaluation=Evaluation(lengths=(1023,), num_examples=1))
    found, more = memory_of(one, 1, 1), dataclasses.replace(one.model, num_layers=2)
    assert found.attention == 4 * 2 * 4 * 4 * 256 * 256
    assert found.evaluation == 4 * (3 * 4 * 256 * 256 + 1024 * 8 * 32)
    assert memory_of(dataclasses.replace(one, model=more), 1, 1).attention == found.attention
    cope = dataclasses.replace(one, posenc=parse("cope"), label="")
    assert memory_of(cope, 1, 1).evaluation > 4 * 4 * 2048**2


def test_sums_of_all_chunks_are_counted():
    run = Run(task=TokenAt(length=64), evaluation=Evaluation(lengths=(64,), num_examples=1024, memory_budget_mb=8))
    (bucket,) = buckets(run, (64,))
    assert memory_of(run, 1, 1).scores == 4 * (1024 // bucket.chunk) * len(SUMS) * 64 * 64


@pytest.mark.parametrize("name", TASKS)
def test_every_generated_task_has_an_estimate(name):
    """Sums of its own are known from shapes, whatever parts its examples have."""
    task = TASKS[name]()
    found = memory_of(Run(task=task, evaluation=Evaluation(lengths=(max(task.train_lengths),))), 1, 1)
    assert found.evaluation > 0


def test_each_part_grows_with_what_it_is_of():
    one = memory_of(BASE, 1, 1)
    four = memory_of(BASE, 4, 2)
    assert four.parameters == 4 * one.parameters
    assert four.checkpoint == 4 * one.checkpoint == 4 * one.state
    assert four.step == 2 * one.step
    apart = memory_of(BASE, 1, 1, data=4, model=2)
    assert apart.attention == one.attention / 4
    assert apart.parameters == one.parameters // 8 * 4
    assert apart.optimizer == 2 * apart.parameters // 4
    assert memory_of(BASE, 1, 1, data=4, model=2, backend="gpu").snapshot == apart.state
    half = dataclasses.replace(BASE, model=dataclasses.replace(BASE.model, dtype="bfloat16"))
    assert memory_of(half, 1, 1).activations == one.activations == 2 * memory_of(half, 1, 1, backend="gpu").activations
    text = Run(task=Translation(), evaluation=Evaluation(lengths=(16,), decoded_examples=4, decoding=Beam(size=8)))
    greedy = dataclasses.replace(text, evaluation=Evaluation(lengths=(16,), decoded_examples=4))
    assert memory_of(text, 1, 1).decoding == 8 * memory_of(greedy, 1, 1).decoding > 0
    assert memory_of(dataclasses.replace(text, evaluation=Evaluation(lengths=(16,))), 1, 1).decoding == 0


QUICK = ("learned", "dynamic_bias", "randomized", "t5")
CASES = [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in slots_of_tasks()]


@pytest.mark.parametrize("name", CASES)
def test_no_number_of_an_encoding_keeps_one_waiting(name):
    """Taken or refused, every whole number of every encoding is so at once, and without its memory."""
    slot = slots_of_tasks()[name]
    task = Classification() if any(e.needs_token_types for e in elements(slot)) else Copying(max_length=4)
    run = Run(task=task, model=Transformer(head_dim=8), posenc=slot)
    for index, element in enumerate(slot):
        for field in dataclasses.fields(element):
            if "int" not in str(field.type) or isinstance(getattr(element, field.name), bool | tuple):
                continue
            for number in (2**31 - 1, 10**6):
                with counted() as effort, contextlib.suppress(ValueError):
                    changed = dataclasses.replace(element, **{field.name: number})
                    check_memory(dataclasses.replace(run, posenc=(*slot[:index], changed, *slot[index + 1 :])))
                assert effort.calls < 8_000_000, f"{field.name} = {number}"


def test_of_many_lengths_one_for_each_program_is_asked_for():
    evaluation = Evaluation(lengths=tuple(range(1, 3001)), num_examples=32, memory_budget_mb=1)
    many = dataclasses.replace(BASE, evaluation=evaluation)
    few = of_few_lengths(many)
    assert few.evaluation.lengths == (16, 31, 62, 124, 248, 496, 992, 1984, 3000)
    assert memory_of(few, 2, 1) == memory_of(many, 2, 1)
    said = shortage(many, Devices(1, "cpu", 3 * 2**22))  # less than an example of 3000 takes
    assert said.endswith(": lower evaluation.lengths or evaluation.memory_budget_mb")


# Operations by the formula, against the products that stand in the program.


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
