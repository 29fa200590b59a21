"""The encoder-only model: every token sees every token of its segment."""

from typing import Any, Unpack

from flax import nnx

from posenc_jax.encodings.interface.base import Array
from posenc_jax.models.blocks import Stack
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.layer_encodings import TokenFacts, refuse_unread, sequence_of
from posenc_jax.models.model import Model
from posenc_jax.models.pooling import AttentionPooling, first_of_real, mean_of_real
from posenc_jax.models.randomness import Streams


class EncoderOnly(Model):
    """A bidirectional model that predicts for every token or, when the config pools, once for every row."""

    def __init__(self, config: Transformer, slots: Slots, *, rngs: nnx.Rngs, **sizes: Any):
        super().__init__(config, slots, rngs=rngs, **sizes)
        self.encoder = Stack(config, config.num_layers, rngs=rngs)
        # Drawn last: all other parameters are the same with any pooling.
        self.pooling = AttentionPooling(config, rngs=rngs) if config.pooling == "attention" else None

    def __call__(
        self,
        tokens: Array,
        *,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        train: bool = False,
        capture: bool = False,
        **facts: Unpack[TokenFacts],
    ) -> Any:
        """Float32 logits ``[B, S, C]``, or ``[B, C]`` when the config pools; without an output layer ``[B, S, M]`` or
        ``[B, M]``, what it would read. Arguments as in `DecoderOnly`.

        ``outline`` has the coordinates of each token in a document (`encodings.structure.Coordinates`), for the mask of
        the config; ValueError if the mask needs it and it is None.

        Pooling "mean" averages the real tokens of a row (segment id not 0), "first" takes the first of them,
        "attention" is `AttentionPooling`; a row is then one example, not several packed. With "attention" ``capture``
        also returns "pooling_weights" ``[B, H, P, S]`` beside the activations of the stack.
        """
        refuse_unread(facts, "token_types", "outline", "right_padded", "attributes", "pairs")
        sequence = sequence_of(tokens, **facts)
        mask = self.config.mask
        if mask is not None and mask.needs_outline and sequence.outline is None:
            raise ValueError(
                f"{mask!r} reads where tokens stand in a document: pass outline=, as tasks on structured documents do"
            )
        call: dict[str, Any] = {"streams": streams, "train": train}
        contiguous = facts.get("positions") is None
        layers = self.layer_encodings("encoder", sequence, sequence, contiguous=contiguous, structure=mask, **call)
        x, dropout = self.embed("encoder", sequence, **call)
        x, _, captured = self.encoder(x, layers, dropout=dropout, capture=capture)
        if self.config.pooling == "first":
            x = first_of_real(x, sequence.segment_ids)
        elif self.config.pooling == "mean":
            x = mean_of_real(x, sequence.segment_ids)
        elif self.pooling is not None:
            x, weights = self.pooling(x, sequence.segment_ids, sequence.token_types)
            captured |= {"pooling_weights": weights}
        return (self.logits(x), {"encoder": captured}) if capture else self.logits(x)
