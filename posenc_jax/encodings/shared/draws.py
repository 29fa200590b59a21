"""Draws of encodings: their first parameters, and keys of positions, one for a batch or one for each of its rows."""

from collections.abc import Mapping
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import check_key
from posenc_jax.encodings.interface.base import Array, Key, Params, Sequence

Per = Literal["batch", "example"]


def normals(key: Key, shapes: Mapping[str, tuple[int, ...]], deviation: float = 0.02) -> Params:
    """Parameters from N(0, deviation^2), float32, each from a key of its own."""
    return {
        name: deviation * jax.random.normal(jax.random.fold_in(key, i), shape, jnp.float32)
        for i, (name, shape) in enumerate(shapes.items())
    }


def draw_keys(key: Key | None, sequence: Sequence, per: Per, name: str) -> Array:
    """Keys ``[1]`` for a whole "batch", or ``[B]`` for each "example": folded with ``example_ids`` (else the number of
    the row), so that a row keeps its draw however a batch is split.

    Raises:
      ValueError: without a key; for "example" where nothing in the sequence tells how many rows the batch has.
        ``name`` is that of the encoding.
    """
    if key is None:
        raise ValueError(f"{name} draws random positions: pass key=")
    check_key("key", key)
    if per == "batch":
        return key[None]
    ids = sequence.example_ids
    if ids is None:
        rows = max(a.shape[0] for a in jax.tree.leaves(sequence))
        if rows == 1 and sequence.tokens is None:
            raise ValueError(
                f"{name} draws for each example, and the sequence does not tell how many there are: give the Sequence "
                "tokens= or example_ids=, or draw once for the whole batch where the encoding has per='batch'"
            )
        ids = jnp.arange(rows)
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.asarray(ids))
