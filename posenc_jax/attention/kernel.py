"""One fused kernel for every bias that is a function of the distance alone, in Pallas, forward and backward.

    out_i = sum_j softmax_j(scale q_i . k_j + table[h, k - q]) v_j

over the keys that the mask lets query i see. The logits exist one tile of `TILES` by `TILES` pairs at a time
(FlashAttention: Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691). What is new here is the bias and its
gradient. Cut queries and keys into blocks of the same size: all tiles (i, j) with the same j - i, a *block diagonal*,
then have the same distances in the same places, hence one and the same tile of biases. So

- a table ``[H, Q + K - 1]`` is spread over one tile for every block diagonal before the kernel (`bias_tiles`), which
  takes memory for ``2 TILES`` numbers a token and head;
- the gradient of such a tile is the sum of the logits' gradients along its block diagonal (`_add_along_diagonal`);
- from tiles to table, and from there to the parameters of an encoding, JAX differentiates by itself.

There is no addition whose order depends on time, so results repeat to the bit. The functions on values (`_visible`,
`_logits`, ...) are the mathematics. Each kernel is a loop over tiles around them. What differs between GPU and TPU is
in `_call`, `TILES`, and how the sum over a batch is made in `_add_along_diagonal`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plgpu

from posenc_jax.encodings.base import Array
from posenc_jax.encodings.shared.distances import toeplitz

Backend = Literal["gpu", "tpu"]

# Queries and keys of a tile, by backend and bytes of a number. A TPU's registers are 128 wide. On a GPU a thread has
# 255 registers for its part of the tiles of a program, and full products of float32 need more of them.
TILES: dict[tuple[Backend, int], int] = {("gpu", 2): 64, ("gpu", 4): 32, ("tpu", 2): 128, ("tpu", 4): 128}

_NOTHING = -1e30  # the logit of what is not seen: finite, so that no difference of two is NaN
_Refs = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the program is compiled for.

    Attributes:
      tile: queries and keys of a block. queries, keys: blocks of each side. last_key: real keys.
      first: the place of query 0 minus that of key 0.
      nearest, farthest: of the places of a key and a query that sees it, the difference lies between these two; None:
        no limit.
      interpret: run by JAX operations instead of being compiled, on any backend.
    """

    backend: Backend
    tile: int
    scale: float
    queries: int
    keys: int
    last_key: int
    first: int
    nearest: int | None
    farthest: int | None
    interpret: bool

    def keys_of(self, i: Any) -> tuple[Any, Any]:
        """The range of blocks of keys that queries of block i see."""
        return self._range(i * self.tile + self.first, self.nearest, self.farthest, self.keys)

    def queries_of(self, j: Any) -> tuple[Any, Any]:
        """The range of blocks of queries that see keys of block j."""
        nearest, farthest = (None if x is None else -x for x in (self.farthest, self.nearest))
        return self._range(j * self.tile - self.first, nearest, farthest, self.queries)

    def diagonal(self, n: Any) -> tuple[Any, Any]:
        """The range of blocks of queries whose tile of block diagonal n exists."""
        shift = n - (self.queries - 1)  # j - i
        return jnp.maximum(0, -shift), jnp.minimum(self.queries, self.keys - shift)

    def _range(self, start: Any, nearest: int | None, farthest: int | None, blocks: int) -> tuple[Any, Any]:
        """The blocks that hold places from ``start + nearest`` to ``start + tile - 1 + farthest``."""
        low, high, size = 0, blocks, self.tile
        if nearest is not None:
            low = jnp.minimum(jax.lax.div(jnp.maximum(start + nearest, 0), size), blocks)
        if farthest is not None:
            high = jnp.minimum(jax.lax.div(jnp.maximum(start + farthest + 2 * size - 1, 0), size), blocks)
        return low, high


# Bytes of a TPU's fast memory, of 128 MiB, that a program may take.
VMEM = 112 * 2**20


def tile_size(backend: Backend, dtype: Any) -> int:
    """That of `TILES`."""
    return TILES[backend, jnp.dtype(dtype).itemsize]


def fits(backend: Backend, queries: int, keys: int, dims: int, dtype: Any) -> bool:
    """Whether a program of the kernel finds room. On a GPU always; on a TPU it holds one head of one row: at head
    dimensions up to 128 about 16,000 tokens.
    """
    if backend == "gpu":
        return True
    size = tile_size(backend, dtype)
    wide, item = -(-dims // 128) * 128, jnp.dtype(dtype).itemsize
    tiles = (queries + keys) // size * size**2 * 4
    of_keys = 2 * keys * wide * item
    of_queries = 2 * queries * wide * item + 2 * queries * 128 * 4  # a column takes a register's width
    return 2 * (tiles + max(of_keys, of_queries)) <= VMEM


def _dot(a: Array, b: Array, contract: tuple[int, int]) -> Array:
    """The matrix product over one axis of each, in float32; products of float32 are not rounded to less."""
    precision = jax.lax.Precision.HIGHEST if a.dtype == jnp.float32 else None
    dimensions = (((contract[0],), (contract[1],)), ((), ()))
    return jax.lax.dot_general(a, b, dimensions, precision=precision, preferred_element_type=jnp.float32)


def _visible(setting: Setting, i: Any, j: Any, q_segments: Array | None, k_segments: Array | None) -> Array:
    """``[tile, tile]``: which queries of block i see which keys of block j, by place and segment (``[tile, 1]`` and
    ``[1, tile]``).
    """
    size = setting.tile
    query, key = (jax.lax.broadcasted_iota(jnp.int32, (size, size), axis) for axis in (0, 1))
    key = key + j * size
    ahead = key - (query + i * size + setting.first)
    visible = key < setting.last_key
    if setting.nearest is not None:
        visible &= ahead >= setting.nearest
    if setting.farthest is not None:
        visible &= ahead <= setting.farthest
    if q_segments is not None and k_segments is not None:
        visible &= (q_segments == k_segments) & (k_segments != 0)
    return visible


def _logits(setting: Setting, q: Array, k: Array, bias: Array | None) -> Array:
    """``[tile, tile]``."""
    logits = setting.scale * _dot(q, k, (1, 1))
    return logits if bias is None else logits + bias


def _of_logits(p: Array, do: Array, v: Array, delta: Array) -> Array:
    """The gradient of the logits: of a softmax with weights p, ``p (do . v - delta)``, delta being ``do . out``."""
    return p * (_dot(do, v, (1, 1)) - delta)


def _part(ref: Any, block: Any, size: int, axis: int = 0, row: tuple[Any, ...] = ()) -> Array:
    """One block, along the axis, of what a program has of an array; ``row`` of the batch where it has several."""
    where = pl.ds(pl.multiple_of(block * size, size), size)
    return ref[(*row, where, slice(None))] if axis == 0 else ref[(*row, slice(None), where)]


def _tile(setting: Setting, refs: _Refs, i: Any, j: Any, q: Array, k: Array, segments: Any) -> tuple[Array, Array]:
    """Logits of tile (i, j), and which of them are seen; ``segments`` of its queries and keys, or None for both."""
    bias = refs["tiles"][j - i + setting.queries - 1] if "tiles" in refs else None
    return _logits(setting, q, k, bias), _visible(setting, i, j, *segments)


def _forward(setting: Setting, refs: _Refs, out: _Refs) -> None:
    """One block of queries: ``out`` and the logarithm of the sum of exponentials, ``lse``."""
    i, size, packed = pl.program_id(2), setting.tile, "q_segments" in refs
    q, q_segments = refs["q"][...], refs["q_segments"][...] if packed else None

    def step(j: Any, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        largest, total, sums = carry
        segments = q_segments, _part(refs["k_segments"], j, size, axis=1) if packed else None
        logits, visible = _tile(setting, refs, i, j, q, _part(refs["k"], j, size), segments)
        logits = jnp.where(visible, logits, _NOTHING)
        new = jnp.maximum(largest, logits.max(axis=1, keepdims=True))
        shrink, p = jnp.exp(largest - new), jnp.where(visible, jnp.exp(logits - new), 0)
        v = _part(refs["v"], j, size)
        total = total * shrink + p.sum(axis=1, keepdims=True)
        return new, total, sums * shrink + _dot(p.astype(v.dtype), v, (1, 0))

    column = jnp.zeros((size, 1), jnp.float32)
    start = column + _NOTHING, column, jnp.zeros((size, out["out"].shape[-1]), jnp.float32)
    largest, total, sums = jax.lax.fori_loop(*setting.keys_of(i), step, start)
    total = jnp.maximum(total, 1e-30)  # a query that sees nothing: zeros
    out["out"][...] = (sums / total).astype(out["out"].dtype)
    out["lse"][...] = largest + jnp.log(total)


def _backward_queries(setting: Setting, refs: _Refs, out: _Refs) -> None:
    """One block of queries: ``dq``."""
    i, size, packed = pl.program_id(2), setting.tile, "q_segments" in refs
    q, do, lse, delta = (refs[name][...] for name in ("q", "do", "lse", "delta"))
    q_segments = refs["q_segments"][...] if packed else None

    def step(j: Any, dq: Array) -> Array:
        k, v = _part(refs["k"], j, size), _part(refs["v"], j, size)
        segments = q_segments, _part(refs["k_segments"], j, size, axis=1) if packed else None
        logits, visible = _tile(setting, refs, i, j, q, k, segments)
        p = jnp.where(visible, jnp.exp(logits - lse), 0)
        return dq + _dot(_of_logits(p, do, v, delta).astype(k.dtype), k, (1, 0))

    dq = jax.lax.fori_loop(*setting.keys_of(i), step, jnp.zeros(q.shape, jnp.float32))
    out["dq"][...] = (setting.scale * dq).astype(out["dq"].dtype)


def _backward_keys(setting: Setting, refs: _Refs, out: _Refs) -> None:
    """One block of keys, for one query head: ``dk`` and ``dv``."""
    j, size, packed = pl.program_id(2), setting.tile, "q_segments" in refs
    k, v, k_segments = refs["k"][...], refs["v"][...], refs["k_segments"][...] if packed else None

    def step(i: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        dk, dv = carry
        q, do, lse, delta = (_part(refs[name], i, size) for name in ("q", "do", "lse", "delta"))
        segments = _part(refs["q_segments"], i, size) if packed else None, k_segments
        logits, visible = _tile(setting, refs, i, j, q, k, segments)
        p = jnp.where(visible, jnp.exp(logits - lse), 0)
        dv = dv + _dot(p.astype(do.dtype), do, (0, 0))
        return dk + _dot(_of_logits(p, do, v, delta).astype(q.dtype), q, (0, 0)), dv

    start = jnp.zeros(k.shape, jnp.float32), jnp.zeros(v.shape, jnp.float32)
    dk, dv = jax.lax.fori_loop(*setting.queries_of(j), step, start)
    out["dk"][...] = setting.scale * dk
    out["dv"][...] = dv


def _add_along_diagonal(setting: Setting, refs: _Refs, out: _Refs) -> None:
    """One block diagonal of one head: the sum of the logits' gradients over its tiles and the rows of the batch.

    The rows are a loop on a GPU, whose programs see all of them. On a TPU, where programs run one after the other, they
    are the last axis of the grid, and each program adds one.
    """
    n, size, packed = pl.program_id(1), setting.tile, "q_segments" in refs

    def of_row(row: Any, total: Array) -> Array:
        part = functools.partial(_part, size=size, row=(row,))
        bias = refs["tiles"][...]

        def step(i: Any, total: Array) -> Array:
            j = i + n - (setting.queries - 1)
            q, do, lse, delta = (part(refs[name], i) for name in ("q", "do", "lse", "delta"))
            k, v = part(refs["k"], j), part(refs["v"], j)
            segments: tuple[Array | None, Array | None] = (None, None)
            if packed:
                segments = part(refs["q_segments"], i), part(refs["k_segments"], j, axis=1)
            p = jnp.where(_visible(setting, i, j, *segments), jnp.exp(_logits(setting, q, k, bias) - lse), 0)
            return total + _of_logits(p, do, v, delta)

        return jax.lax.fori_loop(*setting.diagonal(n), step, total)

    nothing = jnp.zeros((size, size), jnp.float32)
    if setting.backend == "tpu":
        before = jnp.where(pl.program_id(2) == 0, nothing, out["tiles"][...])
        out["tiles"][...] = of_row(0, before)
    else:
        out["tiles"][...] = jax.lax.fori_loop(0, refs["q"].shape[0], of_row, nothing)


# Axes of the grid are (row, head, block), in the last kernel (head, diagonal) and on a TPU (head, diagonal, row).


def _specs(setting: Setting, arrays: dict[str, Array], whole: frozenset[str]) -> dict[str, pl.BlockSpec]:
    """Of every array ``[B, heads, S, D]`` or ``[B, heads, 1, S]`` one row and head, and of those that are not ``whole``
    one block of the sequence.
    """
    heads = arrays["q"].shape[1]

    def spec(name: str, array: Array) -> pl.BlockSpec:
        if name == "tiles":
            return pl.BlockSpec((None, *array.shape[1:]), lambda b, h, i: (h, 0, 0, 0))
        one, share = (None, None), heads // array.shape[1]
        if name in whole:
            return pl.BlockSpec((*one, *array.shape[2:]), lambda b, h, i: (b, jax.lax.div(h, share), 0, 0))
        if name == "k_segments":
            return pl.BlockSpec((*one, 1, setting.tile), lambda b, h, i: (b, 0, 0, i))
        return pl.BlockSpec((*one, setting.tile, array.shape[3]), lambda b, h, i: (b, jax.lax.div(h, share), i, 0))

    return {name: spec(name, array) for name, array in arrays.items()}


def _call(
    setting: Setting, kernel: Any, grid: tuple[int, ...], arrays: dict[str, Array], specs: Any, out: dict[str, Any]
) -> Any:
    """``kernel`` over the grid; ``out`` has for each array its spec and its shape."""
    if setting.backend == "gpu":
        params: Any = plgpu.CompilerParams(num_warps=4, num_stages=2)
    else:
        params = pltpu.CompilerParams(vmem_limit_bytes=VMEM)
    return pl.pallas_call(
        functools.partial(kernel, setting),
        grid=grid,
        in_specs=[specs],
        out_specs={name: spec for name, (spec, _) in out.items()},
        out_shape={name: shape for name, (_, shape) in out.items()},
        compiler_params=params,
        interpret=setting.interpret,
    )(arrays)


def _inputs(q: Array, k: Array, v: Array, tiles: Array | None, segments: Any) -> dict[str, Array]:
    arrays = {"q": q, "k": k, "v": v}
    if tiles is not None:
        arrays["tiles"] = tiles
    if segments is not None:
        arrays |= {"q_segments": segments[0], "k_segments": segments[1]}
    return arrays


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(setting: Setting, q: Array, k: Array, v: Array, tiles: Array | None, segments: Any) -> Array:
    return _attention_forward(setting, q, k, v, tiles, segments)[0]


def _attention_forward(
    setting: Setting, q: Array, k: Array, v: Array, tiles: Array | None, segments: Any
) -> tuple[Array, Any]:
    rows, heads, queries, _ = q.shape
    arrays = _inputs(q, k, v, tiles, segments)
    specs = _specs(setting, arrays, frozenset({"k", "v", "k_segments"}))

    def block(dims: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, None, setting.tile, dims), lambda b, h, i: (b, h, i, 0))

    out = {
        "out": (block(v.shape[3]), jax.ShapeDtypeStruct((rows, heads, queries, v.shape[3]), v.dtype)),
        "lse": (block(1), jax.ShapeDtypeStruct((rows, heads, queries, 1), jnp.float32)),
    }
    found = _call(setting, _forward, (rows, heads, setting.queries), arrays, specs, out)
    return found["out"], (q, k, v, tiles, segments, found["out"], found["lse"])


def _attention_backward(setting: Setting, kept: Any, do: Array) -> tuple[Any, ...]:
    q, k, v, tiles, segments, result, lse = kept
    delta = (do.astype(jnp.float32) * result.astype(jnp.float32)).sum(axis=-1, keepdims=True)
    arrays = _inputs(q, k, v, tiles, segments) | {"do": do, "lse": lse, "delta": delta}
    rows, heads, _, dims = q.shape
    keys, size = k.shape[2], setting.tile

    def block(dims: int) -> pl.BlockSpec:
        return pl.BlockSpec((None, None, size, dims), lambda b, h, i: (b, h, i, 0))

    specs = _specs(setting, arrays, frozenset({"k", "v", "k_segments"}))
    out = {"dq": (block(dims), jax.ShapeDtypeStruct(q.shape, q.dtype))}
    dq = _call(setting, _backward_queries, (rows, heads, setting.queries), arrays, specs, out)["dq"]

    specs = _specs(setting, arrays, frozenset({"q", "do", "lse", "delta", "q_segments"}))
    out = {
        "dk": (block(dims), jax.ShapeDtypeStruct((rows, heads, keys, dims), jnp.float32)),
        "dv": (block(v.shape[3]), jax.ShapeDtypeStruct((rows, heads, keys, v.shape[3]), jnp.float32)),
    }
    found = _call(setting, _backward_keys, (rows, heads, setting.keys), arrays, specs, out)
    dk, dv = (
        found[name].reshape(rows, x.shape[1], -1, keys, x.shape[3]).sum(axis=2).astype(x.dtype)
        for name, x in (("dk", k), ("dv", v))
    )
    if tiles is None:
        return dq, dk, dv, None, None

    at_once = 1 if setting.backend == "tpu" else rows
    grid = (heads, tiles.shape[1]) + ((rows,) if setting.backend == "tpu" else ())

    def of_diagonal(array: Array) -> pl.BlockSpec:
        share = heads // array.shape[1]
        return pl.BlockSpec((at_once, None, *array.shape[2:]), lambda h, n, b=0: (b, jax.lax.div(h, share), 0, 0))

    specs = {name: of_diagonal(array) for name, array in arrays.items()}
    specs["tiles"] = pl.BlockSpec((None, None, size, size), lambda h, n, b=0: (h, n, 0, 0))
    out = {"tiles": (specs["tiles"], jax.ShapeDtypeStruct(tiles.shape, jnp.float32))}
    return dq, dk, dv, _call(setting, _add_along_diagonal, grid, arrays, specs, out)["tiles"], None


_attention.defvjp(_attention_forward, _attention_backward)


def bias_tiles(table: Array, size: int) -> Array:
    """``[H, N, size, size]``, the tile of every block diagonal, from ``[H, (N + 1) size - 1]``: in tile n, row r and
    column c there is the number at ``n size + c - r + size - 1``.

    >>> bias_tiles(jnp.arange(7.0)[None], 2)[0, 1].tolist()
    [[3.0, 4.0], [2.0, 3.0]]
    """
    pieces = jnp.pad(table, ((0, 0), (0, 1))).reshape(len(table), -1, size)
    return toeplitz(jnp.concatenate([pieces[:, :-1], pieces[:, 1:, :-1]], axis=2), size, size)


def attention_by_distance(
    q: Array,
    k: Array,
    v: Array,
    table: Array | None,
    *,
    backend: Backend,
    scale: float,
    causal: bool = False,
    window: int | None = None,
    first: int = 0,
    segments: tuple[Array, Array] | None = None,
    interpret: bool = False,
) -> Array:
    """``[B, H, Q, D]`` of ``q [B, H, Q, D]``, ``k``, ``v`` ``[B, Hkv, K, D]``, in the dtype of ``v``.

    Args:
      table: ``[H, Q + K - 1]`` in float32, or None: the bias of query i and key j is number ``j - i + Q - 1``.
      first: the place of query 0 minus that of key 0; both sides go on by one. causal, window: as in `Geometry`.
      segments: ids ``[#B, Q]`` and ``[#B, K]``; a query sees those of its own, and nobody sees 0.
      interpret: run by JAX's operations on any backend, slowly: for tests.

    A query that sees nothing gets zeros.
    """
    size = tile_size(backend, q.dtype)
    rows, _, queries, dims = q.shape
    keys = k.shape[2]
    blocks = -(-queries // size), -(-keys // size)
    # Blocks of a GPU's programs have powers of two as sizes, a TPU's registers are as wide as its tiles.
    wide = max(16, 2 ** math.ceil(math.log2(max(dims, v.shape[3])))) if backend == "gpu" else None
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
        tiles = bias_tiles(jnp.pad(table.astype(jnp.float32), ((0, 0), more)), size)
    of_both = None
    if segments is not None:
        of_both = of_rows(segments[0], blocks[0])[:, None, :, None], of_rows(segments[1], blocks[1])[:, None, None]
    out = _attention(setting, pad(q, blocks[0]), pad(k, blocks[1]), pad(v, blocks[1]), tiles, of_both)
    return out[:, :, :queries, : v.shape[3]]
