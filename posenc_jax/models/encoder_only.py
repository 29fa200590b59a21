"""The encoder-only model: every token sees every token of its segment."""

from __future__ import annotations

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Sequence
from posenc_jax.models.single_stack import SingleStack


class EncoderOnly(SingleStack):
    """A bidirectional model: a call gives float32 logits ``[B, S, C]``, or ``[B, C]`` when the config pools.

    Pooling "mean" averages the real tokens of a row (segment id not 0), "first" takes slot 0.
    """

    side = "encoder"
    causal = False

    def pool(self, x: Array, sequence: Sequence) -> Array:
        """What is read off of ``x [B, S, M]``: every token, or one vector for the row."""
        if self.config.pooling is None:
            return x
        if self.config.pooling == "first":
            return x[:, 0]
        if sequence.segment_ids is None:
            return jnp.mean(x, axis=1)
        real = (sequence.segment_ids != 0)[..., None]
        count = jnp.maximum(jnp.sum(real, axis=1), 1)
        return (jnp.sum(x, axis=1, where=real) / count).astype(x.dtype)
