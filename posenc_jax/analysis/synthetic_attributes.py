"""Made-up attributes of tokens and of pairs, functions of token ids, for encodings that read attributes."""

from typing import Any

import numpy as np

from posenc_jax.encodings.absolute.numbers import OfNumbers
from posenc_jax.encodings.interface.base import Array, PositionalEncoding


def attributes_of(ids: Array, count: int, most: int = 1) -> Array | None:
    """``[B, S, count]`` made-up attributes of tokens ``[B, S]``: halves from 0 to ``most``; None for none."""
    return _halves(ids, count, most) if count else None


def pairs_of(queries: Array, keys: Array, count: int, most: int = 1) -> Array | None:
    """``[B, Q, K, count]`` made-up attributes of pairs of tokens, not the same for both orders; None for none."""
    return _halves(8 * queries[:, :, None] + keys[:, None, :], count, most) if count else None


def _halves(ids: Array, count: int, most: int) -> Array:
    number = np.arange(count, dtype=np.int32).reshape(*(1,) * ids.ndim, count)
    return (ids[..., None] * (1 + number % 2) + number) % (2 * most + 1) / 2


def attributes_for(encodings: tuple[PositionalEncoding, ...], tokens: Array, most: int = 1) -> dict[str, Any]:
    """Fields of a `Sequence` of ``tokens [B, S]``: the made-up attributes of tokens and of pairs that encodings read,
    and segment ids where pairs ask for them.
    """
    of_tokens, of_pairs = (
        max((getattr(e, f"needs_{what}") for e in encodings), default=0) for what in ("attributes", "pairs")
    )
    found = {"attributes": attributes_of(tokens, of_tokens, most), "pairs": pairs_of(tokens, tokens, of_pairs, most)}
    found["segment_ids"] = np.ones(tokens.shape, np.int32) if of_pairs else None
    return {name: array for name, array in found.items() if array is not None}


def numbers_for(encodings: tuple[PositionalEncoding, ...], values: Array) -> dict[str, Any]:
    """Fields of a `Sequence` of tokens that stand for the numbers ``values [S]``, for the first encoding that reads
    numbers; none without one.
    """
    for e in encodings:
        if isinstance(e, OfNumbers):
            tokens = np.full((1, len(values)), e.number, np.int32)
            return {"tokens": tokens, "attributes": np.repeat(values[None, :, None], e.needs_attributes, axis=2)}
    return {}
