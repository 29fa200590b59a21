"""Attention some queries at a time: every hook of every encoding, on any backend, in O(T) memory.

A block of queries against all keys is what a cache gives attention anyway (chunks of a prompt, single tokens), and
the clause ``cached_decoding`` of the contract holds every encoding to it. So a block is the reference itself, and what
no block of keys could serve comes out right as well: other normalisations than the softmax, sums along the keys (CoPE,
PaTH, stick-breaking, the Forgetting Transformer), convolutions over neighbouring keys (DAPE V2).
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.arrays import check_size
from posenc_jax.encodings.attention import Prepared, dense
from posenc_jax.encodings.base import Array, Geometry

# Of each head: so many logits are held at once, of at least and at most so many queries.
LOGITS, FEWEST, MOST = 2**20, 8, 512


def block_size(queries: int, keys: int) -> int:
    """The number of queries in a block.

    >>> [block_size(length, length) for length in (100, 1024, 8192, 16384, 10**6)]
    [100, 512, 128, 64, 8]
    """
    return min(queries, MOST, max(FEWEST, LOGITS // keys))


def blockwise(call: Prepared, size: int | None = None) -> Array:
    """`dense` for blocks of ``size`` queries in turn (None: `block_size`), each recomputed for the gradient.

    The arrays of a block, ``[B, H, size, K]`` for the logits and again for the weights, are freed before the next:
    memory grows with K and Q, not with their product. If ``size`` does not divide Q, the last block overlaps the one
    before it, so that no query is made up.
    """
    queries = call.q.shape[2]
    size = block_size(queries, call.k.shape[2]) if size is None else size
    check_size("size", size)
    blocks = -(-queries // size)
    if blocks == 1:
        return dense(call)  # type: ignore[return-value]

    def split(x: Array, axis: int) -> Array:
        """``[blocks, ...]``: what belongs to the queries of each block."""
        x = jnp.asarray(x)
        full = jax.lax.slice_in_dim(x, 0, (blocks - 1) * size, axis=axis)
        full = full.reshape(*x.shape[:axis], blocks - 1, size, *x.shape[axis + 1 :])
        last = jax.lax.slice_in_dim(x, queries - size, queries, axis=axis)
        return jnp.concatenate([jnp.moveaxis(full, axis, 0), last[None]])

    def of_queries(geometry: Geometry) -> dict[str, Any]:
        return {name: split(x, 1) for name, x in geometry.queries.for_each_token().items()}

    def at_block(geometry: Geometry, of: dict[str, Any]) -> Geometry:
        return dataclasses.replace(geometry, queries=dataclasses.replace(geometry.queries, **of))

    def block(part: tuple[Array, Array, dict[str, Any], tuple[dict[str, Any], ...]]) -> Any:
        q, q_encoded, of_call, of_each = part
        return dense(
            call._replace(
                q=q,
                q_encoded=q_encoded,
                geometry=at_block(call.geometry, of_call),
                geometries=tuple(map(at_block, call.geometries, of_each)),
            )
        )

    parts = (
        split(call.q, 2),
        split(call.q_encoded, 2),
        of_queries(call.geometry),
        tuple(map(of_queries, call.geometries)),
    )
    outs = jax.lax.map(jax.checkpoint(block, prevent_cse=False), parts)
    full = jnp.moveaxis(outs[:-1], 0, 2)
    full = full.reshape(*full.shape[:2], (blocks - 1) * size, full.shape[-1])
    return jnp.concatenate([full, outs[-1][:, :, blocks * size - queries :]], axis=2)
