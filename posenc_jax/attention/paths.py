"""`attend`, computed in whichever way serves the call."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.attention.blockwise import blockwise, causal_parts, keys_of_block
from posenc_jax.attention.choice import (
    Asked,
    AttentionPath,
    Call,
    choose,
    in_columns,
    in_dimensions,
    in_factors,
    in_table,
)
from posenc_jax.attention.cudnn import cudnn
from posenc_jax.attention.devices import on_each
from posenc_jax.attention.factors import columns, with_factors
from posenc_jax.attention.kernel import ON_GPU, Backend
from posenc_jax.attention.kernel_call import attention_by_distance
from posenc_jax.encodings.interface.attention import Prepared, dense, outputs, prepare
from posenc_jax.encodings.interface.base import Array, Geometry, Params, PositionalEncoding, Sequence, Terms


def attend(
    q: Array,
    k: Array,
    v: Array,
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometry: Geometry | tuple[Geometry, ...],
    terms: tuple[Terms, ...] | None = None,
    *,
    path: Asked = "auto",
    return_weights: bool = False,
    shared_bias: Array | None = None,
    cap: float | None = None,
) -> Array | tuple[Array, Array]:
    """`posenc_jax.encodings.attend`, the reference, in the way that `choose` finds, or in the one that ``path`` names.

    All agree in values and in all gradients, but for rounding, at every query that sees a key. ``shared_bias`` is used
    where the logits are an array, and left alone elsewhere.

    Raises:
      ValueError: as the reference, and if ``path`` cannot serve the call.
    """
    call = prepare(q, k, v, encodings, params, geometry, terms, cap)
    facts = Call.of(call, return_weights=return_weights)
    chosen = choose(encodings, facts, path).path
    if chosen == "dense":
        return dense(call, return_weights=return_weights, shared_bias=shared_bias)
    if chosen == "causal":
        return causal_parts(call, facts.first, shared_bias)
    return along(chosen, call, facts)


def along(path: AttentionPath, call: Prepared, facts: Call) -> Array:
    """``[B, H, Q, D]`` of a call that `choose` found ``path`` to serve."""
    if path == "blockwise":
        return blockwise(call, of_keys=keys_of_block(facts.backend))
    encodings, is_kernel = call.encodings, path == "kernel"
    of_table = in_table(encodings, facts) if is_kernel else ()
    of_columns = in_columns(encodings, facts) if is_kernel else ()
    factored = in_dimensions(encodings, facts) if is_kernel else in_factors(encodings, facts)
    longer = with_factors(call, factored) if factored else call
    if path == "cudnn":
        return outputs(call, cudnn(longer))
    backends: dict[str, Backend] = {"tpu": "tpu", "gpu": ON_GPU, "cpu": "triton"}
    backend = backends[facts.backend]
    out = by_distance(longer, of_table, columns(call, of_columns), backend, interpret=facts.backend == "cpu")
    return outputs(call, out)


def distance_table(call: Prepared, elements: tuple[int, ...]) -> Array | None:
    """``[H, Q + K - 1]``: what the biases of the numbered ``elements`` add where key minus query is the first, the
    second, ... of the distances that occur; None for no elements.

    Computed for one query, at position 0, and a key at every distance, so an encoding needs nothing but its `bias`.
    """
    total = None
    for e in elements:
        geometry = call.geometries[e].by_place()
        queries, keys = geometry.q_positions, geometry.k_positions
        steps = np.arange(queries.shape[1] + keys.shape[1] - 1, dtype=np.int32)[None]
        distances = keys[:, :1] - queries[:, -1:] + steps
        nowhere, nothing = np.zeros((1, 1), np.int32), np.zeros((1,), np.int32)
        one = Geometry.between(
            Sequence(nowhere, nothing, places=nowhere),
            Sequence(distances, nothing),
            causal=geometry.causal,
            num_heads=geometry.num_heads,
            contiguous=True,
            head_axis=geometry.head_axis,
        )
        term = call.encodings[e].bias(call.params[e], one)
        assert term is not None
        total = term if total is None else total + term
    return None if total is None else total[0, :, 0]


def by_distance(
    call: Prepared,
    elements: tuple[int, ...],
    columns: tuple[tuple[Array, Array], ...],
    backend: Backend,
    *,
    interpret: Any = False,
) -> Array:
    """``[B, H, Q, D]`` of a call whose logits are scaled products, the biases of the numbered ``elements``, and the
    products of ``columns`` of queries and keys; on several devices each computes its own rows and heads.
    """
    geometry = call.geometry
    segments = None
    if geometry.k_segments is not None:
        of_queries, of_keys = geometry.q_segments, geometry.k_segments
        if of_queries is None:  # then a query sees every key that is real
            of_queries = np.ones(geometry.q_places.shape, np.int32)
            of_keys = (jnp.asarray(of_keys) != 0).astype(np.int32)
        segments = of_queries, of_keys

    def of_device(q: Array, k: Array, v: Array, table: Any, columns: Any, segments: Any) -> Array:
        return attention_by_distance(
            q,
            k,
            v,
            None if table is None else table[0],
            columns=columns,
            backend=backend,
            scale=call.scale,
            causal=geometry.causal,
            window=geometry.window,
            first=int(geometry.q_places[0, 0]) - int(geometry.k_places[0, 0]),
            segments=None if segments is None else tuple(ids[:, 0] for ids in segments),
            interpret=interpret,
        )

    table = distance_table(call, elements)
    return on_each(
        of_device,
        call.q_encoded,
        call.k_encoded,
        call.v,
        None if table is None else table[None],
        columns,
        None if segments is None else tuple(jnp.asarray(ids)[:, None] for ids in segments),
    )
