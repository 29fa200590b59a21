"""Arrays of an encoding that cannot be used at all: one reason for what would fail clause by clause."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.layer import CALL, DIMS, Layer, UnusableError, compiled, seen_by
from posenc_jax.analysis.outcome import Clause
from posenc_jax.encodings import token_terms
from posenc_jax.encodings.base import Array, Key, Params, Sequence, at_least_float32

__all__ = ["UnusableError", "hooks", "unusable_hook"]

_PAIRS = (2, DIMS.num_heads, CALL, CALL)
SHAPES = {
    "embed": ("[B, S, M]", (2, CALL, DIMS.d_model)),
    "encode_queries": ("[B, H, S, D]", (2, DIMS.num_heads, CALL, DIMS.head_dim)),
    "encode_keys": ("[B, Hkv, S, D]", (2, DIMS.num_kv_heads, CALL, DIMS.head_dim)),
    **dict.fromkeys(("bias", "score", "content_bias", "adjust_logits", "normalize"), ("[B, H, Q, K]", _PAIRS)),
    "value_term": ("[B, H, Q, D]", (2, DIMS.num_heads, CALL, DIMS.head_dim)),
}
"""Hook -> the shape that it returns, and that in the layer; 1 may stand for a size."""


def unusable_hook(layer: Layer, tokens: tuple[np.ndarray, Sequence]) -> Clause | None:
    """The first hook that returns no array, one of another shape, or NaN, as a failed clause; None where none does, or
    where one raises.
    """
    x, queries = tokens
    call = functools.partial(hooks, layer, queries)
    try:
        for hook, result in jax.eval_shape(call, layer.params, x, layer.key).items():
            words, wanted = SHAPES[hook.rpartition(".")[2]]
            shape = getattr(result, "shape", None)
            if shape is None or len(shape) != len(wanted) or any(a not in (1, b) for a, b in zip(shape, wanted)):
                found = type(result).__name__ if shape is None else f"{result.dtype}{list(shape)}"
                return Clause("dtype", "failed", None, f"{hook} returns {found}, not an array {words}, {list(wanted)}")
        for hook, result in compiled(call)(layer.params, x, layer.key).items():
            if np.isnan(result).any():
                named = f"{hook}'s array, {result.dtype}{list(result.shape)},"
                return Clause("gradients", "failed", None, f"{named} is not finite: it has NaN")
    except Exception:
        return None
    return None


def hooks(layer: Layer, queries: Sequence, params: tuple[Params, ...], x: Array, key: Key) -> dict[str, Array]:
    """What each hook in use returns, by element and hook."""
    geometry = seen_by(layer.encodings, queries, queries, layer.masks[-1], key)
    q, k = layer.heads(x, 0), layer.heads(x, 1)
    wide = jnp.repeat(k, DIMS.num_heads // DIMS.num_kv_heads, axis=1)
    weights = jnp.zeros((len(x), DIMS.num_heads, CALL, CALL), at_least_float32(x))
    terms = token_terms(layer.encodings, params, x, queries)
    found: dict[str, Array] = {}
    for e, p, g, t in zip(layer.encodings, params, geometry, terms):
        inputs: dict[str, tuple[Any, ...]] = {
            "embed": (p, x, dataclasses.replace(queries, positions=g.q_positions)),
            "encode_queries": (p, q, g.q_positions, g.q_length),
            "encode_keys": (p, k, g.k_positions, g.k_length),
            "bias": (p, g),
            "score": (p, q, wide, g, t),
            "content_bias": (p, q, wide, g, t),
            "adjust_logits": (p, weights, weights if any("bias" in e.acts_on for e in layer.encodings) else None, g),
            "normalize": (p, weights, g),
            "value_term": (p, weights, g),
        }
        found |= {f"{type(e).__name__}.{hook}": getattr(e, hook)(*inputs[hook]) for hook in e.acts_on & inputs.keys()}
    return found
