"""The way in which a run computes attention in training, from its config and the kind of device."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.attention import Call, Choice, choose
from posenc_jax.attention.devices import part_of
from posenc_jax.config import Run
from posenc_jax.data.text.base import is_packed
from posenc_jax.encodings.slots import for_layer
from posenc_jax.models.config import STACKS
from posenc_jax.models.layer_encodings import options_of
from posenc_jax.training.batches import Batch


def choices(run: Run, batch: Batch, backend: str) -> dict[str, tuple[Choice, ...]]:
    """Stack -> what `posenc_jax.attention.choose` finds for every layer of it, on "cpu", "gpu" or "tpu"."""
    return {stack: _of_stack(run, batch, backend, stack) for stack in STACKS[run.task.model_kind]}


def _of_stack(run: Run, batch: Batch, backend: str, stack: str) -> tuple[Choice, ...]:
    model, kind = run.model, run.task.model_kind
    packed = is_packed(run.task)
    decoder = batch.decoder_width or batch.width
    call = Call(
        batch=batch.rows,
        num_heads=part_of(model.num_heads, run.execution.model),
        num_kv_heads=part_of(model.kv_heads, run.execution.model),
        queries=batch.width if stack == "encoder" else decoder,
        keys=decoder if stack == "decoder" else batch.width,
        head_dim=model.width_of_head,
        dtype=jnp.dtype(model.dtype),
        backend=backend,
        causal=stack == "decoder",
        segments=kind != "decoder_only" or packed,
        right_padded=not packed,
        contiguous=not packed,
        packed=packed and stack != "cross",
        options=options_of(model),
    )
    slot = getattr(run.slots, stack)
    calls = (dataclasses.replace(call, window=model.window(layer)) for layer in range(model.depth(stack)))
    return tuple(choose(for_layer(slot, layer), call, model.attention) for layer, call in enumerate(calls))
