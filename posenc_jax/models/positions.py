"""From the arguments of a call to what the encodings of every layer see."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings import slots
from posenc_jax.encodings.attention import position_bias
from posenc_jax.encodings.base import Array, Geometry, Params, PositionalEncoding, Sequence
from posenc_jax.encodings.slots import Slot


def sequence_of(
    tokens: Array,
    *,
    positions: Array | None = None,
    segment_ids: Array | None = None,
    token_types: Array | None = None,
    length: Array | None = None,
    example_ids: Array | None = None,
) -> Sequence:
    """One side of a model from ``tokens [B, S]``. Positions default to ``0 .. S-1`` (known at trace time), the length to the number of real tokens."""
    size = tokens.shape[1]
    if positions is None:
        positions = np.arange(size, dtype=np.int32)[None]
    if length is None:
        length = np.full((1,), size, np.int32) if segment_ids is None else jnp.sum(segment_ids != 0, axis=1, dtype=jnp.int32)
    return Sequence(positions, length, tokens, segment_ids, token_types, example_ids)


@dataclasses.dataclass(frozen=True)
class LayerEncodings:
    """The encodings of one layer's attention with what `attend` needs of them; ``shared_bias`` is the bias that other layers use too, or None."""

    encodings: tuple[PositionalEncoding, ...]
    params: tuple[Params, ...]
    geometry: Geometry | tuple[Geometry, ...]
    shared_bias: Array | None = None


def layer_encodings(
    slot: Slot, params: tuple[Params, ...], queries: Sequence, keys: Sequence, *, num_layers: int, key: Array | None, train: bool, **call: Any
) -> tuple[LayerEncodings, ...]:
    """One `LayerEncodings` per layer; ``call`` goes to `slots.geometries` (num_heads, causal, q_slots, k_slots, contiguous).

    Layers with the same encodings share the positions, unless drawn per layer, and the bias, unless its parameters are per layer: both are computed once.
    """
    known: dict[tuple[PositionalEncoding, ...], LayerEncodings] = {}
    layers = []
    for layer in range(num_layers):
        encodings = slots.for_layer(slot, layer)
        layer_params = slots.layer_params(slot, params, layer)
        redraws = any(e.redraws_per_layer for e in encodings)
        if encodings in known and not redraws:
            shared = known[encodings]
            layers.append(dataclasses.replace(shared, params=layer_params))
            continue
        geometry = slots.geometries(encodings, queries, keys, key=key, train=train, layer=layer, **call)
        own_bias = redraws or any(e.per_layer and "bias" in e.acts_on for e in encodings)
        bias = None if own_bias else position_bias(encodings, layer_params, geometry)
        known[encodings] = LayerEncodings(encodings, layer_params, geometry, bias)
        layers.append(known[encodings])
    return tuple(layers)


def embed(slot: Slot, params: tuple[Params, ...], x: Array, sequence: Sequence, *, key: Array | None, train: bool) -> Array:
    """``[B, S, M]`` input embeddings with the encodings of the first layer added: the embeddings are made once, before it."""
    return slots.embed(slots.for_layer(slot, 0), slots.layer_params(slot, params, 0), x, sequence, key=key, train=train)
