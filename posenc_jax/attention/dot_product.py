"""`attend` with the layout and the arguments of the attention functions of Flax and `jax.nn`."""

from typing import Any

import jax.numpy as jnp

from posenc_jax.attention.paths import attend
from posenc_jax.encodings.interface.arrays import check_kind
from posenc_jax.encodings.interface.base import Array, Sequence
from posenc_jax.encodings.interface.layer_inputs import layer_inputs
from posenc_jax.encodings.interface.slots import Slot, SlotParams

# Arguments of Flax's modules: those that say nothing where no weight is dropped, and those that would do something.
_IDLE = ("dropout_rng", "broadcast_dropout", "dtype")
_UNSERVED = {
    "bias": "write what is added to the logits as an encoding",
    "precision": "set jax.default_matmul_precision around the call",
    "module": "weights are not kept (sow_weights), attend(..., return_weights=True) gives them",
}


def dot_product_attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    slot: Slot,
    params: SlotParams,
    x: Array | None = None,
    *,
    sequence: Sequence | None = None,
    mask: Sequence | None = None,
    is_causal: bool = False,
    num_heads: int | None = None,
    dropout_rate: float = 0.0,  # Linen hands on only what has a name here
    deterministic: bool = False,
    precision: Any = None,
    **call: Any,
) -> Array:
    """Self-attention of one layer, for any slot, where a model calls `jax.nn.dot_product_attention` or Flax's modules
    their ``attention_fn``: `attend` with `layer_inputs`, tokens before heads.

    Args:
      q: ``[B, S, H, D]`` or ``[S, H, D]``.
      k, v: the same, with Hkv heads.
      slot, params, call: as of `layer_inputs`: ``layer``, ``embedded``, ``key``, ``window``, ...
      x: ``[B, S, M]`` or ``[S, M]``, what q, k and v are projected from; None if no encoding of the slot reads it.
      sequence, mask: what is known of the tokens, in one of both: Flax's modules hand ``mask`` on.
      num_heads: H of the whole model, if devices share the heads.
      dropout_rate, deterministic, precision: refused where weights would be dropped, or products be others.

    Raises:
      ValueError: as `layer_inputs` and `attend`; for an array as mask, which has neither positions nor segments; for
        queries that are not the tokens of the keys; for what else Flax's modules ask for and this does not do.

    >>> from posenc_jax.encodings import parse
    >>> q = jnp.ones((2, 5, 4, 8))
    >>> dot_product_attention(q, q, q, parse("rope|alibi"), ({}, {}), is_causal=True).shape
    (2, 5, 4, 8)
    """
    if mask is not None and (sequence is not None or not isinstance(mask, Sequence)):
        raise ValueError(
            f"mask is of type {type(mask).__name__}, and encodings read positions and segments, which no mask has: "
            "pass in its place one Sequence, such as Sequence.of_length(length, segment_ids=...), and is_causal=True"
        )
    if dropout_rate and not deterministic:
        raise ValueError(f"dropout_rate = {dropout_rate}: attention weights are not dropped here, say 0")
    unserved = call | {"precision": precision}
    for name, way_out in _UNSERVED.items():
        if unserved.get(name) is not None:
            raise ValueError(f"{name} is not served here: {way_out}")
    call = {name: value for name, value in call.items() if name not in (*_IDLE, *_UNSERVED)}
    single = len(jnp.shape(q)) == 3
    arrays = {name: a for name, a in (("q", q), ("k", k), ("v", v), ("x", x)) if a is not None}
    for name, a in arrays.items():
        axes = ("batch", "sequence", *(("d_model",) if name == "x" else ("heads", "head_dim")))
        check_kind(name, a, "the inputs of the layer" if name == "x" else "its heads", "floats", *axes[single:])
    arrays = {name: a[None] if single else a for name, a in arrays.items()}
    tokens = {name: a.shape[1] for name, a in arrays.items()}
    if len(set(tokens.values())) > 1:
        raise ValueError(
            f"tokens: {', '.join(f'{n} of {name}' for name, n in tokens.items())}, and a sequence attends to itself "
            "here, [batch, sequence, heads, head_dim]: with a cache, call attend with layer_inputs(slot, params, x, "
            "whole.part(...)), see 'Decode with a cache' in scripts/docs/guides/in-your-own-model.md; in "
            "cross-attention, with geometries(...) of both sides"
        )
    given = next((s for s in (sequence, mask) if s is not None), Sequence.of_length(tokens["q"]))
    heads = arrays["q"].shape[2] if num_heads is None else num_heads
    inputs = layer_inputs(slot, params, arrays.get("x"), given, num_heads=heads, causal=is_causal, **call)
    q, k, v = (jnp.swapaxes(arrays[name], 1, 2) for name in "qkv")
    by_heads: Any = attend(q, k, v, *inputs)
    y = jnp.swapaxes(by_heads, 1, 2)
    return y[0] if single else y
