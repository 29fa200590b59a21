"""The programs of `posenc_jax.attention.kernel` by Pallas' Mosaic GPU: NVIDIA's GPUs from Ampere on, JAX 0.12 on.

Pallas cuts no blocks here: a program is one group of four warps that sees all arrays. What it works on of one is an
`InMemory`, which is read and written as Pallas' references are. Queries, keys, values and the gradients of outputs stay
in memory until a `product` reads them, since each operand of the tensor cores' instruction (``mma``) lies in registers
in a way of its own:

- the right operand must have neighbours in memory along what is summed over. Products over tokens read it from a copy
  with tokens last, `InMemory.turned`;
- a left operand that was computed, weights or their gradients, goes through shared memory.

The instruction takes no float32: such a number is the sum of three of bfloat16, and a product of two the sum of six.
Copies are not started ahead of their use: Pallas puts a barrier around each store, which is all the waiting there is.
Pallas interprets all of this but ``mma``.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu

from posenc_jax.encodings.interface.base import Array

plgpu: Any = mosaic_gpu  # older versions of JAX have less of it, and nothing here is called there
MATRICES = ("q", "k", "v", "do")
_TILE = plgpu.Layout.WGMMA  # what the instruction adds to
_PARTS = 3  # of bfloat16, that together hold a number of float32


def _read(ref: Any, layout: Any) -> Array:
    return plgpu.load(ref, layout=layout, optimized=False)


def _operand(ref: Any, side: Any) -> list[Array]:
    """The arrays of bfloat16 that add up to an operand of the instruction."""
    x = _read(ref, side(jnp.bfloat16))
    if x.dtype == jnp.bfloat16:
        return [x]
    parts = []
    for _ in range(_PARTS):
        parts.append(x.astype(jnp.bfloat16))
        x = x - parts[-1].astype(jnp.float32)
    return parts


@dataclasses.dataclass(frozen=True)
class InMemory:
    """A part of an array, ``[..., S, D]``, that a program works on.

    Attributes:
      ref: where it lies.
      turned: the same part of a copy ``[..., D, S]``, if there is one.
      between: shared memory for one tile.
      waits: read by a product, and not before.
    """

    ref: Any
    turned: Any
    between: Any
    waits: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        return tuple(self.ref.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the numbers."""
        return self.ref.dtype

    def __getitem__(self, index: Any) -> Any:
        """The reference itself for a product, else its numbers; a column or a row becomes a ``[tile, tile]`` array of
        equal columns or rows, which share their registers.
        """
        ref, turned = self.ref, self.turned
        if index is not Ellipsis:
            ref = ref.at[index]
            turned = None if turned is None else turned.at[(*index[:-2], index[-1], index[-2])]
        if self.waits:
            return InMemory(ref, turned, self.between, self.waits)
        if min(ref.shape) > 1:
            return _read(ref, _TILE)
        axis = ref.shape.index(1)
        vector = _read(ref.at[:, 0] if axis == 1 else ref.at[0], _TILE.reduce(axis))
        return jax.lax.broadcast_in_dim(vector, (len(vector), len(vector)), (1 - axis,))

    def __setitem__(self, _: Any, value: Array) -> None:
        ref = self.ref
        if value.ndim == 1:
            ref = ref.at[:, 0] if ref.shape[1] == 1 else ref.at[0]
        plgpu.store(ref, value, optimized=False)


def _product(a: Array | InMemory, b: InMemory, over: tuple[int, int], *, add: Callable[..., Array]) -> Array:
    """`posenc_jax.attention.kernel.product`: over one axis of each, in float32."""
    if isinstance(a, InMemory):
        left = a.ref
    else:
        left = place = b.between
        if over[0] == 0:
            a, place = plgpu.layout_cast(a, plgpu.Layout.WGMMA_TRANSPOSED), place.transpose((1, 0))
        plgpu.store(place, jnp.asarray(a).astype(place.dtype))
    right = (b.ref if over[1] == 1 else b.turned).transpose((1, 0))
    lefts, rights = _operand(left, plgpu.Layout.MMA_LHS), _operand(right, plgpu.Layout.MMA_RHS)
    total = plgpu.layout_cast(jnp.zeros((left.shape[0], right.shape[1]), jnp.float32), _TILE)
    for order in reversed(range(len(lefts))):  # the smallest first
        for n in range(order + 1):
            total = add(total, lefts[n], rights[order - n])
    return total


def _add(total: Array, a: Array, b: Array) -> Array:
    return plgpu.mma(total, a, b)


def _add_interpreted(total: Array, a: Array, b: Array) -> Array:
    return total + jax.lax.dot(a, b, preferred_element_type=jnp.float32)


product = functools.partial(_product, add=_add)
interpreted_product = functools.partial(_product, add=_add_interpreted)


def loop(first: Any, end: Any, step: Any, start: Any) -> Any:
    """`jax.lax.fori_loop`, which carries tiles in the registers that products are in."""
    start = jax.tree.map(lambda x: plgpu.layout_cast(x, _TILE) if x.ndim == 2 else x, start)
    return jax.lax.fori_loop(first, end, step, start)


def _part_of(ref: Any, spec: Any, at: tuple[Any, ...], *, turned: bool = False) -> Any:
    """The part of an array that a program at a place of the grid works on, as a block spec says."""
    index = spec.index_map(*at)
    where = [b if size is None else pl.ds(b * size, size) for b, size in zip(index, spec.block_shape, strict=True)]
    if turned:
        where[-2:] = reversed(where[-2:])
    return ref.at[tuple(where)]


def call(
    program: Callable[..., None],
    grid: tuple[int, ...],
    arrays: dict[str, Array],
    specs: dict[str, pl.BlockSpec],
    out: dict[str, Any],
    *,
    tile: int,
    over_tokens: tuple[str, ...],
    interpret: Any,
) -> dict[str, Array]:
    """``program(place, parts, parts of out)`` over the grid; ``out`` has for each array its spec and its shape.

    Args:
      over_tokens: the arrays that products over tokens take on the right.
    """
    copies = {name: jnp.swapaxes(arrays[name], -1, -2) for name in over_tokens}

    def body(*refs: Any) -> None:
        at = tuple(jax.lax.axis_index(axis) for axis in axes)
        of_arrays, others, between = refs[: len(arrays)], refs[len(arrays) : -1], refs[-1]
        of_copies, of_out = others[: len(copies)], others[len(copies) :]
        turned = {n: _part_of(ref, specs[n], at, turned=True) for n, ref in zip(copies, of_copies, strict=True)}
        parts = {
            name: InMemory(_part_of(ref, specs[name], at), turned.get(name), between, name in MATRICES)
            for name, ref in zip(arrays, of_arrays, strict=True)
        }
        written = zip(out.items(), of_out, strict=True)
        program(at, parts, {n: InMemory(_part_of(ref, spec, at), None, None, False) for (n, (spec, _)), ref in written})

    axes = tuple(f"axis {number}" for number in range(len(grid)))
    found = plgpu.kernel(
        body,
        out_type=tuple(shape for _, shape in out.values()),
        grid=grid,
        grid_names=axes,
        scratch_types=(plgpu.SMEM((tile, tile), arrays["v"].dtype),),
        interpret=interpret,
    )(*arrays.values(), *copies.values())
    return dict(zip(out, found, strict=True))
