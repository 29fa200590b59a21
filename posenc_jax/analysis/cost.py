"""Costs of an encoding: parameters, temporary memory and time of one attention call, against attention alone."""

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.layer import AttentionLayer, noise
from posenc_jax.encodings import Dims, Slot, attend, elements, embed, geometries, token_terms
from posenc_jax.encodings.interface.base import Array, Geometry, Key, Params, Sequence
from posenc_jax.encodings.interface.slots import SlotParams

BATCH, LENGTH = 2, 128
REPETITIONS, PATIENCE = 15, 1.0  # of timed calls: at most so many, and seconds


def num_parameters(slot: Slot, shapes: SlotParams) -> tuple[int, int]:
    """Learned and frozen parameters, from the shapes of what `init_slot` makes."""
    learned = frozen = 0
    for element, own in zip(elements(slot), shapes, strict=True):
        for of_layer in own if element.per_layer else (own,):
            for name, value in of_layer.items():
                size = sum(a.size for a in jax.tree.leaves(value))
                if name in element.frozen:
                    frozen += size
                else:
                    learned += size
    return learned, frozen


@dataclasses.dataclass(frozen=True)
class CompiledCall:
    """One compiled causal attention call, its arguments, and the bytes of its temporaries."""

    program: Any
    arguments: tuple[Any, ...]
    temporaries: int


def attention_call(layer: AttentionLayer | None, dims: Dims, shapes: tuple[Params, ...]) -> CompiledCall:
    """Embeds and attends over `BATCH` sequences of `LENGTH` tokens, float32, positions known at compile time.

    With the encodings of ``layer`` and parameters of these shapes, noise; None is attention alone.
    """
    encodings = () if layer is None else layer.encodings
    x, q, k, v = (jnp.asarray(a, jnp.float32) for a in _inputs(dims))
    params = jax.tree.map(lambda a: jnp.asarray(0.02 * noise(*a.shape), a.dtype), shapes)
    arange = np.arange(LENGTH, dtype=np.int32)[None]
    ones, length = np.ones((1, LENGTH), np.int32), np.full(1, LENGTH, np.int32)
    tokens = Sequence(arange, length)
    if layer is not None:
        tokens = layer.sequence(np.asarray(x), arange, ones, length)
        if tokens.pairs is None:  # which need a mask
            tokens = dataclasses.replace(tokens, segment_ids=None)

    def call(params: tuple[Params, ...], x: Array, q: Array, k: Array, v: Array, key: Key) -> tuple[Array, Array]:
        x = embed(encodings, params, x, tokens, key=key)
        heads = dims.num_heads
        seen: Geometry | tuple[Geometry, ...]
        seen = geometries(encodings, tokens, tokens, num_heads=heads, causal=True, contiguous=True, key=key)
        return x, attend(q, k, v, encodings, params, seen, token_terms(encodings, params, x, tokens))  # type: ignore[return-value]

    arguments = (params, x, q, k, v, jax.random.key(0))
    program = jax.jit(call).lower(*arguments).compile()
    analysis = program.memory_analysis()
    return CompiledCall(program, arguments, int(analysis.temp_size_in_bytes))  # type: ignore[union-attr]


def _inputs(dims: Dims) -> list[np.ndarray]:
    heads = [(n, LENGTH, dims.head_dim) for n in (dims.num_heads, dims.num_kv_heads, dims.num_kv_heads)]
    return [noise(BATCH, *shape, seed=i) for i, shape in enumerate([(LENGTH, dims.d_model), *heads])]


def time_ratio(call: CompiledCall, baseline: CompiledCall, clock: Callable[[], float]) -> tuple[float, float]:
    """The time of a call relative to that of ``baseline``, and in seconds: medians of calls that take turns."""
    begun = clock()
    pairs: list[tuple[float, float]] = []
    while len(pairs) < 3 or (len(pairs) < REPETITIONS + 1 and clock() - begun < PATIENCE):
        pairs.append((_seconds(baseline, clock), _seconds(call, clock)))
    del pairs[0]  # the first calls of a program are slower
    return statistics.median(b / a for a, b in pairs), statistics.median(b for _, b in pairs)


def _seconds(call: CompiledCall, clock: Callable[[], float]) -> float:
    begun = clock()
    jax.block_until_ready(call.program(*call.arguments))
    return clock() - begun
