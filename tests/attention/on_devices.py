"""The kernel on four devices of this process, for `test_devices`, which gives it one with so many."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax import Evaluation, Run, Training, Transformer, parse
from posenc_jax.attention.devices import on_each
from posenc_jax.attention.kernel_call import attention_by_distance
from posenc_jax.config import Execution
from posenc_jax.data.tasks import Copying
from posenc_jax.training.replicas import Program, make_mesh, put_state, stack
from posenc_jax.training.step import init_params, init_state, train_call

SEEDS = (0, 1, 2, 3)


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
    state = put_state(stack([init_state(run, init_params(run, seed), seed, 1e-3) for seed in SEEDS]), mesh)
    split = mesh if execution.split else None
    program = Program("train", lambda s, fed, data: train_call(run, split, s, fed, data), execution, mesh, state, None)
    after, metrics = program(state, None)
    return jax.tree.map(np.asarray, (after["params"], metrics["loss"]))


def apart(data, model):
    """The largest difference of parameters and losses from those of the reference on one device."""
    pairs = zip(*map(jax.tree.leaves, (trained("kernel", Execution("vmap", None, data, model)), _reference())))
    return max(float(np.abs(a - b).max()) for a, b in pairs)


@functools.cache
def _reference():
    return trained("dense", Execution("map"))


def divided(mesh):
    """Four replicas of a call with two rows and two heads, to be lowered for four TPUs."""

    def of_device(q, k, v):
        return attention_by_distance(q, k, v, None, backend="tpu", scale=0.125, causal=True)

    shape = jax.ShapeDtypeStruct((4, 2, 2, 128, 128), jnp.float32)
    program = jax.vmap(functools.partial(on_each, of_device), spmd_axis_name="replica")
    sharded = NamedSharding(mesh, P("replica", "data", "model"))
    return jax.jit(program, in_shardings=sharded).trace(shape, shape, shape).lower(lowering_platforms=("tpu",))


def lowered(data, model):
    """What is said without a mesh, whether the kernel is there with one, and whether it is of a device's own part."""
    mesh = make_mesh(Execution("vmap", None, data, model), len(SEEDS))
    try:
        divided(mesh)
        said = ""
    except NotImplementedError as error:
        said = str(error)
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        text = divided(mesh).as_text()
    each = "x".join(str(size // count) for size, count in zip((4, 2, 2), mesh.devices.shape))
    return said, "tpu_custom_call" in text, f"tensor<{each}x128x128xf32>" in text
