"""Groups of replicas: one compiled program that runs a function of one replica for all replicas of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax.config import Execution
from posenc_jax.training.sharding import state_shardings


def make_mesh(execution: Execution, group_size: int) -> Mesh:
    """Devices as (replica, data, model): as many rows of ``data x model`` devices as divide the group."""
    devices = jax.devices()
    per_replica = execution.data * execution.model
    if per_replica > len(devices):
        raise ValueError(
            f"execution.data x execution.model = {per_replica} devices are asked for, {len(devices)} are there"
        )
    rows = (
        1
        if execution.mode == "map"
        else max(n for n in range(1, len(devices) // per_replica + 1) if group_size % n == 0)
    )
    grid = np.asarray(devices[: rows * per_replica]).reshape(rows, execution.data, execution.model)
    return Mesh(grid, ("replica", "data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 3)


def default_group_size(execution: Execution) -> int:
    """One replica per device (per row of ``data x model`` devices)."""
    if execution.mode == "map":
        return 1
    return max(1, len(jax.devices()) // (execution.data * execution.model))


def whole_group(execution: Execution, size: int) -> int:
    """``size`` rounded up so that in mode "devices" every device has equally many replicas.

    A program on all devices and one on a part of them are compiled differently, and differ in the last bits.
    """
    devices = len(jax.devices()) if execution.mode == "devices" else 1
    return -(-size // devices) * devices


def over_replicas(fn: Callable[..., Any], execution: Execution, mesh: Mesh) -> Callable[..., Any]:
    """``fn(replica, fed, shared)`` for a leading replica axis on ``replica``, ``fed`` and the result; ``shared`` is the
    same for all.

    "devices": `shard_map` with an unbatched body, `lax.map` over the replicas of one device; "map": `lax.map`;
    "vmap": `vmap`.
    """

    def one_by_one(replicas: Any, fed: Any, shared: Any) -> Any:
        return jax.lax.map(lambda pair: fn(*pair, shared), (replicas, fed))

    if execution.mode == "vmap":
        return jax.vmap(fn, in_axes=(0, 0, None), spmd_axis_name="replica")
    if execution.mode == "map":
        return one_by_one
    each = P("replica")
    return jax.shard_map(one_by_one, mesh=mesh, in_specs=(each, each, P()), out_specs=each, check_vma=False)


class Program:
    """A function of one replica, compiled once for all groups of a cell."""

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        execution: Execution,
        mesh: Mesh,
        replicas: Any,
        shared: Any,
        *,
        fed: Any = None,
        donate: bool = False,
    ) -> None:
        self.name = name
        per_replica, whole = NamedSharding(mesh, P("replica")), NamedSharding(mesh, P())
        in_shardings = (
            state_shardings(replicas, mesh),
            jax.tree.map(lambda _: per_replica, fed),
            jax.tree.map(lambda _: whole, shared),
        )
        jitted = jax.jit(
            over_replicas(fn, execution, mesh), in_shardings=in_shardings, donate_argnums=(0,) if donate else ()
        )
        if donate:  # the state comes back where it was, so that the next call takes it as it is
            out = jax.eval_shape(jitted, replicas, fed, shared)
            out_shardings = (
                in_shardings[0],
                *(jax.tree.map(lambda _: per_replica, rest) for rest in out[1:]),
            )
            jitted = jax.jit(
                over_replicas(fn, execution, mesh),
                in_shardings=in_shardings,
                out_shardings=out_shardings,
                donate_argnums=(0,),
            )
        self._shardings = in_shardings[1:]
        self._compiled = jitted.lower(*jax.tree.map(_abstract, (replicas, fed, shared))).compile()

    def __call__(self, replicas: Any, shared: Any, fed: Any = None) -> Any:
        """Runs it; returns without waiting for the devices."""
        return self._compiled(replicas, *jax.device_put((fed, shared), self._shardings))


def place(state: Any, mesh: Mesh) -> Any:
    """A host group state on its devices."""
    return jax.device_put(state, state_shardings(state, mesh))


def stack(states: list[Any]) -> Any:
    """Replica states stacked on the host along a leading replica axis."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *states)


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf))
