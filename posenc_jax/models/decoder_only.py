"""The decoder-only model: every token sees itself and the tokens before it."""

from typing import Any, Unpack

from flax import nnx

from posenc_jax.encodings.interface.base import Array
from posenc_jax.models.blocks import Stack
from posenc_jax.models.cache import Cache, next_tokens
from posenc_jax.models.config import Slots, Transformer
from posenc_jax.models.layer_encodings import NextFacts, TokenFacts, refuse_unread, sequence_of
from posenc_jax.models.model import Model
from posenc_jax.models.randomness import Streams


class DecoderOnly(Model):
    """A causal language model."""

    def __init__(self, config: Transformer, slots: Slots, *, rngs: nnx.Rngs, **sizes: Any):
        super().__init__(config, slots, rngs=rngs, **sizes)
        self.decoder = Stack(config, config.num_layers, rngs=rngs)

    def __call__(
        self,
        tokens: Array,
        *,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        train: bool = False,
        capture: bool = False,
        **facts: Unpack[TokenFacts],
    ) -> Any:
        """Float32 logits ``[B, S, C]`` for the next token at every one of ``tokens [B, S]``.

        Tokens that the vocabulary lacks are refused where they are known while a program is traced (NumPy), and give
        NaN elsewhere; those of padding are not read.

        Args:
          streams: keys for dropout and drawn positions.
          train: whether dropout acts.
          capture: return ``(logits, {"decoder": activations})``; their names are in `Stack`.
          facts: see `TokenFacts`.

        Raises:
          ValueError: naming both sizes or the dtype, as `Sequence.check`; for a known token outside the vocabulary.
        """
        refuse_unread(facts, "token_types", "packed", "attributes", "pairs")
        sequence = sequence_of(tokens, **facts)
        call: dict[str, Any] = {"streams": streams, "train": train}
        contiguous = facts.get("positions") is None
        layers = self.layer_encodings("decoder", sequence, sequence, causal=True, contiguous=contiguous, **call)
        x, dropout = self.embed("decoder", sequence, **call)
        x, _, captured = self.decoder(x, layers, dropout=dropout, capture=capture)
        return (self.logits(x), {"decoder": captured}) if capture else self.logits(x)

    def extend(
        self,
        tokens: Array,
        cache: Cache,
        *,
        streams: Streams = Streams(),  # noqa: B008  (frozen)
        **facts: Unpack[NextFacts],
    ) -> tuple[Array, Cache]:
        """Logits ``[B, S, C]`` of the next tokens ``[B, S]`` of sequences whose past the cache holds; the new cache.

        Equals the full pass if every call gives the full pass's ``length`` (``[#B]``, or with packed rows ``[#B, C]``,
        one for each place of the cache; default: its capacity, prompt plus new tokens), ``example_ids`` and
        ``streams``. Positions default to the number of tokens already there. Tokens that the cache has no room for give
        NaN.
        """
        refuse_unread(facts, "token_types")
        queries, keys, cache = next_tokens(cache, tokens, num_layers=self.config.depth("decoder"), **facts)
        call: dict[str, Any] = {"streams": streams, "train": False}
        layers = self.layer_encodings("decoder", queries, keys, causal=True, **call)
        x, dropout = self.embed("decoder", queries, **call)
        x, keys_values, _ = self.decoder(x, layers, remember=cache.remember, dropout=dropout)
        return self.logits(x), cache.with_keys_values(keys_values, tokens.shape[1])
