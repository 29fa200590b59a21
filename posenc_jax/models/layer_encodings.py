"""Makes the arguments of a call into what the encodings of each layer see."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

import jax.numpy as jnp
import numpy as np

from posenc_jax.attention.choice import AttentionPath, Call, choose, facts
from posenc_jax.encodings.interface import slots
from posenc_jax.encodings.interface.arrays import check_ids
from posenc_jax.encodings.interface.attention import position_bias
from posenc_jax.encodings.interface.base import Array, Geometry, Key, Params, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.models.config import Transformer


class NextFacts(TypedDict, total=False):
    """Facts that a call of a model gives of its tokens: fields of `Sequence`, each None or left out for its default.

    Attributes:
      positions: ``[#B, S]`` or ``[#B, S, A]``; default ``0 .. S-1``.
      segment_ids: ``[#B, S]``; tokens see only their own segment, 0 is padding.
      token_types: ``[#B, S]``.
      length: ``[#B]`` real length, or ``[#B, S]``, that of every token's segment; default: its number of tokens.
      example_ids: ``[B]`` numbers of the rows in the whole batch; dropout and drawn positions depend on them.
    """

    positions: Array | None
    segment_ids: Array | None
    token_types: Array | None
    length: Array | None
    example_ids: Array | None


class TokenFacts(NextFacts, total=False):
    """`NextFacts`, and what only whole sequences have.

    Attributes:
      outline: ``[#B, S, 4]``, for a mask from structure.
      right_padded, packed: promises that let more fused ways to attend serve and spare biases a matrix for every row.
      attributes: ``[#B, S, A]`` numbers of each token.
      pairs: ``[#B, S, S, P]`` numbers of each pair of tokens, which need ``segment_ids``. See `Sequence`.
    """

    outline: Array | None
    attributes: Array | None
    pairs: Array | None
    right_padded: bool
    packed: bool


# The facts that every call of a model reads.
ALWAYS = frozenset({"positions", "segment_ids", "length", "example_ids"})


def refuse_unread(facts: Mapping[str, Any], *also: str) -> None:
    """Refuses (TypeError) facts that a call does not read: only those of `ALWAYS`, and ``also`` these."""
    read = ALWAYS.union(also)
    if unread := [name for name in facts if name not in read]:
        raise TypeError(f"{unread[0]} is no argument of this call, which reads {', '.join(sorted(read))}: leave it out")


def sequence_of(tokens: Array, **facts: Unpack[TokenFacts]) -> Sequence:
    """One side of a model from ``tokens [B, S]``.

    Positions default to ``0 .. S-1``, known at trace time, the length to the number of real tokens: in each segment
    those of its own. ValueError: arrays that are not of the same tokens, or of other numbers than `Sequence` has.
    """
    check_ids("tokens", tokens)
    size, segment_ids = tokens.shape[1], facts.get("segment_ids")
    if segment_ids is not None:
        check_ids("segment_ids", segment_ids, "segment ids")
    if facts.get("positions") is None:
        facts["positions"] = np.arange(size, dtype=np.int32)[None]
    if facts.get("length") is None:
        facts["length"] = np.full((1,), size, np.int32) if segment_ids is None else segment_lengths(segment_ids)
    sequence = Sequence(tokens=tokens, **facts)  # type: ignore[arg-type]
    sequence.check()
    return sequence


def segment_lengths(segment_ids: Array) -> Array:
    """``[#B, S]`` int32: how many tokens the segment of each has; 0 for padding, which is segment 0."""
    same = segment_ids[:, :, None] == segment_ids[:, None, :]
    return jnp.where(segment_ids != 0, jnp.sum(same, axis=2, dtype=jnp.int32), 0)


@dataclasses.dataclass(frozen=True)
class LayerEncodings:
    """The encodings of one layer's attention and what `attend` needs of them.

    ``sequence`` is the query side; ``path`` the way to compute attention; ``shared_bias`` the `position_bias` that
    other layers use too, or None, as always where the path is neither "dense" nor "causal".
    """

    sequence: Sequence
    encodings: tuple[PositionalEncoding, ...]
    params: tuple[Params, ...]
    geometry: Geometry | tuple[Geometry, ...]
    path: AttentionPath = "dense"
    shared_bias: Array | None = None


def layer_encodings(
    slot: Slot,
    params: tuple[Params, ...],
    queries: Sequence,
    keys: Sequence,
    *,
    config: Transformer,
    num_layers: int,
    dtype: Any,
    key: Key | None,
    train: bool,
    **call: Any,
) -> tuple[LayerEncodings, ...]:
    """One `LayerEncodings` per layer; ``call`` goes to `slots.geometries` (causal, contiguous, ...).

    ``dtype`` is that of queries and keys.

    What layers with the same encodings and windows have in common is computed once: the positions, unless they are
    drawn per layer, and then the bias, unless its parameters are per layer.
    """
    known: dict[Any, LayerEncodings] = {}
    layers = []
    for layer in range(num_layers):
        encodings = slots.for_layer(slot, layer)
        layer_params = slots.layer_params(slot, params, layer)
        window = config.window(layer)
        if (encodings, window) in known:
            layers.append(dataclasses.replace(known[encodings, window], params=layer_params))
            continue
        of_layer: dict[str, Any] = {"key": key, "train": train, "layer": layer, "window": window, **call}
        geometry = slots.geometries(encodings, queries, keys, num_heads=config.num_heads, **of_layer)
        path = choose(encodings, _call(config, dtype, queries, geometry), config.attention).path
        if any(e.redraws_per_layer for e in encodings):
            layers.append(LayerEncodings(queries, encodings, layer_params, geometry, path))
            continue
        own_bias = any(e.per_layer and "bias" in e.acts_on for e in encodings)
        bias = None if own_bias or path not in ("dense", "causal") else position_bias(encodings, layer_params, geometry)
        known[encodings, window] = LayerEncodings(queries, encodings, layer_params, geometry, path, bias)
        layers.append(known[encodings, window])
    return tuple(layers)


def _call(config: Transformer, dtype: Any, queries: Sequence, geometry: Geometry | tuple[Geometry, ...]) -> Call:
    first = geometry[0] if isinstance(geometry, tuple) else geometry
    found = facts(first)
    assert queries.tokens is not None
    return Call(
        batch=queries.tokens.shape[0],
        num_heads=config.num_heads,
        num_kv_heads=config.kv_heads,
        queries=first.q_positions.shape[1],
        keys=first.k_positions.shape[1],
        head_dim=config.width_of_head,
        dtype=dtype,
        **found | {"options": found["options"] | options_of(config)},
    )


def options_of(config: Transformer) -> frozenset[str]:
    """The `Call.options` of a model."""
    given = {"cap": config.attention_cap, "structure": config.mask}
    return frozenset(name for name, value in given.items() if value is not None)
