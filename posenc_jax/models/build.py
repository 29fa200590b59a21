"""From a config to a model."""

from __future__ import annotations

from flax import nnx

from posenc_jax.encodings.base import Array, Dims
from posenc_jax.encodings.slots import Slot, elements, for_layer, init_slot
from posenc_jax.models.config import STACKS, ModelKind, Slots, Transformer, model_dims
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.encoder_decoder import EncoderDecoder
from posenc_jax.models.encoder_only import EncoderOnly
from posenc_jax.models.model import Model
from posenc_jax.models.streams import stack_key

_MODELS: dict[str, type[Model]] = {
    "decoder_only": DecoderOnly,
    "encoder_only": EncoderOnly,
    "encoder_decoder": EncoderDecoder,
}


def init_posenc(key: Array, slots: Slots, dims: Dims, kind: ModelKind) -> dict[str, tuple]:
    """Float32 parameters of all encodings of a model: the result of `init_slot` for each stack that the kind has."""
    posenc = {}
    for stack in STACKS[kind]:
        slot = getattr(slots, stack)
        posenc[stack] = init_slot(stack_key(key, stack), slot, dims)
        check_embedding(slot, stack)
    return posenc


def check_embedding(slot: Slot, stack: str) -> None:
    """Refuses encodings that add to the input embeddings where they would never be asked to."""
    for element in elements(slot):
        if stack == "cross" and element.acts_on == {"embed"}:
            raise ValueError(
                f"{element!r} adds to input embeddings, and cross-attention has none: put it into encoder or decoder"
            )
        if stack != "cross" and "embed" in element.acts_on and element not in for_layer(slot, 0):
            raise ValueError(
                f"{element!r} adds to the input embeddings, which are made once, before the first layer: "
                f"put it into the first tuple of the {stack} slot"
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
) -> Model:
    """A model with fresh float32 parameters; works under `jax.jit` and `nnx.eval_shape`.

    Parameters of encodings depend on ``posenc_key`` and lie in the attribute ``posenc``. All others depend on ``key``
    and never on the slots, so that models with different encodings start equal.

    Args:
      kind: "decoder_only", "encoder_only" or "encoder_decoder".
      vocab_size: number of tokens (of source and target together).
      num_classes: number of values that a target can take.
      max_len: positions ``0 .. max_len-1`` occur.

    Raises:
      ValueError: for an unknown kind, pooling outside an encoder-only model, a tied output with another number of
        classes than of tokens, and encodings that cannot serve the model.
    """
    if kind not in STACKS:
        raise ValueError(f"kind = {kind!r} is not one of {', '.join(map(repr, STACKS))}")
    if config.pooling is not None and kind != "encoder_only":
        raise ValueError(
            f"pooling = {config.pooling!r} serves encoder_only; {kind} predicts every token: set pooling to None"
        )
    if config.tie_output and num_classes != vocab_size:
        raise ValueError(
            f"tie_output needs one class per token, got num_classes = {num_classes} and vocab_size = {vocab_size}: "
            "set tie_output to False"
        )
    posenc = init_posenc(posenc_key, slots, model_dims(config, vocab_size=vocab_size, max_len=max_len), kind)
    rngs = nnx.Rngs(params=key)
    return _MODELS[kind](config, slots, vocab_size=vocab_size, num_classes=num_classes, posenc=posenc, rngs=rngs)
