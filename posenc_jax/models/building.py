"""Builds a model from a config."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from posenc_jax.encodings.interface.arrays import check_key, check_sizes
from posenc_jax.encodings.interface.base import Dims, Key
from posenc_jax.encodings.interface.slots import init_slot
from posenc_jax.model_kind import ModelKind
from posenc_jax.models.checks import check_model, check_slots
from posenc_jax.models.config import STACKS, Slots, Transformer, model_dims, stack_dims
from posenc_jax.models.costs import ModelCosts, StackCost, count
from posenc_jax.models.decoder_only import DecoderOnly
from posenc_jax.models.encoder_decoder import EncoderDecoder
from posenc_jax.models.encoder_only import EncoderOnly
from posenc_jax.models.model import Model
from posenc_jax.models.randomness import stack_key

_MODELS = {"decoder_only": DecoderOnly, "encoder_only": EncoderOnly, "encoder_decoder": EncoderDecoder}


class KeyStreams:
    """Streams of keys by name, as `flax.nnx.Rngs` has them: key ``n`` of a stream is ``fold_in(key, n)``.

    The counters are plain numbers. Those of Flax are arrays, and under a trace JAX writes the history of the trace for
    each key that is drawn: the time to build a model grew with the square of its depth.
    """

    def __init__(self, **keys: Key):
        self._keys, self._drawn = keys, dict.fromkeys(keys, 0)

    def __getattr__(self, name: str) -> Callable[[], Key]:
        if name not in self._keys:
            raise AttributeError(f"no stream is called {name!r}")
        return functools.partial(self._next, name)

    def _next(self, name: str) -> Key:
        number = self._drawn[name]
        self._drawn[name] = number + 1
        return jax.random.fold_in(self._keys[name], number)


def init_posenc(key: Key, config: Transformer, slots: Slots, dims: Dims, kind: ModelKind) -> dict[str, tuple]:
    """Float32 parameters of all encodings of a model: the result of `init_slot` for each stack that the kind has."""
    check_slots(kind, config, slots, dims)
    return {
        stack: init_slot(stack_key(key, stack), getattr(slots, stack), stack_dims(config, dims, stack))
        for stack in STACKS[kind]
    }


def build(
    kind: ModelKind,
    config: Transformer,
    slots: Slots,
    *,
    vocab_size: int,
    num_classes: int | None,
    max_len: int,
    key: Key,
    posenc_key: Key,
) -> Model:
    """A model with fresh parameters, drawn in float32; works under `jax.jit` and `nnx.eval_shape`.

    Parameters of encodings depend on ``posenc_key`` and lie in the attribute ``posenc``. All others depend on ``key``
    and never on the slots, so that models with different encodings start equal.

    Args:
      kind: "decoder_only", "encoder_only" or "encoder_decoder".
      vocab_size: number of tokens (of source and target together; with ``tie_embeddings=False`` of the source).
      num_classes: number of values that a target can take. None, encoder-only: there is no output layer, and calls give
        what it would read, ``[B, S, M]`` or, when the config pools, ``[B, M]``.
      max_len: positions ``0 .. max_len-1`` occur.

    Raises:
      ValueError: as `check_model` and `check_slots`.
    """
    check_sizes(vocab_size=vocab_size, max_len=max_len, **({} if num_classes is None else {"num_classes": num_classes}))
    check_key("key", key)
    check_key("posenc_key", posenc_key)
    dims = model_dims(config, vocab_size=vocab_size, max_len=max_len)
    check_model(kind, config, slots, dims, num_classes=num_classes)
    posenc = init_posenc(posenc_key, config, slots, dims, kind)
    # Streams of their own, far from the numbers of the others: with and without these tables all else is the same.
    own = {
        name: jax.random.fold_in(key, 2**30 + i)
        for i, name in enumerate(("token_types", "target_embedding", "transform"))
    }
    rngs: Any = KeyStreams(params=key, **own)
    model = _MODELS[kind](config, slots, vocab_size=vocab_size, num_classes=num_classes, posenc=posenc, rngs=rngs)
    if config.param_dtype == "bfloat16":
        nnx.update(model, jax.tree_util.tree_map_with_path(_rounded, nnx.state(model)))
    return model


@functools.lru_cache(maxsize=1024)
def costs(kind: ModelKind, config: Transformer, *, vocab_size: int, num_classes: int) -> ModelCosts:
    """The costs of a model without encodings, told from one of one layer."""
    one_layer: Any = dict(num_layers=1, num_encoder_layers=None, num_decoder_layers=None, first_norm=True)
    shallow = dataclasses.replace(config, **one_layer)
    model = _shapes(kind, shallow, vocab_size, num_classes)
    parameters, stacks = count(model), {}
    for stack in (name for name in STACKS[kind] if name != "cross"):  # which is part of the decoder's blocks
        (block,), depth = getattr(model, stack).blocks, config.depth(stack)
        parameters += (depth - 1) * count(block) - (0 if config.first_norm else count(block.self_attention_norm))
        attention, mlp, *cross = block.costs()
        stacks[stack] = StackCost(depth, (attention, mlp), 0 if config.first_norm else config.d_model)
        if cross:
            stacks["cross"] = StackCost(depth, tuple(cross))
    if config.pooling == "attention":
        stacks["pooling"] = StackCost(1, (model.pooling.costs(),))
    return ModelCosts(parameters, stacks, *model.costs())


@functools.lru_cache(maxsize=256)
def _shapes(kind: ModelKind, config: Transformer, vocab_size: int, num_classes: int) -> Any:
    key, sizes = jax.random.key(0), {"vocab_size": vocab_size, "num_classes": num_classes, "max_len": 1}
    return nnx.eval_shape(lambda: build(kind, config, Slots(), **sizes, key=key, posenc_key=key))


def _rounded(path: tuple[Any, ...], leaf: jax.Array) -> jax.Array:
    """A matrix in bfloat16; what encodings own, biases and norms as they are."""
    own = str(getattr(path[0], "key", path[0])) == "posenc"
    return leaf if own or leaf.ndim < 2 else leaf.astype(jnp.bfloat16)
