"""Checks of a caller's arrays and sizes: dtypes, axes, and sizes that two arguments share.

All is told from types, dtypes and shapes while a program is traced, so that a compiled program is the same with and
without these checks. Only what is known then, NumPy arrays, is looked into.
"""

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.refusals import did_you_mean

Kind = Literal["floats", "integers", "integers or floats", "True or False"]
_KINDS: dict[Kind, tuple[tuple[Any, ...], str]] = {
    "floats": ((jnp.floating,), "float32"),
    "integers": ((jnp.integer,), "int32"),
    "integers or floats": ((jnp.integer, jnp.floating), "int32"),
    "True or False": ((jnp.bool_,), "bool_"),
}

# Of every array that says something of the tokens of one side: what it holds, which numbers, and its axes. Positions
# may have an axis more, and lengths one for every token.
_ROWS = "rows or 1"
_TOKENS: dict[str, tuple[str, Kind, tuple[str, ...]]] = {
    "positions": ("positions", "integers or floats", (_ROWS, "tokens")),
    "places": ("places", "integers", (_ROWS, "tokens")),
    "segment_ids": ("segment ids", "integers", (_ROWS, "tokens")),
    "token_types": ("token types", "integers", (_ROWS, "tokens")),
    "outline": ("outlines", "integers", (_ROWS, "tokens", "4")),
    "attributes": ("attributes", "integers or floats", (_ROWS, "tokens", "numbers")),
    "pairs": ("pairs", "integers or floats", (_ROWS, "tokens", "keys", "numbers")),
    "length": ("lengths", "integers", (_ROWS,)),
    "sees": ("answers", "True or False", (_ROWS, "tokens", "places")),
    "tokens": ("token ids", "integers", ("rows", "tokens")),
    "example_ids": ("example ids", "integers", ("rows",)),
}
_LONGER = {"positions": "axes", "length": "tokens"}
_SHARED = (_ROWS, "rows", "tokens", "heads", "dimensions")


def check_sizes(**sizes: Any) -> None:
    """`check_size` of each, by its name."""
    for name, value in sizes.items():
        check_size(name, value)


def check_choices(**choices: Any) -> None:
    """Refuses (ValueError) what is neither True nor False: the text "no" would count as True."""
    for name, value in choices.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} = {value!r} must be True or False")


def check_size(name: str, value: Any, least: int = 1, because: str = "") -> None:
    """Refuses (ValueError) what is no whole number, or one below ``least``; a bool is none."""
    try:
        whole = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:  # a float, a text; a number that only the program knows
        whole = None
    if whole is None or whole < least:
        raise ValueError(f"{name} = {value!r} must be a whole number from {least} on{because}")


def check_key(name: str, key: Any) -> None:
    """Refuses (ValueError) what is no single key of `jax.random`, typed or raw."""
    dtype, shape = getattr(key, "dtype", None), getattr(key, "shape", None)
    if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key):
        single = shape == ()
    else:
        single = dtype == np.uint32 and shape == jax.eval_shape(jax.random.PRNGKey, 0).shape
    if not single:
        said = repr(key)[:60] if dtype is None else f"an array of {dtype} and of shape {list(shape or ())}"
        raise ValueError(
            f"{name} = {said} must be one key: pass jax.random.key(seed), or one element of jax.random.split(...)"
        )


def check_options(call: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuses (TypeError) a name that a call does not know."""
    known = sorted(known)
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, "leave it out")
            raise TypeError(f"{name} is no argument of {call}, which takes {', '.join(known)}: {hint}")


def summable(x: Any) -> Any:
    """Positions whose sums neither overflow nor become floats: those of less than 32 bits as int32, uint64 as int64."""
    if jnp.issubdtype(x.dtype, jnp.integer) and x.dtype.itemsize < 4:
        return x.astype(np.int32)
    return x.astype(np.int64) if x.dtype == np.uint64 else x


def check_kind(name: str, x: Any, what: str, kind: Kind, *axes: str) -> None:
    """Refuses (ValueError) what is no array of these numbers, or has not these axes, if any are named; ``what`` says
    what they are, in the plural.
    """
    if not (hasattr(x, "dtype") and hasattr(x, "shape")) or isinstance(x, np.ma.MaskedArray):
        raise ValueError(f"{name} is of type {type(x).__name__}, and {what} are an array of {kind}: pass such an array")
    kinds, dtype = _KINDS[kind]
    if not any(jnp.issubdtype(x.dtype, k) for k in kinds) or x.dtype.kind == "m":  # NumPy counts times as integers
        part = "its real part" if jnp.issubdtype(x.dtype, jnp.complexfloating) else "it"
        raise ValueError(f"{name} is of {x.dtype}, and {what} are {kind}: convert {part} by .astype(jnp.{dtype})")

    if axes and len(x.shape) != len(axes):
        raise ValueError(f"{name} has the shape {list(x.shape)}, and {what} are [{', '.join(axes)}]")


def check_ids(name: str, x: Any, what: str = "token ids") -> None:
    """Refuses (ValueError) what is no ``[B, S]`` of integers, one at least."""
    check_kind(name, x, what, "integers", "batch", "sequence")
    if 0 in x.shape:
        raise ValueError(f"{name} has the shape {list(x.shape)}: give one row and one token at least")


def check_same(said: dict[str, tuple[str, int]], name: str, x: Any, *axes: str) -> None:
    """Refuses (ValueError) a size along one of these `_SHARED` axes that is not what the arrays before it ``said``."""
    for axis, size in zip(axes, x.shape, strict=True):
        if axis not in _SHARED or (axis == _ROWS and size == 1):
            continue
        other, wanted = said.setdefault(axis.removesuffix(" or 1"), (name, size))
        if size != wanted:
            raise ValueError(
                f"{name} has {size} {axis.removesuffix(' or 1')} and {other} {wanted}: pass those of the same call"
            )


def check_tokens(arrays: Mapping[str, Any], rows: int | None = None, prefix: str = "") -> None:
    """Refuses (ValueError) arrays that do not describe the same tokens.

    Args:
      arrays: by the names of the fields of `Sequence`; None is left out.
      prefix: stands before them in messages.
      rows: how many q has; None: as many as the arrays say.
    """
    said = {} if rows is None else {"rows": ("q", rows)}
    for field, x in arrays.items():
        if x is None:
            continue
        name, (what, kind, axes) = prefix + field, _TOKENS[field]
        if field in _LONGER and len(getattr(x, "shape", ())) == len(axes) + 1:
            axes = (*axes, _LONGER[field])
        check_kind(name, x, what, kind, *axes)
        _check_numbers(name, x, what, kind)
        check_same(said, name, x, *axes)
        if field == "outline" and x.shape[2] != 4:
            raise ValueError(
                f"{name} has {x.shape[2]} numbers a token, not 4 as an outline, see `structure.Coordinates`"
            )
        if field == "length" and isinstance(x, np.ndarray) and (x < 0).any():
            raise ValueError(f"{name} has {x.min()}, and a length is the number of real tokens, from 0 on")


def _check_numbers(name: str, x: Any, what: str, kind: Kind) -> None:
    """Refuses (ValueError) narrow floats, and, where they are known, whole numbers that JAX would cut off."""
    if jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4:
        raise ValueError(f"{name} is of {x.dtype}, which rounds {what}: give them as int32 or float32")
    if isinstance(x, np.ndarray) and x.size and jnp.issubdtype(x.dtype, jnp.integer):
        fits = jnp.iinfo(jax.dtypes.canonicalize_dtype(np.int64))
        for value in (int(x.min()), int(x.max())):
            if not fits.min <= value <= fits.max:
                floats = ", or give floats" if "floats" in kind else ""
                raise ValueError(
                    f"{name} has {value}, and whole numbers have {fits.bits} bits in JAX, up to {fits.max}: subtract "
                    f"what all have in common{floats}"
                )


def check_pairs(pairs: Any, keys: int, segment_ids: Any) -> None:
    """Refuses (ValueError) `Sequence.pairs` that are not of all ``keys``, or without a mask of the real tokens."""
    if segment_ids is None:
        raise ValueError(
            "pairs are given without segment_ids, and rows of pairs are padded to one size: say which tokens are real "
            "(segment 1) and which are padding (segment 0), all 1 where none is"
        )
    if pairs.shape[2] != keys:
        raise ValueError(
            f"pairs has {pairs.shape[2]} keys (axis 2 of its shape {list(pairs.shape)}), and there are {keys} tokens, "
            "padding included: pad both axes of tokens to as many"
        )


_VECTORS = {"q": "queries", "k": "keys", "v": "values", "out": "outputs"}
_LAYOUT = ("batch", "heads", "sequence", "head_dim")


def check_heads(name: str, x: Any) -> None:
    """Refuses (ValueError) queries, keys or values that are no floats ``[B, H, S, D]``, or none."""
    what = _VECTORS[name]
    check_kind(name, x, what, "floats", *_LAYOUT)
    for axis, size in zip(_LAYOUT, x.shape, strict=True):
        if size == 0 and axis in ("heads", "head_dim"):
            raise ValueError(f"{name} has the shape {list(x.shape)}, and without {axis} there are no {what}")


def check_vectors(name: str, x: Any, positions: Any, of: str = "positions", heads: int | None = None) -> None:
    """Refuses (ValueError) queries, keys or values that are no floats ``[B, H, S, D]`` at ``positions [#B, S]``.

    Heads behind the sequence, as flax and jax.nn have them, show wherever the numbers of both differ. ``of`` says whose
    positions they are; ``heads``: those of the queries, which the heads of x divide. Without them, as where a hook is
    called, one position may serve all tokens, and an encoding that reads none is given None.
    """
    check_heads(name, x)
    if heads is None and (positions is None or positions.shape[1] == 1):
        return
    length = positions.shape[1]

    def fits(of_heads: int, tokens: int) -> bool:
        return tokens == length and (heads is None or (heads == of_heads if name == "q" else heads % of_heads == 0))

    if fits(x.shape[2], x.shape[1]) and not fits(*x.shape[1:3]):
        raise ValueError(
            f"{name} has the shape {list(x.shape)}, with the {length} of {of} in axis 1: [batch, sequence, heads, "
            f"head_dim] is the layout of flax and jax.nn, and here it is [{', '.join(_LAYOUT)}]: pass "
            f"jnp.swapaxes({name}, 1, 2)"
        )
    if x.shape[2] != length:
        raise ValueError(
            f"{name} has {x.shape[2]} tokens, and {of} {length}: {name} is [{', '.join(_LAYOUT)}], and every token has "
            "one position (`Geometry.block` cuts out those of a part)"
        )


def check_embedded(x: Any, positions: Any) -> None:
    """Refuses (ValueError) what is no ``[B, S, M]`` of floats at ``positions [#B, S]``."""
    check_kind("x", x, "embeddings", "floats", "batch", "sequence", "d_model")
    if x.shape[1] != positions.shape[1]:
        raise ValueError(f"x has {x.shape[1]} tokens and the sequence {positions.shape[1]} positions: give each one")


def at_least_float32(*dtypes: Any) -> Any:
    """The dtype to compute in: float64 if any input is, else float32."""
    wide = any(jnp.result_type(dtype) == jnp.float64 for dtype in dtypes)
    return jnp.dtype(jnp.float64 if wide else jnp.float32)
