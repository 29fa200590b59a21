"""Arrays of an encoding that cannot be used at all: one reason for what would fail clause by clause."""

import dataclasses
import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.layer import CALL, DIMS, AttentionLayer, UnusableError, compiled, noise, seen_by
from posenc_jax.analysis.outcome import OWN_CODE, ClauseOutcome
from posenc_jax.encodings import token_terms
from posenc_jax.encodings.interface.base import Array, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.refusals import exits_as_errors

__all__ = ["UnusableError", "hooks", "misshapen", "raising_hook", "unusable_hook"]

_PAIRS = (2, DIMS.num_heads, CALL, CALL)
SHAPES = {
    "embed": ("[B, S, M]", (2, CALL, DIMS.d_model)),
    "encode_queries": ("[B, H, S, D]", (2, DIMS.num_heads, CALL, DIMS.head_dim)),
    **dict.fromkeys(("encode_keys", "encode_values"), ("[B, Hkv, S, D]", (2, DIMS.num_kv_heads, CALL, DIMS.head_dim))),
    **dict.fromkeys(("bias", "score", "content_bias", "adjust_logits", "normalize"), ("[B, H, Q, K]", _PAIRS)),
    **dict.fromkeys(("encode_outputs", "value_term"), ("[B, H, Q, D]", (2, DIMS.num_heads, CALL, DIMS.head_dim))),
}
"""Hook -> the shape that it returns, and that in the layer; 1 may stand for a size."""


def raising_hook(layer: AttentionLayer) -> ClauseOutcome | None:
    """A failed clause `OWN_CODE` for an error that the user's own code raises in a hook, compiled or not; None if the
    hooks run, or another file's code raises.
    """
    queries = _tokens(layer)
    x, params, traced = jax.tree.map(jnp.asarray, (noise(2, CALL, DIMS.d_model), layer.params, queries))
    try:
        jax.eval_shape(functools.partial(hooks, layer), traced, params, x, layer.key)
    except Exception:
        try:
            hooks(layer, queries, params, x, layer.key)
        except Exception as error:
            where = _own_line(layer, error)
            said = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:1]])
            return ClauseOutcome(OWN_CODE, "failed", None, f"{where}: {said}") if where else None
    return None


def _tokens(layer: AttentionLayer) -> Sequence:
    """Two rows of tokens at the positions from 0 on, each a segment."""
    row = np.broadcast_to(np.arange(CALL, dtype=np.int32), (2, CALL))
    return layer.sequence(np.zeros((2, CALL, DIMS.d_model)), row, row + 1, np.full_like(row, CALL))


def _own_line(layer: AttentionLayer, error: Exception) -> str | None:
    """The last line of the encodings' own files in a traceback, as ``mine.py, line 3, in bias``, or None."""
    classes = {cls for e in layer.encodings for cls in type(e).__mro__ if issubclass(cls, PositionalEncoding)}
    own = {cls.__module__ for cls in classes if cls.__module__.partition(".")[0] != "posenc_jax"}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_globals.get("__name__") in own:
            return f"{Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
    return None


def unusable_hook(layer: AttentionLayer, tokens: tuple[np.ndarray, Sequence]) -> ClauseOutcome | None:
    """The first hook that returns no array, one of another shape, or NaN, as a failed clause; None where none does, or
    where one raises.
    """
    x, queries = tokens
    try:
        for hook, result in _traced(hooks, layer, queries, x).items():
            words, wanted = SHAPES[hook.rpartition(".")[2]]
            if _not_of(result, len(wanted)) or any(a not in (1, b) for a, b in zip(result.shape, wanted)):
                said = f"{hook} returns {_described(result)}, not an array {words}, {list(wanted)}"
                return ClauseOutcome("dtype", "failed", None, said)
        call = functools.partial(hooks, layer, queries)
        for hook, result in compiled(call)(layer.params, x, layer.key).items():
            if np.isnan(result).any():
                named = f"{hook}'s array, {result.dtype}{list(result.shape)},"
                return ClauseOutcome("gradients", "failed", None, f"{named} is not finite: it has NaN")
    except Exception:
        return None
    return None


def misshapen(encodings: tuple[PositionalEncoding, ...]) -> str | None:
    """The fault that makes these encodings useless in any model, in a line: parameters that cannot be trained, or a
    hook that returns no array, or one with other axes or not of real numbers. None without such a fault, and if the
    contract's layer cannot run them.

    Sizes are not looked at: an encoding may be made for one model.
    """
    try:
        layer = AttentionLayer(encodings)
        tokens, x = _tokens(layer), noise(2, CALL, DIMS.d_model)
        for hook, result in _traced(_of_tokens, layer, tokens, x).items():
            if not any(jnp.issubdtype(getattr(result, "dtype", bool), kind) for kind in (jnp.integer, jnp.floating)):
                return f"{hook} returns {_described(result)}, not an array of integers or floats: convert it"
        returned = _traced(hooks, layer, tokens, x)
    except UnusableError as error:
        return str(error)
    except Exception:
        return None
    for hook, result in returned.items():
        words, wanted = SHAPES[hook.rpartition(".")[2]]
        if _not_of(result, len(wanted)):
            return (
                f"{hook} returns {_described(result)}, not an array {words}; an axis may be 1 where it is all the same"
            )
        if not jnp.issubdtype(result.dtype, jnp.floating):
            return (
                f"{hook} returns {_described(result)}, and hooks return real floating-point numbers: cast it, "
                "with .astype(jnp.float32), or take the part that is meant"
            )
    return None


def _traced(call: Callable[..., dict[str, Any]], layer: AttentionLayer, queries: Sequence, x: Array) -> dict[str, Any]:
    """The result of `hooks` or `_of_tokens` while it is traced, of any type: of arrays shapes and dtypes only."""
    found: dict[str, Any] = {}
    jax.eval_shape(lambda *traced: found.update(call(layer, queries, *traced)), layer.params, x, layer.key)
    return found


@exits_as_errors()
def _of_tokens(
    layer: AttentionLayer, queries: Sequence, params: tuple[Params, ...], x: Array, key: Key
) -> dict[str, Any]:
    """Mapped positions, and every array of terms, by element and hook."""
    found: dict[str, Any] = {}
    for e, p in zip(layer.encodings, params):
        if "map_positions" in e.acts_on:
            found[f"{type(e).__name__}.map_positions"] = e.map_positions(queries, key=key, train=False)
        terms = e.token_terms(p, x, queries) if "token_terms" in e.acts_on else None
        for path, leaf in jax.tree.leaves_with_path(terms):
            found[f"{type(e).__name__}.token_terms{jax.tree_util.keystr(path)}"] = leaf
    return found


def _not_of(result: Any, axes: int) -> bool:
    return getattr(result, "ndim", None) != axes


def _described(result: Any) -> str:
    return f"{result.dtype}{list(result.shape)}" if hasattr(result, "shape") else type(result).__name__


@exits_as_errors()
def hooks(layer: AttentionLayer, queries: Sequence, params: tuple[Params, ...], x: Array, key: Key) -> dict[str, Array]:
    """The result of each hook in use, by element and hook."""
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
            "encode_values": (p, k, g.k_positions, g.k_length),
            "encode_outputs": (p, q, g.q_positions, g.q_length),
            "bias": (p, g),
            "score": (p, q, wide, g, t),
            "content_bias": (p, q, wide, g, t),
            "adjust_logits": (p, weights, weights if any("bias" in e.acts_on for e in layer.encodings) else None, g),
            "normalize": (p, weights, g),
            "value_term": (p, weights, g),
        }
        found |= {f"{type(e).__name__}.{hook}": getattr(e, hook)(*inputs[hook]) for hook in e.acts_on & inputs.keys()}
    return found
