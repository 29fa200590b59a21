"""An attention call whose queries are the last tokens of packed rows."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Geometry, Sequence


def last_queries(positions, segments, first, *, causal, known, num_heads=4):
    """The geometry of tokens ``first ..`` attending to all of ``positions [B, K]``, known on the host or not."""
    num_keys = positions.shape[1]
    keys = Sequence(
        positions if known else jnp.asarray(positions), np.full(len(positions), num_keys), segment_ids=segments
    )
    keys = dataclasses.replace(keys, places=np.arange(num_keys)[None])
    return Geometry.between(keys.part(slice(first, None)), keys, num_heads=num_heads, causal=causal)
