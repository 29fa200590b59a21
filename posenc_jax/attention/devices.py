"""A call of attention on several devices: XLA divides its own operations among them, but no kernel of Pallas."""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from posenc_jax.encodings.interface.base import Array

# The axes of a mesh over which batches and matrices are split (`posenc_jax.config.Execution`).
ROWS, HEADS = "data", "model"


def mesh_in_use() -> AbstractMesh | None:
    """The mesh that a program is traced for (``jax.sharding.use_abstract_mesh``) if it has several devices and XLA is
    to divide the work among them; None inside a `jax.shard_map`.
    """
    mesh = jax.sharding.get_abstract_mesh()
    free = not mesh.empty and all(kind == AxisType.Auto for kind in mesh.axis_types)
    return mesh if free and mesh.size > 1 else None


def part_of(size: int, count: int) -> int:
    """The share of one of ``count`` devices in ``size`` rows or heads: all of them if they are not divisible."""
    return size // count if size % count == 0 else size


def devices_along(axis: str) -> int:
    """The number of devices of `mesh_in_use` along an axis: 1 without it."""
    mesh = mesh_in_use()
    return 1 if mesh is None else dict(mesh.shape).get(axis, 1)


def on_each(call: Callable[..., Array], q: Array, k: Array, v: Array, *others: Any) -> Array:
    """``call(q, k, v, *others)`` on every device for its rows and heads, ``[B, H, ...]``.

    Args:
      others: trees of arrays ``[B or 1, H or 1, ...]``, or None. Replicas that are batched by ``vmap`` with
        ``spmd_axis_name`` lie on the devices of their own axis.
    """
    mesh = mesh_in_use()
    if mesh is None:
        return call(q, k, v, *others)
    sizes = {ROWS: q.shape[0], HEADS: q.shape[1]}
    split = {axis: axis if part_of(size, devices_along(axis)) < size else None for axis, size in sizes.items()}
    if part_of(k.shape[1], devices_along(HEADS)) == k.shape[1] > 1:  # query heads would lose the keys that they share
        split[HEADS] = None

    def spec(x: Array) -> P:
        return P(*(split[axis] if x.shape[number] > 1 else None for number, axis in enumerate((ROWS, HEADS))))

    arguments = (q, k, v, *others)
    specs = jax.tree.map(spec, arguments)
    divided = jax.shard_map(call, mesh=mesh, in_specs=specs, out_specs=spec(q), check_vma=False)
    return divided(*arguments)
