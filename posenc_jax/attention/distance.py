"""The table kernel on a call of attention: the biases of a slot as one table of distances."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.attention.devices import on_each
from posenc_jax.attention.kernel import Backend
from posenc_jax.attention.kernel_call import attention_by_distance
from posenc_jax.encodings.attention import Prepared
from posenc_jax.encodings.base import Array, Geometry, Sequence


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
