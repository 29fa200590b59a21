"""The encoder-only model: every token sees every token of its segment."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx

from posenc_jax.encodings.base import Array
from posenc_jax.models.blocks import Stack
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.model import Model
from posenc_jax.models.positions import sequence_of
from posenc_jax.models.streams import Streams


class EncoderOnly(Model):
    """A bidirectional model that predicts for every token or, when the config pools, once for every row."""

    def __init__(self, config: Transformer, slots: Slots, *, rngs: nnx.Rngs, **sizes: Any):
        super().__init__(config, slots, rngs=rngs, **sizes)
        self.encoder = Stack(config, rngs=rngs)

    def __call__(
        self,
        tokens: Array,
        *,
        positions: Array | None = None,
        segment_ids: Array | None = None,
        token_types: Array | None = None,
        length: Array | None = None,
        example_ids: Array | None = None,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        train: bool = False,
        capture: bool = False,
    ) -> Any:
        """Float32 logits ``[B, S, C]``, or ``[B, C]`` when the config pools; arguments as in `DecoderOnly`.

        Pooling "mean" averages the real tokens of a row (segment id not 0), "first" takes slot 0.
        """
        sequence = sequence_of(
            tokens,
            positions=positions,
            segment_ids=segment_ids,
            token_types=token_types,
            length=length,
            example_ids=example_ids,
        )
        call: dict[str, Any] = {"streams": streams, "train": train}
        layers = self.layer_encodings("encoder", sequence, sequence, contiguous=positions is None, **call)
        x, dropout = self.embed("encoder", sequence, **call)
        x, _, captured = self.encoder(x, layers, dropout=dropout, capture=capture)
        if self.config.pooling == "first":
            x = x[:, 0]
        elif self.config.pooling == "mean":
            x = mean_of_real(x, segment_ids)
        return (self.logits(x), {"encoder": captured}) if capture else self.logits(x)


def mean_of_real(x: Array, segment_ids: Array | None) -> Array:
    """``[B, M]``: the mean of ``x [B, S, M]`` over slots whose segment id ``[#B, S]`` is not 0; zero without any."""
    if segment_ids is None:
        return jnp.mean(x, axis=1)
    real = (segment_ids != 0)[..., None]
    return (jnp.sum(x, axis=1, where=real) / jnp.maximum(jnp.sum(real, axis=1), 1)).astype(x.dtype)
