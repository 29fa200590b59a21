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


def mode_of(execution: Execution) -> str:
    """The mode that "auto" stands for here."""
    if execution.mode != "auto":
        return execution.mode
    alone = execution.data * execution.model == 1
    return "devices" if alone and jax.default_backend() == "cpu" else "vmap"


def check_devices(execution: Execution) -> None:
    """Refuses (ValueError) an execution that needs more devices than there are, or other processes' devices."""
    if jax.process_count() > 1:
        raise ValueError(
            f"{jax.process_count()} processes share their devices (jax.distributed), and a run is of one process: "
            "start each process alone, with seeds and a directory of its own"
        )
    asked = execution.data * execution.model
    if asked > len(jax.devices()):
        raise ValueError(
            f"execution.data x execution.model = {asked} devices are asked for, {len(jax.devices())} are there: lower "
            "them, or run where there are more"
        )


def make_mesh(execution: Execution, group_size: int) -> Mesh:
    """Devices as (replica, data, model): as many rows of ``data x model`` devices as divide the group."""
    check_devices(execution)
    devices, per_replica = jax.devices(), execution.data * execution.model
    rows = max(n for n in range(1, most_rows(execution) + 1) if group_size % n == 0)
    grid = np.asarray(devices[: rows * per_replica]).reshape(rows, execution.data, execution.model)
    return Mesh(grid, ("replica", "data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 3)


def most_rows(execution: Execution) -> int:
    """Rows of ``data x model`` devices that replicas can lie on."""
    return 1 if mode_of(execution) == "map" else max(1, len(jax.devices()) // (execution.data * execution.model))


def in_one_memory(execution: Execution, group_size: int) -> tuple[int, int]:
    """How many replicas of a group one memory holds, and how many of them are computed at once: the host's memory,
    which all its devices share, or that of an accelerator.
    """
    rows = make_mesh(execution, group_size).shape["replica"]
    held = group_size // rows
    at_once = held if mode_of(execution) == "vmap" else 1
    return (group_size, rows * at_once) if jax.default_backend() == "cpu" else (held, at_once)


def group_size_for(execution: Execution, replicas: int) -> int:
    """How many replicas a group has when ``replicas`` of them are to be trained: as many as end soonest, with the
    fewest spares.

    At most ``execution.group_size`` of them (default: one for each row of devices in "devices" and "map", all in
    "vmap"), in groups of equal size, with equally many on each row. In "devices" a group lies on two devices at least
    where there are two: a program on one alone is compiled differently, and differs in the last bits.
    """
    rows = most_rows(execution)
    limit = execution.group_size or (replicas if mode_of(execution) == "vmap" else rows)
    groups = -(-replicas // limit)
    size = -(-replicas // groups)
    on_each = -(-size // rows)
    used = -(-size // on_each)
    if mode_of(execution) == "devices":
        used = max(used, min(rows, 2))
    return on_each * used


def over_replicas(fn: Callable[..., Any], execution: Execution, mesh: Mesh) -> Callable[..., Any]:
    """``fn(replica, fed, shared)`` for a leading replica axis on ``replica``, ``fed`` and the result; ``shared`` is the
    same for all.

    "devices": `shard_map` with an unbatched body, `lax.map` over the replicas of one device; "map": `lax.map`;
    "vmap": `vmap`.
    """

    def one_by_one(replicas: Any, fed: Any, shared: Any) -> Any:
        return jax.lax.map(lambda pair: fn(*pair, shared), (replicas, fed))

    if mode_of(execution) == "vmap":
        return jax.vmap(fn, in_axes=(0, 0, None), spmd_axis_name="replica")
    if mode_of(execution) == "map":
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

    def hlo(self) -> str:
        """The compiled program as text."""
        text: str = self._compiled.as_text() or ""
        return text

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
