"""Checks of models that need no model: nothing here needs Flax or a device, so configs call them first."""

from posenc_jax.encodings.interface.base import Dims, PositionalEncoding
from posenc_jax.encodings.interface.slots import Slot, check_hooks, check_slot, elements, for_layer, is_pattern
from posenc_jax.models.config import STACKS, Slots, Transformer, stack_dims


def check_model(kind: str, config: Transformer, slots: Slots, dims: Dims, *, num_classes: int | None) -> None:
    """Refuses what `posenc_jax.models.build` could not make; ``dims`` are those of `model_dims`.

    Raises:
      ValueError: for an unknown kind, pooling outside an encoder-only model, token types, windows and parallel layers
        in an encoder-decoder, depths or a table of one stack outside it, no output layer outside an encoder-only model,
        a tied one with another number of classes than of tokens, and encodings that cannot serve the model.
    """
    if kind not in STACKS:
        raise ValueError(f"kind = {kind!r} is not one of {', '.join(map(repr, STACKS))}")
    if config.pooling is not None and kind != "encoder_only":
        raise ValueError(
            f"pooling = {config.pooling!r} serves encoder_only; {kind} predicts every token: set pooling to None"
        )
    if config.token_types and kind == "encoder_decoder":
        raise ValueError(
            f"token_types = {config.token_types} serves encoder_only and decoder_only; an encoder_decoder takes none: "
            "set token_types to 0"
        )
    if config.mask is not None and kind != "encoder_only":
        raise ValueError(f"mask = {config.mask!r} serves encoder_only, not {kind}: set mask to None")
    if config.parallel is not None and kind == "encoder_decoder":
        raise ValueError(
            f"parallel = {config.parallel!r} serves models of one stack; an encoder_decoder has cross-attention in "
            "between: leave parallel out"
        )
    if config.windows and kind == "encoder_decoder":
        raise ValueError(
            f"windows = {config.windows} serves encoder_only and decoder_only; an encoder_decoder has none: leave "
            "it out"
        )
    _check_one_stack(kind, config)
    if num_classes is None and kind != "encoder_only":
        raise ValueError(
            f"num_classes = None, no output layer, serves encoder_only; {kind} predicts tokens: give their number"
        )
    if config.tie_output and config.tie_embeddings and num_classes not in (None, dims.vocab_size):
        raise ValueError(
            f"tie_output needs one class per token, got num_classes = {num_classes} and vocab_size = "
            f"{dims.vocab_size}: set tie_output to False"
        )
    check_slots(kind, config, slots, dims)


def _check_one_stack(kind: str, config: Transformer) -> None:
    if kind == "encoder_decoder":
        return
    for name in ("num_encoder_layers", "num_decoder_layers"):
        if getattr(config, name) is not None:
            raise ValueError(
                f"{name} = {getattr(config, name)} serves encoder_decoder; {kind} has one stack: set num_layers"
            )
    if not config.tie_embeddings:
        raise ValueError(
            f"tie_embeddings = False serves encoder_decoder; {kind} has one input: set it to True (tie_output is about "
            "the output layer)"
        )


def check_slots(kind: str, config: Transformer, slots: Slots, dims: Dims) -> None:
    """Refuses encodings that cannot serve the stack that they stand in."""
    for stack in STACKS[kind]:
        slot = getattr(slots, stack)
        seen = stack_dims(config, dims, stack)
        check_slot(slot, seen)
        if is_pattern(slot) and len(slot) > seen.num_layers:
            raise ValueError(
                f"the slot has {len(slot)} tuples, one for each layer, and the {stack} {seen.num_layers} layers: the "
                "last ones would stand nowhere; take them away, or add layers"
            )
        for element in elements(slot):
            check_hooks(element)
            if element.undivided and (config.attention_scale is not None or not config.divide_logits):
                other = "attention_scale" if config.divide_logits else "divide_logits = False"
                raise ValueError(
                    f"{element!r} and {other} both take the division by sqrt(D) away, which would be "
                    "done twice: keep one of them"
                )
            if element.causal_only and stack != "decoder":
                raise ValueError(
                    f"{element!r} needs a causal mask, and {_ATTENTION[stack]} has none: choose another encoding there"
                )
            _check_embedding(element, slot, stack)


_ATTENTION = {"encoder": "the encoder's self-attention", "cross": "cross-attention"}


def _check_embedding(element: PositionalEncoding, slot: Slot, stack: str) -> None:
    if stack == "cross" and element.acts_on == {"embed"}:
        raise ValueError(
            f"{element!r} adds to input embeddings, and cross-attention has none: put it into encoder or decoder"
        )
    if stack != "cross" and "embed" in element.acts_on and element not in for_layer(slot, 0):
        raise ValueError(
            f"{element!r} adds to the input embeddings, which are made once, before the first layer: "
            f"put it into the first tuple of the {stack} slot"
        )
