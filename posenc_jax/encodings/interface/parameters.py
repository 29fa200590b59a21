"""Parameters that a caller gives, compared with those that `PositionalEncoding.init` makes for a model of these sizes.

Names, shapes and dtypes are compared while a program is traced, so that a compiled program is the same with and
without it.
"""

import functools
from collections.abc import Mapping
from typing import Any

import jax

from posenc_jax.encodings.interface.arrays import check_kind
from posenc_jax.encodings.interface.base import Dims, Params, PositionalEncoding

Shapes = dict[str, tuple[int | None, ...]]

_WAY_OUT = "pass what init_slot(key, slot, dims) gives for this slot and the sizes of this model"


def check_params(
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    known: Mapping[str, int],
    way_out: str = _WAY_OUT,
) -> None:
    """Refuses (ValueError) parameters that ``init`` does not make for any model of the ``known`` sizes, fields of
    `Dims`, and sizes that an encoding's ``check`` refuses.

    An ``init`` that cannot be traced leaves names and shapes unread.
    """
    for element, own in zip(encodings, params, strict=True):
        said = f"{type(element).__name__}'s parameters"
        if not isinstance(own, Mapping):
            raise ValueError(f"{said} are of type {type(own).__name__}, and here they are arrays by name: {_WAY_OUT}")
        wanted = _wanted(element, tuple(known.items()))
        if isinstance(wanted, str):
            raise ValueError(wanted)
        given = _leaves(own)
        if wanted is not None and wanted.keys() != given.keys():
            expected, got = (", ".join(names) or "none" for names in (wanted, given))
            raise ValueError(f"{said} are {got}, and {element!r} has {expected}: {_WAY_OUT}")
        for name, x in given.items():
            of = f"{said}['{name}']"
            check_kind(of, x, "parameters", "floats")
            shape = x.shape if wanted is None else wanted[name]
            if len(x.shape) != len(shape) or any(n not in (None, size) for n, size in zip(shape, x.shape)):
                sizes = ", ".join(f"{field} = {size}" for field, size in known.items())
                needed = ", ".join("any" if n is None else str(n) for n in shape)
                raise ValueError(
                    f"{of} has the shape {list(x.shape)}, and for {element!r} and {sizes} it is [{needed}]: {way_out}"
                )


@functools.lru_cache(maxsize=1024)
def _wanted(element: PositionalEncoding, known: tuple[tuple[str, int], ...]) -> Shapes | str | None:
    """The shape of every parameter, None along axes that sizes decide which are not ``known``; why there is no such
    model; or None, where ``init`` cannot be traced.

    Two models that agree in nothing but the known sizes tell which axes these decide.
    """
    ordinary, other = _models(**dict(known))
    refused = {_refusal(element, dims) for dims in (ordinary, other)}
    if len(refused) == 1 and None not in refused:
        return refused.pop()
    try:
        one, two = _made(element, ordinary), _made(element, other)
    except Exception:  # whatever code of the user's raises: a model that it does not serve says so when it is built
        return None
    if one.keys() != two.keys() or any(len(one[name]) != len(two[name]) for name in one):
        return None
    return {name: tuple(n if n == m else None for n, m in zip(one[name], two[name])) for name in one}


def _models(d_model: int = 0, num_heads: int = 0, num_kv_heads: int = 0, head_dim: int = 0) -> tuple[Dims, Dims]:
    """An ordinary model of the known sizes (not 0), and one that has more or less of all else."""
    heads = num_heads or 4
    width = head_dim or (64 if d_model % (2 * heads) else d_model // heads or 64)
    ordinary = Dims(d_model or heads * width, heads, num_kv_heads or heads, width, 12, 4096, 1000)
    more_heads, more_width = num_heads or 2 * heads, head_dim or 2 * width
    other = Dims(d_model or 3 * more_heads * more_width, more_heads, num_kv_heads or 1, more_width, 1, 1)
    return ordinary, other


@functools.lru_cache(maxsize=1024)
def _made(element: PositionalEncoding, dims: Dims) -> dict[str, tuple[int, ...]]:
    params = jax.eval_shape(lambda: element.init(jax.random.key(0), dims))
    return {name: x.shape for name, x in _leaves(params).items()}


def _refusal(element: PositionalEncoding, dims: Dims) -> str | None:
    try:
        element.check(dims)
    except ValueError as error:
        return str(error)
    return None


def _leaves(params: Params) -> dict[str, Any]:
    found = jax.tree.leaves_with_path(params, is_leaf=lambda x: x is None or hasattr(x, "shape"))
    return {jax.tree_util.keystr(path, simple=True, separator="/"): x for path, x in found}
