"""The programs of `posenc_jax.attention.kernel` over whole arrays: forward, backward, and what calls them."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from posenc_jax.attention import kernel
from posenc_jax.attention.kernel import Backend, Setting
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.shared.distances import toeplitz

# Axes of the grid are (row, head, block), in the last kernel (head, diagonal) and on a TPU (head, diagonal, row).


def _specs(setting: Setting, arrays: dict[str, Array], whole: frozenset[str]) -> dict[str, pl.BlockSpec]:
    """Block specs: one row and head of every array ``[B, heads, S, D]`` or ``[B, heads, 1, S]``, and only one block of
    the sequence unless the array is ``whole``.
    """
    heads = arrays["q"].shape[1]

    def spec(name: str, array: Array) -> pl.BlockSpec:
        if name == "tiles":
            return pl.BlockSpec((None, *array.shape[1:]), lambda b, h, i: (h, 0, 0, 0))
        one, share = (None, None), heads // array.shape[1]
        if name in whole:
            return pl.BlockSpec((*one, *array.shape[2:]), lambda b, h, i: (b, jax.lax.div(h, share), 0, 0))
        if array.shape[2] == 1:  # numbers of keys lie in a row
            return pl.BlockSpec((*one, 1, setting.tile), lambda b, h, i: (b, jax.lax.div(h, share), 0, i))
        return pl.BlockSpec((*one, setting.tile, array.shape[3]), lambda b, h, i: (b, jax.lax.div(h, share), i, 0))

    return {name: spec(name, array) for name, array in arrays.items()}


def _call(
    setting: Setting,
    program: Any,
    grid: tuple[int, ...],
    arrays: dict[str, Array],
    specs: Any,
    out: dict[str, Any],
    over_tokens: tuple[str, ...] = (),
) -> Any:
    """``program`` over the grid; ``out`` has for each array its spec and its shape.

    Args:
      over_tokens: names of the arrays on the right of its products over tokens.
    """
    if setting.backend == "mosaic":
        from posenc_jax.attention import mosaic

        of_place = functools.partial(program, setting)
        return mosaic.call(
            of_place, grid, arrays, specs, out, tile=setting.tile, over_tokens=over_tokens, interpret=setting.interpret
        )
    params: Any = None
    if setting.backend == "triton" and not setting.interpret:
        from jax.experimental.pallas import triton  # not in every version of JAX to come

        params = triton.CompilerParams(num_warps=4, num_stages=2)
    elif setting.backend == "tpu":
        params = pltpu.CompilerParams(vmem_limit_bytes=kernel.VMEM)

    def of_refs(refs: Any, of_out: Any) -> None:
        program(setting, tuple(pl.program_id(axis) for axis in range(len(grid))), refs, of_out)

    return pl.pallas_call(
        of_refs,
        grid=grid,
        in_specs=[specs],
        out_specs={name: spec for name, (spec, _) in out.items()},
        out_shape={name: shape for name, (_, shape) in out.items()},
        compiler_params=params,
        interpret=setting.interpret,
    )(arrays)


def _operations(backend: Backend, interpret: Any) -> dict[str, Any]:
    """The product of two blocks and the loop over blocks."""
    if backend == "mosaic":
        from posenc_jax.attention import mosaic

        return {"dot": mosaic.interpreted_product if interpret else mosaic.product, "loop": mosaic.loop}
    return {"dot": kernel.product, "loop": jax.lax.fori_loop}


# Of each factor ``[B, H, Q, 1]`` and ``[B, H, 1, K]``.
Columns = tuple[tuple[Array, Array], ...]


def _inputs(q: Array, k: Array, v: Array, tiles: Array | None, segments: Any, columns: Columns) -> dict[str, Array]:
    arrays = {"q": q, "k": k, "v": v}
    for number, (phi, psi) in enumerate(columns):
        arrays |= {f"phi{number}": phi, f"psi{number}": psi}
    if tiles is not None:
        arrays["tiles"] = tiles
    if segments is not None:
        arrays |= {"q_segments": segments[0], "k_segments": segments[1]}
    return arrays


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(
    setting: Setting, q: Array, k: Array, v: Array, tiles: Array | None, segments: Any, columns: Columns
) -> Array:
    return _attention_forward(setting, q, k, v, tiles, segments, columns)[0]


def _attention_forward(
    setting: Setting, q: Array, k: Array, v: Array, tiles: Array | None, segments: Any, columns: Columns
) -> tuple[Array, Any]:
    rows, heads, queries, _ = q.shape
    arrays = _inputs(q, k, v, tiles, segments, columns)
    specs = _specs(setting, arrays, _whole("k", "v", "k_segments", "psi", columns=columns))

    def block(dims: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, None, setting.tile, dims), lambda b, h, i: (b, h, i, 0))

    out = {
        "out": (block(v.shape[3]), jax.ShapeDtypeStruct((rows, heads, queries, v.shape[3]), v.dtype)),
        "lse": (block(1), jax.ShapeDtypeStruct((rows, heads, queries, 1), jnp.float32)),
    }
    found = _call(setting, kernel.forward, (rows, heads, setting.queries), arrays, specs, out, ("v",))
    return found["out"], (q, k, v, tiles, segments, columns, found["out"], found["lse"])


def _whole(*names: str, columns: Columns) -> frozenset[str]:
    """Names of arrays of which a program has all of a sequence; "phi" and "psi" for those of every factor."""
    return frozenset(x for name in names for x in (_of_each(name, columns) if name in ("phi", "psi") else (name,)))


def _of_each(name: str, columns: Columns) -> tuple[str, ...]:
    return tuple(f"{name}{number}" for number in range(len(columns)))


def _attention_backward(setting: Setting, kept: Any, do: Array) -> tuple[Any, ...]:
    q, k, v, tiles, segments, columns, result, lse = kept
    arrays = _inputs(q, k, v, tiles, segments, columns) | {"do": do, "lse": lse}
    rows, heads, _, dims = q.shape
    keys, size = k.shape[2], setting.tile

    def block(dims: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, None, size, dims), lambda b, h, i: (b, h, i, 0))

    whole = _whole("k", "v", "k_segments", "psi", columns=columns)
    of_blocks = functools.partial(_call, setting, grid=(rows, heads, setting.queries))
    if columns:
        specs, out = _specs(setting, arrays, whole), {"delta": (block(1), _like(lse))}
        arrays = arrays | of_blocks(kernel.mean_products, arrays=arrays, specs=specs, out=out)
    else:
        arrays["delta"] = (do.astype(jnp.float32) * result.astype(jnp.float32)).sum(axis=-1, keepdims=True)

    specs = _specs(setting, arrays, whole)
    out = {"dq": (block(dims), jax.ShapeDtypeStruct(q.shape, q.dtype))}
    out |= {f"d{name}": (block(1), _like(arrays[name])) for name in _of_each("phi", columns)}
    of_queries = of_blocks(kernel.backward_queries, arrays=arrays, specs=specs, out=out, over_tokens=("k",))
    dq = of_queries["dq"]

    specs = _specs(setting, arrays, _whole("q", "do", "lse", "delta", "q_segments", "phi", columns=columns))
    out = {f"d{name}": (specs[name], _like(arrays[name])) for name in _of_each("psi", columns)}
    out |= {
        "dk": (block(dims), jax.ShapeDtypeStruct((rows, heads, keys, dims), jnp.float32)),
        "dv": (block(v.shape[3]), jax.ShapeDtypeStruct((rows, heads, keys, v.shape[3]), jnp.float32)),
    }
    found = _call(setting, kernel.backward_keys, (rows, heads, setting.keys), arrays, specs, out, ("q", "do"))
    dk, dv = (
        found[name].reshape(rows, x.shape[1], -1, keys, x.shape[3]).sum(axis=2).astype(x.dtype)
        for name, x in (("dk", k), ("dv", v))
    )
    dcolumns = tuple((of_queries[f"dphi{n}"], found[f"dpsi{n}"]) for n in range(len(columns)))
    if tiles is None:
        return dq, dk, dv, None, None, dcolumns

    at_once = 1 if setting.backend == "tpu" else rows
    grid = (heads, tiles.shape[1]) + ((rows,) if setting.backend == "tpu" else ())

    def of_diagonal(array: Array) -> pl.BlockSpec:
        share = heads // array.shape[1]
        return pl.BlockSpec((at_once, None, *array.shape[2:]), lambda h, n, b=0: (b, jax.lax.div(h, share), 0, 0))

    specs = {name: of_diagonal(array) for name, array in arrays.items()}
    specs["tiles"] = pl.BlockSpec((None, None, size, size), lambda h, n, b=0: (h, n, 0, 0))
    out = {"tiles": (specs["tiles"], jax.ShapeDtypeStruct(tiles.shape, jnp.float32))}
    dtiles = _call(setting, kernel.add_along_diagonal, grid, arrays, specs, out)["tiles"]
    return dq, dk, dv, dtiles, None, dcolumns


def _like(array: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


_attention.defvjp(_attention_forward, _attention_backward)


def bias_tiles(table: Array, size: int, head_by_head: bool = False) -> Array:
    """``[H, N, size, size]``, the tile of every block diagonal, from ``[H, (N + 1) size - 1]``: in tile n, row r and
    column c there is the number at ``n size + c - r + size - 1``.

    Args:
      head_by_head: what lies between, more than the tiles themselves, is there of one head at a time.

    >>> bias_tiles(jnp.arange(7.0)[None], 2)[0, 1].tolist()
    [[3.0, 4.0], [2.0, 3.0]]
    """
    pieces = jnp.pad(table, ((0, 0), (0, 1))).reshape(len(table), -1, size)
    numbers = jnp.concatenate([pieces[:, :-1], pieces[:, 1:, :-1]], axis=2)
    if head_by_head:
        return jax.lax.map(lambda of_head: toeplitz(of_head, size, size), numbers)
    return toeplitz(numbers, size, size)


def attention_by_distance(
    q: Array,
    k: Array,
    v: Array,
    table: Array | None,
    *,
    columns: tuple[tuple[Array, Array], ...] = (),
    backend: Backend,
    scale: float,
    causal: bool = False,
    window: int | None = None,
    first: int = 0,
    segments: tuple[Array, Array] | None = None,
    interpret: Any = False,
) -> Array:
    """``[B, H, Q, D]`` of ``q [B, H, Q, D]``, ``k``, ``v`` ``[B, Hkv, K, D]``, in the dtype of ``v``.

    Args:
      table: ``[H, Q + K - 1]`` in float32, or None: the bias of query i and key j is number ``j - i + Q - 1``.
      columns: pairs ``[B, H, Q]`` and ``[B, H, K]`` in float32 whose products are added to the logits.
      first: the place of query 0 minus that of key 0; both sides go on by one.
      causal, window: as in `Geometry`.
      segments: ids ``[#B, Q]`` and ``[#B, K]``; a query sees those of its own, and nobody sees 0.
      interpret: run by JAX's operations on any backend, slowly: for tests. True, or Pallas' parameters of that.

    A query that sees nothing gets zeros.
    """
    q, k, v = map(jnp.asarray, (q, k, v))  # NumPy's float64 is another type where 64-bit ones are not enabled
    size = kernel.tile_size(backend, q.dtype)
    rows, _, queries, dims = q.shape
    keys = k.shape[2]
    blocks = -(-queries // size), -(-keys // size)
    # Triton's blocks have powers of two as sizes, a product of Mosaic GPU is over 16 dimensions at a time, and a TPU's
    # registers are as wide as its tiles.
    dims = max(dims, v.shape[3])
    wide = {"mosaic": -(-dims // 16) * 16, "triton": max(16, 2 ** math.ceil(math.log2(dims))), "tpu": None}[backend]
    near = None if window is None else window - 1
    setting = Setting(
        backend=backend,
        tile=size,
        scale=scale,
        queries=blocks[0],
        keys=blocks[1],
        last_key=keys,
        first=first,
        nearest=None if near is None else -near,
        farthest=0 if causal else near,
        interpret=interpret,
        **_operations(backend, interpret),
    )

    def pad(x: Array, blocks: int) -> Array:
        more = 0 if wide is None else wide - x.shape[3]
        return jnp.pad(x, ((0, 0), (0, 0), (0, blocks * size - x.shape[2]), (0, more)))

    def of_rows(ids: Array, blocks: int) -> Array:
        ids = jnp.pad(jnp.asarray(ids, jnp.int32), ((0, 0), (0, blocks * size - ids.shape[1])))
        return jnp.broadcast_to(ids, (rows, ids.shape[1]))

    tiles = None
    if table is not None:
        more = blocks[0] * size - queries, blocks[1] * size - keys
        # As XLA plans their memory: head by head a TPU needs less at long sequences, a GPU a quarter more.
        tiles = bias_tiles(jnp.pad(table.astype(jnp.float32), ((0, 0), more)), size, head_by_head=backend == "tpu")
    of_both = None
    if segments is not None:
        of_both = of_rows(segments[0], blocks[0])[:, None, :, None], of_rows(segments[1], blocks[1])[:, None, None]

    def of_tokens(x: Array, blocks: int) -> Array:
        return jnp.pad(x, ((0, 0), (0, 0), (0, blocks * size - x.shape[2])))

    pairs = tuple((of_tokens(phi, blocks[0])[..., None], of_tokens(psi, blocks[1])[:, :, None]) for phi, psi in columns)
    out = _attention(setting, pad(q, blocks[0]), pad(k, blocks[1]), pad(v, blocks[1]), tiles, of_both, pairs)
    return out[:, :, :queries, : v.shape[3]]
