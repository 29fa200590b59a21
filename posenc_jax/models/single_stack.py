"""What the models of one stack share: embeddings, stack and output layer."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import jax
from flax import nnx

from posenc_jax.encodings.base import Array, Sequence
from posenc_jax.encodings.slots import Slot
from posenc_jax.models.blocks import EMBEDDINGS, Captured, Stack
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.embedding import Embedding, Output
from posenc_jax.models.positions import embed, layer_encodings, sequence_of
from posenc_jax.models.streams import Dropout, Streams


def posenc_values(posenc: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a model's encoding parameters, without their `nnx.Param`."""
    return jax.tree.map(lambda p: p[...], posenc, is_leaf=lambda p: isinstance(p, nnx.Variable))


class SingleStack(nnx.Module):
    """Base of `DecoderOnly` and `EncoderOnly`, which differ in the mask and in what they read off at the end."""

    side: ClassVar[Literal["encoder", "decoder"]]
    causal: ClassVar[bool]

    def __init__(self, config: Transformer, slots: Slots, *, vocab_size: int, num_classes: int, posenc: dict[str, Any], rngs: nnx.Rngs):
        self.config = config
        self.slot: Slot = getattr(slots, self.side)
        self.embedding = Embedding(config, vocab_size, rngs=rngs)
        self.stack = Stack(config, rngs=rngs)
        self.output = None if config.tie_output else Output(config, num_classes, rngs=rngs)
        self.posenc = nnx.data(jax.tree.map(nnx.Param, posenc))

    def hidden(
        self, sequence: Sequence, *, contiguous: bool, streams: Streams, train: bool, capture: bool
    ) -> tuple[Array, Captured]:
        """``[B, S, M]``: what the stack makes of a sequence with tokens, before the output layer; and captured activations."""
        params, key = posenc_values(self.posenc)[self.side], streams.positions_of(self.side)
        call: dict[str, Any] = {"key": key, "train": train}
        dropout = Dropout.of_call(self.config.dropout, streams, sequence.example_ids, train, self.side)
        layers = layer_encodings(
            self.slot,
            params,
            sequence,
            sequence,
            num_layers=self.config.num_layers,
            num_heads=self.config.num_heads,
            causal=self.causal,
            contiguous=contiguous,
            **call,
        )
        x = embed(self.slot, params, self.embedding(sequence.tokens), sequence, **call)
        x = dropout(self.config.cast(x), EMBEDDINGS)
        return self.stack(x, layers, dropout=dropout, capture=capture)

    def read_off(self, x: Array) -> Array:
        """Logits ``[..., C]`` of ``x [..., M]``."""
        return self.embedding.logits(x) if self.output is None else self.output(x)

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
        """Float32 logits; see the class."""
        sequence = sequence_of(
            tokens, positions=positions, segment_ids=segment_ids, token_types=token_types, length=length, example_ids=example_ids
        )
        x, captured = self.hidden(sequence, contiguous=positions is None, streams=streams, train=train, capture=capture)
        logits = self.read_off(self.pool(x, sequence))
        return (logits, {self.side: captured}) if capture else logits

    def pool(self, x: Array, sequence: Sequence) -> Array:
        """What is read off of ``x [B, S, M]``: every token."""
        return x
