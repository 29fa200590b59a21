"""Calls of attention between tokens at given positions."""

import numpy as np

from posenc_jax.encodings.interface.base import Geometry, Sequence


def geometry_at(q_positions, k_positions, *, places=(None, None), segments=(None, None), **call):
    """The geometry of queries and keys at these positions ``[#B, S]``, all of one length; ``places``, 0, 1, ... by
    default, and ``segments`` are of both. Of three heads by default.
    """
    length = np.full(len(k_positions), k_positions.shape[1], np.int32)
    places = (
        np.arange(at.shape[1])[None] if own is None else own for at, own in zip((q_positions, k_positions), places)
    )
    sides = zip((q_positions, k_positions), places, segments)
    queries, keys = (Sequence(at, length, places=place, segment_ids=own) for at, place, own in sides)
    return Geometry.between(queries, keys, **{"num_heads": 3} | call)
