"""One fused kernel for every bias that is a function of the distance alone, in Pallas, forward and backward.

    out_i = sum_j softmax_j(scale q_i . k_j + table[h, k - q] + sum_f phi_if psi_jf) v_j

over the keys that the mask lets query i see. The logits exist one tile of `TILES` by `TILES` pairs at a time
(FlashAttention: Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691). What is new here is the bias and its
gradient. Cut queries and keys into blocks of the same size: all tiles (i, j) with the same j - i, a *block diagonal*,
then have the same distances at the same indices, hence one and the same tile of biases. So

- a table ``[H, Q + K - 1]`` is spread over one tile for every block diagonal before the kernel (`bias_tiles`), which
  takes memory for ``2 TILES`` numbers a token and head;
- the gradient of such a tile is the sum of the logits' gradients along its block diagonal (`add_along_diagonal`);
- from tiles to table, and from there to the parameters of an encoding, JAX differentiates by itself.

A few numbers of queries and keys, ``phi`` and ``psi``, add their products to the logits, in float32 whatever the type
of queries: cumulated gates, whose gradients would not survive a narrower one.

There is no addition whose order depends on time, so results repeat to the bit. The functions on values (`_visible`,
`_logits`, ...) are the mathematics. Each kernel is a loop over tiles around them. What differs between GPU and TPU is
in `TILES`, in the sum over a batch (`add_along_diagonal`) and in `posenc_jax.attention.kernel_call`, which cuts the
arrays for the programs. `posenc_jax.attention.mosaic` has blocks, products and loops of its own for Pallas' Mosaic GPU.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from posenc_jax.encodings.interface.base import Array

# What Pallas compiles a program by: Mosaic GPU, Triton (which JAX 0.11 deprecated) or, on TPUs, Mosaic.
Backend = Literal["mosaic", "triton", "tpu"]
ON_GPU: Backend = "mosaic" if jax.__version_info__ >= (0, 12) else "triton"

# Queries and keys of a tile, by backend and bytes of a number. A TPU's registers are 128 wide. On a GPU a thread has
# 255 registers for its part of the tiles of a program, and Triton's full products of float32 need more of them. The
# four warps of a program of Mosaic GPU have 16 rows each.
TILES: dict[tuple[Backend, int], int] = {
    ("mosaic", 2): 64,
    ("mosaic", 4): 64,
    ("triton", 2): 64,
    ("triton", 4): 32,
    ("tpu", 2): 128,
    ("tpu", 4): 128,
}

_NOTHING = -1e30  # the logit of what is not seen: finite, so that no difference of two is NaN
_Refs = dict[str, Any]
_Factors = list[tuple[Array, Array]]
_Place = tuple[Any, ...]  # of a program in its grid


@dataclasses.dataclass(frozen=True)
class Setting:
    """The static arguments that the program is compiled for.

    Attributes:
      tile: queries and keys of a block.
      queries, keys: blocks of each side.
      last_key: real keys.
      first: the place of query 0 minus that of key 0.
      nearest, farthest: of the places of a key and a query that sees it, the difference lies between these two; None:
        no limit.
      interpret: run by JAX operations instead of being compiled, on any backend: True, or parameters of Pallas.
      dot, loop: `product` and `jax.lax.fori_loop`, or what Mosaic GPU has in their place.
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
    interpret: Any
    dot: Callable[..., Array]
    loop: Callable[..., Any]

    def keys_of(self, i: Any) -> tuple[Any, Any]:
        """The range of blocks of keys that queries of block i see."""
        return self._range(i * self.tile + self.first, self.nearest, self.farthest, self.keys)

    def queries_of(self, j: Any) -> tuple[Any, Any]:
        """The range of blocks of queries that see keys of block j."""
        nearest, farthest = (None if x is None else -x for x in (self.farthest, self.nearest))
        return self._range(j * self.tile - self.first, nearest, farthest, self.queries)

    def over(self, reduce: Callable[..., Array], tile: Array, axis: int) -> Array:
        """A reduction over one axis of a tile: ``[tile, 1]`` or ``[1, tile]``; of Mosaic GPU a vector."""
        return reduce(tile, axis=axis, keepdims=self.backend != "mosaic")

    def zeros(self, axis: int) -> Array:
        """Zeros from which sums `over` an axis start."""
        shape = [self.tile, self.tile]
        shape[axis] = 1
        return jnp.zeros(shape[1 - axis] if self.backend == "mosaic" else shape, jnp.float32)

    def diagonal(self, n: Any) -> tuple[Any, Any]:
        """The range of blocks of queries whose tile of block diagonal n exists."""
        shift = n - (self.queries - 1)  # j - i
        return jnp.maximum(0, -shift), jnp.minimum(self.queries, self.keys - shift)

    def _range(self, start: Any, nearest: int | None, farthest: int | None, blocks: int) -> tuple[Any, Any]:
        """The blocks that hold places from ``start + nearest`` to ``start + tile - 1 + farthest``."""
        size = self.tile
        low: Any = 0
        high: Any = blocks
        if nearest is not None:
            low = jnp.minimum(jax.lax.div(jnp.maximum(start + nearest, 0), size), blocks)
        if farthest is not None:
            high = jnp.minimum(jax.lax.div(jnp.maximum(start + farthest + 2 * size - 1, 0), size), blocks)
        return low, high


# Bytes of a TPU's fast memory, of 128 MiB, that a program may take.
VMEM = 112 * 2**20


def tile_size(backend: Backend, dtype: Any) -> int:
    """The entry of `TILES` for a backend and a dtype."""
    return TILES[backend, jnp.dtype(dtype).itemsize]


def fits(backend: Backend, queries: int, keys: int, dims: int, dtype: Any, columns: int = 0) -> bool:
    """True if a program of the kernel fits in memory with so many ``columns`` of queries and keys. On a GPU always; on
    a TPU it holds one head of one row: at head dimensions up to 128 about 16,000 tokens.
    """
    if backend != "tpu":
        return True
    size = tile_size(backend, dtype)
    wide, item = -(-dims // 128) * 128, jnp.dtype(dtype).itemsize
    tiles = (queries + keys) // size * size**2 * 4
    of_keys = 2 * keys * wide * item + columns * keys * 8 * 4  # a row takes a register's height
    of_queries = 2 * queries * wide * item + (2 + columns) * queries * 128 * 4  # a column its width
    return 2 * (tiles + max(of_keys, of_queries)) <= VMEM


def product(a: Array, b: Array, contract: tuple[int, int]) -> Array:
    """The matrix product over one axis of each, in float32; products of float32 are not rounded to less."""
    precision = jax.lax.Precision.HIGHEST if a.dtype == jnp.float32 else None
    dimensions = (((contract[0],), (contract[1],)), ((), ()))
    return jax.lax.dot_general(a, b, dimensions, precision=precision, preferred_element_type=jnp.float32)


def _visible(setting: Setting, i: Any, j: Any, q_segments: Array | None, k_segments: Array | None) -> Array:
    """``[tile, tile]``: which queries of block i see which keys of block j, by place and segment."""
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


def _logits(setting: Setting, q: Array, k: Array, bias: Array | None, factors: _Factors) -> Array:
    """``[tile, tile]``; ``factors``: columns ``[tile, 1]`` of the queries and rows ``[1, tile]`` of the keys."""
    logits = setting.scale * setting.dot(q, k, (1, 1))
    logits = logits if bias is None else logits + bias
    return functools.reduce(lambda total, pair: total + pair[0] * pair[1], factors, logits)


def _of_logits(setting: Setting, p: Array, do: Array, v: Array, delta: Array) -> Array:
    """The gradient of the logits: of a softmax with weights p, ``p (do . v - delta)``, delta being ``do . out``."""
    return p * (setting.dot(do, v, (1, 1)) - delta)


def _across(column: Array, width: int) -> Array:
    """A vector as a column repeated over the width of a tile; arrays of two axes broadcast by themselves."""
    return column if column.ndim == 2 else jax.lax.broadcast_in_dim(column, (len(column), width), (0,))


def _part(ref: Any, block: Any, size: int, axis: int = 0, row: tuple[Any, ...] = ()) -> Array:
    """One block, along the axis, of what a program has of an array; ``row`` of the batch where it has several."""
    where = pl.ds(pl.multiple_of(block * size, size), size)
    return ref[(*row, where, slice(None))] if axis == 0 else ref[(*row, slice(None), where)]


def _names(refs: _Refs, side: str) -> list[str]:
    """Names of the factors of a side, "phi" or "psi"."""
    return sorted(name for name in refs if name.startswith(side))


def _tile(
    setting: Setting, refs: _Refs, i: Any, j: Any, q: Array, k: Array, segments: Any, factors: _Factors
) -> tuple[Array, Array]:
    """Logits of tile (i, j), and which of them are seen; ``segments`` of its queries and keys, or None for both."""
    bias = refs["tiles"][j - i + setting.queries - 1] if "tiles" in refs else None
    return _logits(setting, q, k, bias, factors), _visible(setting, i, j, *segments)


def _with_rows(refs: _Refs, phis: list[Array], j: Any, size: int) -> _Factors:
    """The columns of a block of queries with the rows of block j of the keys."""
    psis = [_part(refs[name], j, size, axis=1) for name in _names(refs, "psi")]
    return list(zip(phis, psis, strict=True))


def forward(setting: Setting, at: _Place, refs: _Refs, out: _Refs) -> None:
    """One block of queries: ``out`` and the logarithm of the sum of exponentials, ``lse``."""
    i, size, packed = at[2], setting.tile, "q_segments" in refs
    q, q_segments = refs["q"][...], refs["q_segments"][...] if packed else None
    phis = [refs[name][...] for name in _names(refs, "phi")]

    def step(j: Any, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        largest, total, sums = carry
        segments = q_segments, _part(refs["k_segments"], j, size, axis=1) if packed else None
        factors = _with_rows(refs, phis, j, size)
        logits, visible = _tile(setting, refs, i, j, q, _part(refs["k"], j, size), segments, factors)
        logits = jnp.where(visible, logits, _NOTHING)
        new = jnp.maximum(largest, setting.over(jnp.max, logits, 1))
        shrink, p = jnp.exp(largest - new), jnp.where(visible, jnp.exp(logits - _across(new, size)), 0)
        v = _part(refs["v"], j, size)
        total = total * shrink + setting.over(jnp.sum, p, 1)
        return new, total, sums * _across(shrink, sums.shape[1]) + setting.dot(p.astype(v.dtype), v, (1, 0))

    column = setting.zeros(1)
    start = column + _NOTHING, column, jnp.zeros((size, out["out"].shape[-1]), jnp.float32)
    largest, total, sums = setting.loop(*setting.keys_of(i), step, start)
    total = jnp.maximum(total, 1e-30)  # a query that sees nothing: zeros
    out["out"][...] = (sums / _across(total, sums.shape[1])).astype(out["out"].dtype)
    out["lse"][...] = largest + jnp.log(total)


def mean_products(setting: Setting, at: _Place, refs: _Refs, out: _Refs) -> None:
    """One block of queries: ``delta``, the mean of ``do . v`` by the weights.

    It is ``do . out``, but of weights and outputs that are not rounded to the type of values: with it the gradients of
    a query's logits add up to nothing, as they must where they are added up along a sequence.
    """
    i, size, packed = at[2], setting.tile, "q_segments" in refs
    q, do, lse = (refs[name][...] for name in ("q", "do", "lse"))
    q_segments = refs["q_segments"][...] if packed else None
    phis = [refs[name][...] for name in _names(refs, "phi")]

    def step(j: Any, delta: Array) -> Array:
        segments = q_segments, _part(refs["k_segments"], j, size, axis=1) if packed else None
        factors = _with_rows(refs, phis, j, size)
        logits, visible = _tile(setting, refs, i, j, q, _part(refs["k"], j, size), segments, factors)
        p = jnp.where(visible, jnp.exp(logits - lse), 0)
        return delta + setting.over(jnp.sum, p * setting.dot(do, _part(refs["v"], j, size), (1, 1)), 1)

    out["delta"][...] = setting.loop(*setting.keys_of(i), step, setting.zeros(1))


def backward_queries(setting: Setting, at: _Place, refs: _Refs, out: _Refs) -> None:
    """One block of queries: ``dq``, and ``dphi`` of each factor."""
    i, size, packed = at[2], setting.tile, "q_segments" in refs
    q, do, lse, delta = (refs[name][...] for name in ("q", "do", "lse", "delta"))
    q_segments = refs["q_segments"][...] if packed else None
    phis = [refs[name][...] for name in _names(refs, "phi")]

    def step(j: Any, carry: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
        dq, dphis = carry
        k, v = _part(refs["k"], j, size), _part(refs["v"], j, size)
        segments = q_segments, _part(refs["k_segments"], j, size, axis=1) if packed else None
        factors = _with_rows(refs, phis, j, size)
        logits, visible = _tile(setting, refs, i, j, q, k, segments, factors)
        ds = _of_logits(setting, jnp.where(visible, jnp.exp(logits - lse), 0), do, v, delta)
        dphis = [d + setting.over(jnp.sum, ds * psi, 1) for d, (_, psi) in zip(dphis, factors, strict=True)]
        return dq + setting.dot(ds.astype(k.dtype), k, (1, 0)), dphis

    start = jnp.zeros(q.shape, jnp.float32), [setting.zeros(1) for _ in phis]
    dq, dphis = setting.loop(*setting.keys_of(i), step, start)
    out["dq"][...] = (setting.scale * dq).astype(out["dq"].dtype)
    for name, dphi in zip(_names(refs, "phi"), dphis, strict=True):
        out[f"d{name}"][...] = dphi


def backward_keys(setting: Setting, at: _Place, refs: _Refs, out: _Refs) -> None:
    """One block of keys, for one query head: ``dk`` and ``dv``, and ``dpsi`` of each factor."""
    j, size, packed = at[2], setting.tile, "q_segments" in refs
    k, v, k_segments = refs["k"][...], refs["v"][...], refs["k_segments"][...] if packed else None
    psis = [refs[name][...] for name in _names(refs, "psi")]

    def step(i: Any, carry: tuple[Array, Array, list[Array]]) -> tuple[Array, Array, list[Array]]:
        dk, dv, dpsis = carry
        q, do, lse, delta = (_part(refs[name], i, size) for name in ("q", "do", "lse", "delta"))
        segments = _part(refs["q_segments"], i, size) if packed else None, k_segments
        factors = [(_part(refs[name], i, size), psi) for name, psi in zip(_names(refs, "phi"), psis, strict=True)]
        logits, visible = _tile(setting, refs, i, j, q, k, segments, factors)
        p = jnp.where(visible, jnp.exp(logits - lse), 0)
        ds, dv = _of_logits(setting, p, do, v, delta), dv + setting.dot(p.astype(do.dtype), do, (0, 0))
        dpsis = [d + setting.over(jnp.sum, ds * phi, 0) for d, (phi, _) in zip(dpsis, factors, strict=True)]
        return dk + setting.dot(ds.astype(q.dtype), q, (0, 0)), dv, dpsis

    start = jnp.zeros(k.shape, jnp.float32), jnp.zeros(v.shape, jnp.float32)
    nothing = [setting.zeros(0) for _ in psis]
    dk, dv, dpsis = setting.loop(*setting.queries_of(j), step, (*start, nothing))
    out["dk"][...] = setting.scale * dk
    out["dv"][...] = dv
    for name, dpsi in zip(_names(refs, "psi"), dpsis, strict=True):
        out[f"d{name}"][...] = dpsi


def add_along_diagonal(setting: Setting, at: _Place, refs: _Refs, out: _Refs) -> None:
    """One block diagonal of one head: the sum of the logits' gradients over its tiles and the rows of the batch.

    The rows are a loop on a GPU, whose programs see all of them. On a TPU, where programs run one after the other, they
    are the last axis of the grid, and each program adds one.
    """
    n, size, packed = at[1], setting.tile, "q_segments" in refs

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
            columns, rows = ([refs[name] for name in _names(refs, side)] for side in ("phi", "psi"))
            factors = [(part(phi, i), part(psi, j, axis=1)) for phi, psi in zip(columns, rows, strict=True)]
            p = jnp.where(_visible(setting, i, j, *segments), jnp.exp(_logits(setting, q, k, bias, factors) - lse), 0)
            return total + _of_logits(setting, p, do, v, delta)

        return setting.loop(*setting.diagonal(n), step, total)

    nothing = jnp.zeros((size, size), jnp.float32)
    if setting.backend == "tpu":
        before = jnp.where(at[2] == 0, nothing, out["tiles"][...])
        out["tiles"][...] = of_row(0, before)
    else:
        out["tiles"][...] = setting.loop(0, refs["q"].shape[0], of_row, nothing)
