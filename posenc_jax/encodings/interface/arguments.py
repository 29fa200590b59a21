"""The arguments of `attend`, checked before anything is computed: sizes that are said twice are the same."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import check_heads, check_kind, check_same, check_vectors
from posenc_jax.encodings.interface.base import Array, Geometry, Params, PositionalEncoding, Terms
from posenc_jax.encodings.interface.parameters import check_params
from posenc_jax.encodings.interface.slots import as_slot, check_sets
from posenc_jax.encodings.interface.value import WrongReturnError

# The axes of logits, weights and biases.
PAIRS = ("batch", "heads", "queries", "keys")


def check_call(
    q: Array,
    k: Array,
    v: Array,
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometry: Geometry | tuple[Geometry, ...],
    terms: tuple[Terms, ...] | None,
) -> tuple[Geometry, ...]:
    """The geometry of every element; ValueError as `prepare`."""
    per_element = _check_slot(encodings, params, geometry)
    known: tuple[Any, ...] = per_element or (geometry,)
    for g in known:
        for name in ("num_heads", "head_axis", "causal", "window", "structure"):
            if getattr(g, name) != getattr(known[0], name):
                raise ValueError(
                    f"the geometries of a call have {name} = {getattr(known[0], name)!r} and {getattr(g, name)!r}: "
                    "pass those that `geometries(...)` makes together"
                )
    check_heads("q", q)
    for g in known:
        g.check(q.shape[0])
        _check_vectors(q, k, v, g)
    _check_params(encodings, params, known[0], q.shape[3], k.shape[1])
    if terms is not None and not (isinstance(terms, tuple | list) and len(terms) == len(encodings)):
        got = len(terms) if isinstance(terms, tuple | list) else type(terms).__name__
        raise ValueError(f"{len(encodings)} encodings need as many terms, got {got}: None where one has none")
    of_each = (None,) * len(encodings) if terms is None else terms
    lacking = next((e for e, t in zip(encodings, of_each) if _reads_terms(e) and t is None), None)
    if lacking is not None:
        raise ValueError(
            f"{lacking!r} reads terms of the tokens, and has none: pass those that `layer_inputs(...)` makes"
        )
    _check_terms(encodings, of_each, known[0], q.shape[0], k.shape)
    return per_element


def _check_split(q: Array, k: Array, geometry: Geometry) -> None:
    axis, shards = geometry.head_axis, geometry.head_shards
    if q.shape[1] * shards != geometry.num_heads:
        over = "" if axis is None else f" over {shards} devices of the axis {axis!r}"
        raise ValueError(
            f"q has {q.shape[1]} heads (axis 1 of its shape {list(q.shape)}) and the geometry {geometry.num_heads}"
            f"{over}: num_heads is that of the whole model, and head_axis says over which axis of a jax.shard_map "
            "heads are split in equal parts, if they are"
        )
    # () where a shard_map does not keep track of it (check_vma=False), or a version of JAX has no such name.
    varying = [getattr(getattr(jax.typeof(x), "manual_axis_type", None), "varying", ()) for x in (q, k)]
    if axis in varying[0] and axis not in varying[1] and k.shape[1] > 1:
        raise ValueError(
            f"k has the same {k.shape[1]} heads on every device of the axis {axis!r}, and q has others on each: split "
            "the heads of k and v as those of q, or all query heads share one"
        )


def _check_params(
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometry: Geometry,
    head_dim: int,
    key_heads: int,
) -> None:
    """Checks parameters as `check_params` does. Each device that shares the heads gets the parameters of all heads."""
    known = {"num_heads": geometry.num_heads, "head_dim": head_dim}
    if geometry.head_axis is None:
        check_params(encodings, params, known | {"num_kv_heads": key_heads})
        return
    way_out = "give every device those of all heads (P() in in_specs), and attend takes its part"
    try:
        check_params(encodings, params, known | {"num_kv_heads": key_heads * geometry.head_shards}, way_out)
    except ValueError:
        if key_heads > 1:
            raise
        # One key head, which every device has.
        check_params(encodings, params, known | {"num_kv_heads": 1}, way_out)


def _reads_terms(element: PositionalEncoding) -> bool:
    return "token_terms" in element.acts_on


def _check_slot(
    encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], geometry: Geometry | tuple[Geometry, ...]
) -> tuple[Geometry, ...]:
    if not isinstance(encodings, tuple | list):
        raise ValueError(f"encodings are a tuple, got {encodings!r}: {as_slot(encodings)}")
    if any(isinstance(element, tuple) for element in encodings):
        raise ValueError("encodings are those of one layer, and a pattern has those of several: pass `for_layer(...)`")
    for element in encodings:
        if not isinstance(element, PositionalEncoding):
            raise ValueError(f"{element!r} is not a positional encoding; see `posenc list` for the known ones")
    check_sets(params)
    per_element = geometry if isinstance(geometry, tuple) else (geometry,) * len(encodings)
    if len(params) != len(encodings) or len(per_element) != len(encodings):
        raise ValueError(
            f"{len(encodings)} encodings need as many parameter sets and geometries, "
            f"got {len(params)} and {len(per_element)}"
        )
    for element, p in zip(encodings, params, strict=True):
        if isinstance(p, tuple | list):
            raise ValueError(
                f"{element!r} is given {len(p)} sets of parameters, one for each layer: pass those of this one, as "
                "`layer_inputs(...)` or `layer_params(slot, params, layer)` give them"
            )
    mapping = next((e for e in encodings[:-1] if "map_positions" in e.acts_on), None)
    if mapping is not None and not isinstance(geometry, tuple):
        raise ValueError(
            f"{mapping!r} maps positions for the encodings after it, and one Geometry for all has none mapped: pass "
            "those of `geometries(encodings, queries, keys, ...)`"
        )
    if not encodings and isinstance(geometry, tuple):
        raise ValueError("without encodings pass one Geometry, which holds the mask")
    return per_element


def _check_vectors(q: Array, k: Array, v: Array, geometry: Geometry) -> None:
    heads = geometry.num_heads // geometry.head_shards
    check_vectors("q", q, geometry.q_positions, "q_positions of the geometry", heads)
    check_vectors("k", k, geometry.k_positions, "k_positions of the geometry", heads)
    check_vectors("v", v, geometry.k_positions, "k_positions of the geometry", heads)
    if q.shape[2] and not k.shape[2]:
        raise ValueError("k has 0 tokens: attention is a mean over keys, so there must be one")
    if q.shape[1] % k.shape[1]:
        raise ValueError(
            f"{q.shape[1]} query heads cannot share {k.shape[1]} key heads: the number of query heads must be a "
            "multiple"
        )
    _check_split(q, k, geometry)
    said: dict[str, tuple[str, int]] = {}
    check_same(said, "q", q, "rows", "query heads", "queries", "dimensions")
    check_same(said, "k", k, "rows", "heads", "keys", "dimensions")
    check_same(said, "v", v, "rows", "heads", "keys", "dimensions of values")


def _check_terms(
    encodings: tuple[PositionalEncoding, ...],
    terms: tuple[Terms, ...],
    geometry: Geometry,
    rows: int,
    keys: tuple[int, ...],
) -> None:
    for element, tree in zip(encodings, terms, strict=True):
        heads = keys[1] * geometry.head_shards if element.by_key_head else geometry.num_heads
        for path, x in jax.tree.leaves_with_path(tree):
            name = f"{type(element).__name__}'s terms{jax.tree_util.keystr(path)}"
            check_kind(name, x, "terms", "integers or floats")
            if x.shape[:2] != (rows, keys[2]):
                raise ValueError(
                    f"{name} have the shape {list(x.shape)}, and terms are [batch, keys, ...], here {rows} as q and "
                    f"{keys[2]} as k: pass `token_terms(...)` of all keys"
                )
            if element.terms_by_head and x.shape[2] not in (heads, keys[1] if element.by_key_head else heads):
                raise ValueError(
                    f"{name} have {x.shape[2]} heads (axis 2 of the shape {list(x.shape)}), and there are {heads}: "
                    "pass `token_terms(...)` by the parameters of all heads"
                )


def check_return(
    element: PositionalEncoding, hook: str, value: Any, sizes: Mapping[str, int | None], *, exact: bool = False
) -> Array:
    """The arrays that a hook returned; refuses (`WrongReturnError`) all but real numbers with axes of these ``sizes``.

    Args:
      sizes: by the name of the axis; None is any size. An axis along which all is the same may have size 1, unless
        ``exact``.
    """
    said, what = f"{type(element).__name__}.{hook} returns", f"[{', '.join(sizes)}]"
    shape = getattr(value, "shape", None)
    if shape is None or len(shape) != len(sizes):
        got = type(value).__name__ if shape is None else f"an array of shape {list(shape)}"
        raise WrongReturnError(f"{said} {got} where an array {what} is needed: add what lacks, as with [None, None]")
    if jnp.issubdtype(value.dtype, jnp.complexfloating) or not jnp.issubdtype(value.dtype, jnp.number):
        raise WrongReturnError(f"{said} an array of {value.dtype} where real numbers are needed: convert it")
    for (axis, wanted), size in zip(sizes.items(), shape, strict=True):
        if wanted is None or size == wanted or (size == 1 and not exact):
            continue
        if axis == "heads":
            raise WrongReturnError(
                f"{said} {size} heads where there are {wanted}: make its parameters for this number, or where devices "
                "share heads name their axis of heads in head_axes, and take the part of all else by "
                "geometry.own_heads"
            )
        raise WrongReturnError(f"{said} an array {what} = {list(shape)}, and there are {wanted} {axis}: return as many")
    return value
