"""From a config to a model."""

from __future__ import annotations

from typing import Any

import jax
from flax import nnx

from posenc_jax.encodings.base import Array, Dims
from posenc_jax.encodings.slots import for_layer, init_slot, is_pattern
from posenc_jax.models.config import STACKS, ModelKind, Slots, Transformer, model_dims
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.encoder_only import EncoderOnly


def init_posenc(key: Array, slots: Slots, dims: Dims, kind: ModelKind) -> dict[str, tuple]:
    """Float32 parameters of all encodings of a model, by stack: another key for each, and no entry for a stack that the kind lacks."""
    for stack in STACKS[kind]:
        _check_embedding(getattr(slots, stack), stack)
    return {stack: init_slot(jax.random.fold_in(key, ("encoder", "decoder", "cross").index(stack)), getattr(slots, stack), dims) for stack in STACKS[kind]}


def _check_embedding(slot: Any, stack: str) -> None:
    """Refuses encodings that add to the input embeddings where there are none."""
    for element in slot if stack == "cross" and not is_pattern(slot) else ():
        if element.acts_on == {"embed"}:
            raise ValueError(f"{element!r} adds to input embeddings, which cross-attention has none of: put it into the encoder or the decoder slot")
    first = for_layer(slot, 0)
    for group in slot if is_pattern(slot) else ():
        for element in group:
            if "embed" in element.acts_on and (stack == "cross" or element not in first):
                raise ValueError(
                    f"{element!r} adds to the input embeddings, which are made once, before the first layer: put it into the first layer's tuple of the {stack} slot"
                )


def build(
    kind: ModelKind,
    config: Transformer,
    slots: Slots,
    *,
    vocab_size: int,
    num_classes: int,
    max_len: int,
    key: Array,
    posenc_key: Array,
) -> nnx.Module:
    """A model with fresh parameters.

    All parameters except the encodings' depend on ``key`` only, never on the slots, so models that differ in their encodings start equal. The encodings'
    depend on ``posenc_key`` and lie in the attribute ``posenc``. Works under `jax.jit` and `nnx.eval_shape`.

    Args:
      kind: "decoder_only", "encoder_only" or "encoder_decoder".
      vocab_size: tokens (of source and target together). num_classes: values that a target can take. max_len: positions ``0 .. max_len-1`` occur.

    Raises:
      ValueError: for an unknown kind, pooling outside an encoder-only model, a tied output with ``num_classes != vocab_size``, and encodings that cannot serve the model.
    """
    if kind not in STACKS:
        raise ValueError(f"kind = {kind!r} is not one of {', '.join(map(repr, STACKS))}")
    if config.pooling is not None and kind != "encoder_only":
        raise ValueError(f"pooling = {config.pooling!r} serves encoder_only, not {kind}, which predicts every token: set pooling to None")
    if config.tie_output and num_classes != vocab_size:
        raise ValueError(f"tie_output needs as many classes as tokens, got num_classes = {num_classes} and vocab_size = {vocab_size}: set tie_output to False")
    posenc = init_posenc(posenc_key, slots, model_dims(config, vocab_size=vocab_size, max_len=max_len), kind)
    models: dict[str, type] = {"decoder_only": DecoderOnly, "encoder_only": EncoderOnly}
    return models[kind](config, slots, vocab_size=vocab_size, num_classes=num_classes, posenc=posenc, rngs=nnx.Rngs(params=key))
