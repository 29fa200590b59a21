"""Fields of encodings that one rule sets from the training lengths, for every arm.

An encoding that shares a learned number among a class of distances knows nothing about a class that never occurred in
training. So a field that decides where classes begin is lowered, if it has its default, until training reaches every
class; a field that somebody set stays. With P positions in the longest row of training:

- buckets of T5's kind (`T5Bias`, `TUPE` with ``relative``): ``num_buckets`` is the largest multiple of 4 up to P / 2,
  from 8 to the default of 32; ``max_distance`` is the largest, up to 4 a bucket as the paper's 128 are to 32, with
  which the last bucket begins at P / 2 or before;
- clipped distances (`Shaw`, `DeBERTa` v1): ``max_distance`` is at most P - 1.
"""

import dataclasses
from typing import Any, cast

from posenc_jax.encodings import TUPE, DeBERTa, PositionalEncoding, Shaw, T5Bias
from posenc_jax.encodings.slots import Slot, is_pattern
from posenc_jax.encodings.t5 import bucket_starts
from posenc_jax.model_kind import ModelKind

_A_BUCKET = 4
"""The distances per bucket up to which T5 tells distances apart."""


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
        return tuple(tuple(_fitted(own, positions, kind) for own in layer) for layer in layers)
    return tuple(_fitted(own, positions, kind) for own in layers)


def _fitted(own: PositionalEncoding, positions: int, kind: ModelKind) -> PositionalEncoding:
    changes: dict[str, int] = {}
    if isinstance(own, T5Bias) or (isinstance(own, TUPE) and own.relative):
        changes = _buckets(positions, kind) if _default(own, "num_buckets", "max_distance") else {}
    elif isinstance(own, Shaw) or (isinstance(own, DeBERTa) and own.version == "v1"):
        distance = max(1, min(own.max_distance, positions - 1))
        changes = {"max_distance": distance} if _default(own, "max_distance") else {}
    return cast(PositionalEncoding, dataclasses.replace(cast(Any, own), **changes))


def _default(own: Any, *names: str) -> bool:
    defaults = {field.name: field.default for field in dataclasses.fields(own)}
    return all(getattr(own, name) == defaults[name] for name in names)


def _buckets(positions: int, kind: ModelKind) -> dict[str, int]:
    plain = T5Bias()
    buckets = max(8, min(plain.num_buckets, positions // 8 * 4))
    # Of one direction: where a mask is causal all are for the past.
    sides = {"decoder_only": (buckets,), "encoder_only": (buckets // 2,), "encoder_decoder": (buckets, buckets // 2)}
    most = min(plain.max_distance, _A_BUCKET * buckets)
    least = max(side // 2 for side in sides[kind]) + 1
    touched = (
        distance
        for distance in range(most, least, -1)
        if all(2 * int(bucket_starts(side, distance)[-1]) <= positions for side in sides[kind])
    )
    return {"num_buckets": buckets, "max_distance": next(touched, least)}
