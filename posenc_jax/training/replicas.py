"""Groups of replicas: one compiled program that runs a function of one replica for all replicas of a group."""

import contextlib
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax.config import Execution
from posenc_jax.models.attention import OUTPUTS
from posenc_jax.models.blocks import Block
from posenc_jax.training.layout import Devices, check_mesh, mode_on, rows_of
from posenc_jax.training.leaf_names import names
from posenc_jax.training.processes import put


def devices_here(memory: int | None = None) -> Devices:
    """The devices of this process and of those that it computes together with, each with ``memory`` bytes."""
    return Devices(len(jax.devices()), jax.default_backend(), memory, jax.process_count())


def mode_of(execution: Execution) -> str:
    """The mode that "auto" stands for here."""
    return mode_on(execution, on_cpu=jax.default_backend() == "cpu")


def make_mesh(execution: Execution, group_size: int) -> Mesh:
    """Devices as (replica, data, model): as many rows of ``data x model`` devices as divide the group."""
    devices, asked = devices_here(), execution.data * execution.model
    check_mesh(execution, devices)
    rows = rows_of(execution, group_size, devices)
    if devices.processes > 1 and rows * asked < devices.count:
        raise ValueError(
            f"a group of {group_size} replicas lies on {rows * asked} of the {devices.count} devices that "
            f"{devices.processes} processes share, and each process must have a part: go on in one process, or with "
            "other numbers of devices"
        )
    return mesh_of(jax.devices(), execution, rows)


def mesh_of(devices: Sequence[Any], execution: Execution, rows: int) -> Mesh:
    """The first of these devices as ``rows`` x data x model."""
    grid = np.asarray(devices[: rows * execution.data * execution.model])
    shape = (rows, execution.data, execution.model)
    return Mesh(grid.reshape(shape), ("replica", "data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 3)


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


def over_rows(fn: Callable[[Any, Any], Any], count: int) -> Callable[[Any, Any], Any]:
    """``fn(shared, rows)``, the leading axis of every array of ``rows`` and of the result in equal parts on the first
    ``count`` devices of this process. No device waits for another before the end.
    """
    if count == 1:
        return fn
    mesh = Mesh(np.asarray(jax.local_devices()[:count]), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(fn, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P("rows"), check_vma=False)


def lowered(
    fn: Callable[..., Any],
    execution: Execution,
    mesh: Mesh,
    replicas: Any,
    shared: Any,
    *,
    fed: Any = None,
    donate: bool = False,
) -> tuple[Any, tuple[Any, Any], list[np.ndarray]]:
    """The program of ``fn(replica, fed, shared)`` over a mesh, not compiled yet; where ``fed`` and ``shared``
    lie; and its ``tables``, which are still on the host, since the devices may only be described ones.

    The tables are the float arrays that tracing found constant: cosines, slopes, sinusoids. They go in as inputs, so
    that encodings of one shape and other values (another base, other slopes) are one program, which the compilation
    cache knows.
    """
    per_replica, whole = NamedSharding(mesh, P("replica")), NamedSharding(mesh, P())
    in_shardings = (
        state_shardings(replicas, mesh),
        jax.tree.map(lambda _: per_replica, fed),
        jax.tree.map(lambda _: whole, shared),
    )
    arguments = jax.tree.map(_abstract, (replicas, fed, shared))
    # What XLA cannot divide among devices divides itself by the mesh that it sees.
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh) if mesh.size > 1 else contextlib.nullcontext():
        traced = jax.jit(over_replicas(fn, execution, mesh)).trace(*arguments)
    out = traced.out_info
    out_shardings: Any = None
    if donate:  # the state comes back where it was, so that the next call takes it as it is
        out_shardings = (in_shardings[0], *(jax.tree.map(lambda _: per_replica, rest) for rest in out[1:]))
    tables, constants = _tables(traced.jaxpr.consts)

    def program(tables: list[Any], *arguments: Any) -> Any:
        flat = jax.core.eval_jaxpr(traced.jaxpr.jaxpr, constants(tables), *jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(out), flat)

    jitted = jax.jit(
        program,
        in_shardings=([whole] * len(tables), *in_shardings),
        out_shardings=out_shardings,
        donate_argnums=(1,) if donate else (),
    )
    return jitted.lower(jax.tree.map(_abstract, tables), *arguments), in_shardings[1:], tables


def _tables(constants: Sequence[Any]) -> tuple[list[np.ndarray], Callable[[Sequence[Any]], list[Any]]]:
    """The distinct float arrays among constants, and a function from their values to those of all constants."""
    distinct: dict[Any, int] = {}
    arrays: list[np.ndarray] = []
    index_of: list[int | None] = []
    for constant in constants:
        array = np.asarray(constant)
        if not jnp.issubdtype(array.dtype, jnp.floating):
            index_of.append(None)
            continue
        index = distinct.setdefault((array.dtype, array.shape, array.tobytes()), len(arrays))
        if index == len(arrays):
            arrays.append(array)
        index_of.append(index)
    return arrays, lambda values: [c if i is None else values[i] for c, i in zip(constants, index_of)]


class Program:
    """A function of one replica, compiled once for all groups of a cell.

    Args:
      executables: of programs before it, which one that differs in its tables alone takes over; its own is added.
    """

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
        executables: dict[Any, Any] | None = None,
    ) -> None:
        self.name = name
        program, self._shardings, tables = lowered(fn, execution, mesh, replicas, shared, fed=fed, donate=donate)
        self._tables = put(tables, [NamedSharding(mesh, P())] * len(tables))
        if executables is None:
            self._compiled = program.compile()
            return
        text = hashlib.sha256(program.as_text().encode()).digest(), program.in_tree, program.out_tree
        self._compiled = executables.get(text) or executables.setdefault(text, program.compile())

    def __call__(self, replicas: Any, shared: Any, fed: Any = None) -> Any:
        """Runs it; returns without waiting for the devices."""
        return self._compiled(self._tables, replicas, *put((fed, shared), self._shardings))


def put_state(state: Any, mesh: Mesh) -> Any:
    """A host group state on its devices."""
    return put(state, state_shardings(state, mesh))


def stack(states: list[Any]) -> Any:
    """Replica states stacked on the host along a leading replica axis."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *states)


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf))


# The paths end so in the parameters and in both moments of the optimizer; the output layer of the model and the
# encodings, which lie outside the blocks, are whole.
_IN_BLOCK = re.compile(r"/blocks/\d+/(\w+)/(\w+)/(kernel|bias)$")


def partition(path: str) -> P:
    """The partition of one replica's parameter (or of its optimizer moments) by its path."""
    found = _IN_BLOCK.search(path)
    if found is None:
        return P()
    layer, matrix, part = found.groups()
    if matrix not in Block.split[layer]:  # a norm's bias
        return P()
    if Block.split[layer][matrix] == OUTPUTS:
        return P(None, "model") if part == "kernel" else P("model")
    return P("model", None) if part == "kernel" else P()


def state_shardings(state: Any, mesh: Mesh) -> Any:
    """Shardings of a group's state: the leading axis over `replica`, parameters by `partition`. The optimizer's state
    lies on `data` too (`over_data`): devices that share a batch need its moments once (Rajbhandari et al. 2020, ZeRO,
    section 5.1).
    """

    def sharding(path: tuple[Any, ...], leaf: Any) -> NamedSharding:
        name = path_string(path)
        spec = partition(name) if mesh.shape["model"] > 1 else P()
        if name.startswith("/opt/"):
            spec = over_data(spec, leaf.shape[1:], mesh.shape["data"])
        return NamedSharding(mesh, P("replica", *spec))

    return jax.tree_util.tree_map_with_path(sharding, state)


def over_data(spec: P, shape: tuple[int, ...], devices: int) -> P:
    """``spec`` of an array with its first dimension that is whole and divides split over `data`; itself without one."""
    axes = [*spec, *[None] * (len(shape) - len(spec))]
    fitting = (
        i for i, (axis, size) in enumerate(zip(axes, shape, strict=True)) if axis is None and size % devices == 0
    )
    split = next(fitting, None)
    if split is None or devices == 1:
        return spec
    return P(*axes[:split], "data", *axes[split + 1 :])


def path_string(path: tuple[Any, ...]) -> str:
    """``/params/blocks/0/...``."""
    return "".join(f"/{name}" for name in names(path))
