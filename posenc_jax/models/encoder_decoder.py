"""The encoder-decoder model of "Attention is all you need"."""

import dataclasses
import functools
from typing import Any, Unpack

import jax
from flax import nnx

from posenc_jax.encodings.interface.arrays import check_ids
from posenc_jax.encodings.interface.base import Array, Sequence
from posenc_jax.models.attention import KeysValues
from posenc_jax.models.blocks import Captured, Stack
from posenc_jax.models.cache import Cache, next_tokens
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.layer_encodings import NextFacts, TokenFacts, refuse_unread, sequence_of
from posenc_jax.models.model import Model
from posenc_jax.models.randomness import Streams


@functools.partial(jax.tree_util.register_dataclass, data_fields=["keys_values", "sequence"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Memory:
    """An encoded source: what the cross-attention of each layer attends to, raw, and its places."""

    keys_values: tuple[KeysValues, ...]
    sequence: Sequence


class EncoderDecoder(Model):
    """A bidirectional encoder and a causal decoder that attends to its output.

    Source and target share one vocabulary and one embedding table (Vaswani et al. 2017, section 3.4), unless the config
    says ``tie_embeddings=False``. With ``final_norm=True`` the two stacks are those of torch.nn.Transformer, which
    normalises after both, in post-norm form too.
    """

    def __init__(self, config: Transformer, slots: Slots, *, rngs: nnx.Rngs, **sizes: Any):
        super().__init__(config, slots, rngs=rngs, **sizes)
        self.encoder = Stack(config, config.depth("encoder"), rngs=rngs)
        self.decoder = Stack(config, config.depth("decoder"), cross=True, rngs=rngs)

    def __call__(
        self,
        tokens: Array,
        decoder_tokens: Array,
        *,
        positions: Array | None = None,
        decoder_positions: Array | None = None,
        segment_ids: Array | None = None,
        decoder_segment_ids: Array | None = None,
        length: Array | None = None,
        decoder_length: Array | None = None,
        example_ids: Array | None = None,
        right_padded: bool = False,
        packed: bool = False,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        train: bool = False,
        capture: bool = False,
    ) -> Any:
        """Float32 logits ``[B, T, C]`` for the token after each of ``decoder_tokens [B, T]``, given ``tokens [B, S]``.

        Arguments as in `DecoderOnly`, for each side. A target sees the source tokens that have its own segment id.
        With ``capture`` returns ``(logits, {"encoder": activations, "decoder": activations})``.
        """
        both: dict[str, Any] = {"example_ids": example_ids, "right_padded": right_padded, "packed": packed}
        source = sequence_of(tokens, positions=positions, segment_ids=segment_ids, length=length, **both)
        _check_rows("decoder_tokens", decoder_tokens, "tokens", tokens)
        target = sequence_of(
            decoder_tokens, positions=decoder_positions, segment_ids=decoder_segment_ids, length=decoder_length, **both
        )
        call: dict[str, Any] = {"streams": streams, "train": train}
        contiguous = decoder_positions is None
        memory, encoded = self._encode(source, contiguous=positions is None, capture=capture, **call)
        layers = self.layer_encodings("decoder", target, target, causal=True, contiguous=contiguous, **call)
        cross_layers = self.layer_encodings(
            "cross", target, source, contiguous=contiguous and positions is None, **call
        )
        x, dropout = self.embed("decoder", target, **call)
        x, _, decoded = self.decoder(
            x, layers, cross_layers=cross_layers, memory=memory.keys_values, dropout=dropout, capture=capture
        )
        return (self.logits(x), {"encoder": encoded, "decoder": decoded}) if capture else self.logits(x)

    def _encode(
        self, source: Sequence, *, contiguous: bool, streams: Streams, train: bool, capture: bool
    ) -> tuple[Memory, Captured]:
        layers = self.layer_encodings("encoder", source, source, contiguous=contiguous, streams=streams, train=train)
        x, dropout = self.embed("encoder", source, streams=streams, train=train)
        x, _, captured = self.encoder(x, layers, dropout=dropout, capture=capture)
        return Memory(self.decoder.memory(x, self.layer_params("cross"), source), source), captured

    def encode(
        self,
        tokens: Array,
        *,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        **facts: Unpack[TokenFacts],
    ) -> Memory:
        """The source ``tokens [B, S]`` encoded, for `extend`."""
        refuse_unread(facts)
        source, contiguous = sequence_of(tokens, **facts), facts.get("positions") is None
        return self._encode(source, contiguous=contiguous, streams=streams, train=False, capture=False)[0]

    def extend(
        self,
        tokens: Array,
        cache: Cache,
        memory: Memory,
        *,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        **facts: Unpack[NextFacts],
    ) -> tuple[Array, Cache]:
        """Logits ``[B, T, C]`` of the next tokens ``[B, T]`` of targets whose past the cache holds, and the new cache.

        Equals the full pass under the conditions of `DecoderOnly.extend`; ``length`` is the decoder's.
        """
        refuse_unread(facts)
        _check_rows("tokens", tokens, "the memory", memory.keys_values[0].keys)
        queries, keys, cache = next_tokens(cache, tokens, num_layers=self.config.depth("decoder"), **facts)
        call: dict[str, Any] = {"streams": streams, "train": False}
        layers = self.layer_encodings("decoder", queries, keys, causal=True, **call)
        cross_layers = self.layer_encodings("cross", queries, memory.sequence, **call)
        x, dropout = self.embed("decoder", queries, **call)
        x, keys_values, _ = self.decoder(
            x, layers, cross_layers=cross_layers, memory=memory.keys_values, remember=cache.remember, dropout=dropout
        )
        return self.logits(x), cache.with_keys_values(keys_values, tokens.shape[1])


def _check_rows(name: str, tokens: Array, other: str, array: Array) -> None:
    check_ids(name, tokens)
    if tokens.shape[0] != len(array):
        raise ValueError(f"{name} has {tokens.shape[0]} rows and {other} {len(array)}: each source has one target")
