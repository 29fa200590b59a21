"""Fields of encodings that one rule sets from the training lengths, for every arm.

A field with another value than its default stays, and so does an encoding behind one that gives tokens other positions
(`Randomized`, `PoSE`, `Interpolated`). `posenc verdict` leaves all fields of a spec that gives one of `FIELDS`, be it
the default. With P positions in the longest row of training, the others are set:

An encoding that shares a learned number among a class of distances knows nothing about a class that never occurred in
training. So a field that decides where classes begin is lowered until training reaches every class:

- buckets of T5's kind (`T5Bias`, `TUPE` with ``relative``, `GatedBias`): ``num_buckets`` is the largest multiple of 4
  up to P / 2, from 8 to the default; ``max_distance`` is the largest, up to 4 a bucket as T5's 128 are to 32, with
  which the last bucket begins at P / 2 or before, for rows of 10 tokens or more;
- `DeBERTa` v2: in the same way, with half of P / 2 for each direction, from 4 to 256, and up to 2 distances a bucket;
- clipped distances (`Shaw`, `DeBERTa` v1): ``max_distance`` is at most P - 1. Those without a limit, which have None
  (`Huang`, `MusicTransformer`, `XLNet`), keep a number for every distance;
- counted keys (`CoPE`): ``num_positions`` is at most P + 1, as in its authors' code;
- profiles (`Inkling`): ``extent`` is at most P.

A field that is about the training length would otherwise be about that of its authors:

- ``original_length``, ``training_length`` and `QueryTemperature`'s ``floor`` are P, also in the scaling of a rotation
  (`CLEX`, `FoPE`, `LogScaling`, `String`, `Llama3`);
- windows are the share of P that they are of the training length in the authors' settings: `LMInfinite` 4096 of 4096,
  `DualChunk` a chunk of 3072 and a window of 256 of 4096, `SelfExtend` and `ReRoPE` (in the results of its README; its
  code has 512) 1024 of 4096, `String` 128 of 2048.
"""

import dataclasses
from typing import Any, cast

from posenc_jax.encodings import (
    TUPE,
    CoPE,
    DeBERTa,
    DualChunk,
    GatedBias,
    Inkling,
    LMInfinite,
    PositionalEncoding,
    QueryTemperature,
    ReRoPE,
    SelfExtend,
    Shaw,
    String,
    T5Bias,
)
from posenc_jax.encodings.additive.t5 import bucket_starts
from posenc_jax.encodings.interface.slots import Slot, is_pattern
from posenc_jax.encodings.relative.deberta import log_bucket_starts
from posenc_jax.model_kind import ModelKind

_A_BUCKET = 4
"""The distances per bucket up to which T5 tells distances apart."""
_LENGTHS = ("original_length", "training_length")
_SHARES: dict[type, dict[str, float]] = {
    LMInfinite: {"window": 1},
    QueryTemperature: {"floor": 1},
    DualChunk: {"chunk": 3 / 4, "window": 1 / 16},
    ReRoPE: {"window": 1 / 4},
    SelfExtend: {"window": 1 / 4},
    String: {"window": 1 / 16},
}
"""Class -> field -> its share of the training length in the authors' settings."""
FIELDS = {"num_buckets", "max_distance", "num_positions", "extent", *_LENGTHS}.union(*_SHARES.values())
"""The names of all fields that this module sets."""


def fitted(slot: Slot, positions: int, kind: ModelKind) -> Slot:
    """The slot with such fields for rows of at most ``positions`` tokens in training.

    >>> from posenc_jax.encodings import parse, spec
    >>> spec(fitted(parse("t5"), 11, "encoder_only"))
    't5(num_buckets=8, max_distance=12)'
    >>> spec(fitted(parse("t5"), 20, "encoder_only"))
    't5(num_buckets=8, max_distance=32)'
    >>> spec(fitted(parse("t5"), 1024, "encoder_only"))
    't5'
    """
    layers: Any = slot
    if is_pattern(slot):
        return tuple(_fitted_layer(layer, positions, kind) for layer in layers)
    return _fitted_layer(layers, positions, kind)


def _fitted_layer(
    layer: tuple[PositionalEncoding, ...], positions: int, kind: ModelKind
) -> tuple[PositionalEncoding, ...]:
    mapped = next((place for place, own in enumerate(layer) if _maps(own)), len(layer))
    return (*(_fitted(own, positions, kind) for own in layer[:mapped]), *layer[mapped:])


def _maps(own: PositionalEncoding) -> bool:
    """True of an element that gives tokens other positions."""
    return type(own).map_positions is not PositionalEncoding.map_positions


def _fitted(own: PositionalEncoding, positions: int, kind: ModelKind) -> PositionalEncoding:
    changes: dict[str, int] = {}
    if isinstance(own, T5Bias | GatedBias) or (isinstance(own, TUPE) and own.relative):
        changes = _buckets(own, positions, kind) if _default(own, "num_buckets", "max_distance") else {}
    elif isinstance(own, DeBERTa) and own.version == "v2":
        changes = _log_buckets(positions) if _default(own, "num_buckets", "max_distance") else {}
    elif isinstance(own, Shaw | DeBERTa):
        distance = max(1, min(own.max_distance, positions - 1))
        changes = {"max_distance": distance} if _default(own, "max_distance") else {}
    elif isinstance(own, CoPE):
        changes = {"num_positions": min(own.num_positions, positions + 1)} if _default(own, "num_positions") else {}
    elif isinstance(own, Inkling):
        changes = {"extent": min(own.extent, positions)} if _default(own, "extent") else {}
    return cast(PositionalEncoding, _of_length(dataclasses.replace(cast(Any, own), **changes), positions))


def _of_length(own: Any, positions: int) -> Any:
    """The encoding, or a part of one, with its fields about the training length."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(own):
        value = getattr(own, field.name)
        share = 1 if field.name in _LENGTHS else _SHARES.get(type(own), {}).get(field.name)
        if share is not None and value == field.default:
            changes[field.name] = max(1, int(share * positions))
        elif dataclasses.is_dataclass(value):
            changes[field.name] = _of_length(value, positions)
    return dataclasses.replace(own, **changes)


def _default(own: Any, *names: str) -> bool:
    defaults = {field.name: field.default for field in dataclasses.fields(own)}
    return all(getattr(own, name) == defaults[name] for name in names)


def _log_buckets(positions: int) -> dict[str, int]:
    buckets = max(4, min(DeBERTa().num_buckets, positions // 8 * 2))
    least = buckets // 2 + 2
    touched = (
        distance
        for distance in range(2 * buckets, least, -1)
        if 2 * log_bucket_starts(buckets, distance)[buckets - 1] <= positions
    )
    return {"num_buckets": buckets, "max_distance": next(touched, least)}


def _buckets(own: T5Bias | TUPE | GatedBias, positions: int, kind: ModelKind) -> dict[str, int]:
    buckets = max(8, min(own.num_buckets, positions // 8 * 4))
    # Of one direction: where a mask is causal all are for the past.
    sides = {"decoder_only": (buckets,), "encoder_only": (buckets // 2,), "encoder_decoder": (buckets, buckets // 2)}
    most = min(own.max_distance, _A_BUCKET * buckets)
    least = buckets // 2 + 1  # the least that T5Bias takes
    touched = (
        distance
        for distance in range(most, least, -1)
        if all(2 * int(bucket_starts(side, distance)[-1]) <= positions for side in sides[kind])
    )
    return {"num_buckets": buckets, "max_distance": next(touched, least)}
