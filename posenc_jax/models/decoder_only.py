"""The decoder-only model: every token sees itself and the tokens before it."""

from __future__ import annotations

from posenc_jax.models.single_stack import SingleStack


class DecoderOnly(SingleStack):
    """A causal language model: a call gives float32 logits ``[B, S, C]``."""

    side = "decoder"
    causal = True
