"""The kernel on several devices: every device computes its own replicas, rows and heads, and nothing is gathered."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax import Evaluation, Run, Training, Transformer, parse
from posenc_jax.attention import Call
from posenc_jax.attention.devices import on_each, part_of
from posenc_jax.attention.kernel_call import attention_by_distance
from posenc_jax.config import Execution
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import Geometry
from posenc_jax.encodings.attention import prepare
from posenc_jax.training.replicas import Program, make_mesh, place, stack
from posenc_jax.training.step import init_params, init_state, train_call

SEEDS = (0, 1, 2, 3)
SPLITS = (Execution("vmap"), Execution("vmap", data=2), Execution("vmap", model=2), Execution("vmap", data=2, model=2))


def trained(attention, execution):
    """Parameters and losses of four replicas after two steps."""
    run = Run(
        task=Copying(kind="cmc", max_length=7, num_symbols=12),
        model=Transformer(d_model=16, num_layers=1, num_heads=2, attention=attention),
        posenc=parse("fox|t5|rope"),
        training=Training(steps=2, steps_per_call=2, log_every=2, batch_size=8, microbatches=2),
        evaluation=Evaluation(lengths=(7,), num_examples=8),
        execution=execution,
        seeds=SEEDS,
    )
    mesh = make_mesh(execution, len(SEEDS))
    state = place(stack([init_state(run, init_params(run, seed), seed, 1e-3) for seed in SEEDS]), mesh)
    split = mesh if execution.split else None
    program = Program("train", lambda s, fed, data: train_call(run, split, s, fed, data), execution, mesh, state, None)
    after, metrics = program(state, None)
    return jax.tree.map(np.asarray, (after["params"], metrics["loss"]))


@functools.cache
def reference():
    return trained("dense", Execution("map"))


@pytest.mark.parametrize(
    "execution", [SPLITS[-1], *(pytest.param(e, marks=pytest.mark.slow) for e in SPLITS[:-1])], ids=str
)
def test_training_on_several_devices_is_that_of_the_reference(execution):
    assert len(jax.devices()) >= 4
    for got, want in zip(*map(jax.tree.leaves, (trained("kernel", execution), reference())), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


def divided(mesh):
    """Four replicas of a call with two rows and two heads, to be lowered for four TPUs."""

    def of_device(q, k, v):
        return attention_by_distance(q, k, v, None, backend="tpu", scale=0.125, causal=True)

    shape = jax.ShapeDtypeStruct((4, 2, 2, 128, 128), jnp.float32)
    program = jax.vmap(functools.partial(on_each, of_device), spmd_axis_name="replica")
    sharded = NamedSharding(mesh, P("replica", "data", "model"))
    return jax.jit(program, in_shardings=sharded).trace(shape, shape, shape).lower(lowering_platforms=("tpu",))


@pytest.mark.parametrize("execution", SPLITS, ids=str)
def test_it_lowers_for_several_tpus_and_nothing_is_gathered(execution):
    mesh = make_mesh(execution, len(SEEDS))
    with pytest.raises(NotImplementedError, match="cannot be automatically partitioned"):
        divided(mesh)
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        text = divided(mesh).as_text()
    assert "tpu_custom_call" in text
    each = tuple(size // count for size, count in zip((4, 2, 2), mesh.devices.shape))
    assert f"tensor<{'x'.join(map(str, each))}x128x128xf32>" in text


def test_the_choice_is_of_what_one_device_has():
    mesh = make_mesh(Execution("vmap", data=2, model=2), 1)
    q, k = np.zeros((8, 4, 16, 8), np.float32), np.zeros((8, 2, 16, 8), np.float32)
    call = prepare(q, k, k, (), (), Geometry.of_length(16, num_heads=4, causal=True))
    assert (Call.of(call).batch, Call.of(call).num_heads, Call.of(call).num_kv_heads) == (8, 4, 2)
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        found = Call.of(call)
        assert part_of(7, "data", mesh.abstract_mesh) == 7  # not divided: every device has all
    assert (found.batch, found.num_heads, found.num_kv_heads) == (4, 2, 1)
