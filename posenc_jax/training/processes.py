"""Several processes that compute one program together (`jax.distributed`): what each holds of an array, what all know.

With one process all of this is the identity.
"""

import pickle
import re
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from posenc_jax.refusals import exits_as_errors

Result = TypeVar("Result")


class ElsewhereError(Exception):
    """An error of the first process that cannot be pickled; the message is the original one."""


# What the transports and the coordinator of `jax.distributed` say when a process has gone.
_LOST = re.compile(r"gloo|connection|socket|coordination|heartbeat|barrier|unavailable|nccl", re.IGNORECASE)


def lost(error: BaseException) -> bool:
    """True if an error says that a process with which this one computes is gone."""
    return count() > 1 and not isinstance(error, OSError) and bool(_LOST.search(str(error)))


def count() -> int:
    """The number of processes that compute together; no backend starts if it is this one alone."""
    return jax.process_count() if jax.distributed.is_initialized() else 1


def first() -> bool:
    """True in the process that writes."""
    return count() == 1 or jax.process_index() == 0


def put(tree: Any, shardings: Any) -> Any:
    """Host arrays, which all processes have alike, on the devices of all; arrays that lie there already stay."""
    if count() == 1:
        return jax.device_put(tree, shardings)

    def on_devices(leaf: Any, sharding: Any) -> Any:
        if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
            return leaf
        array = np.asarray(leaf)
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])

    return jax.tree.map(on_devices, tree, shardings)


def rows_here(sharding: NamedSharding, rows: int) -> list[int]:
    """Indices of the rows, along the first axis of an array, that lie on devices of this process."""
    indices = sharding.addressable_devices_indices_map((rows,)).values()
    return sorted({row for index in indices for row in _rows_at(index, rows)})


def _rows_at(index: tuple[slice, ...] | None, rows: int) -> range:
    return range(*index[0].indices(rows)) if index else range(0)


def stacked(trees: list[Any], sharding: NamedSharding) -> Any:
    """Host trees of equal shapes, one for each row of an array, on their way to the devices; of several processes each
    needs those `rows_here`, and None stands for the others.
    """
    if count() == 1:
        return jax.device_put(jax.tree.map(lambda *leaves: np.stack(leaves), *trees), sharding)
    own = {row: tree for row, tree in enumerate(trees) if tree is not None}

    def on_devices(*leaves: np.ndarray) -> jax.Array:
        of_row = dict(zip(own, leaves, strict=True))
        shape = (len(trees), *leaves[0].shape)
        return jax.make_array_from_callback(
            shape, sharding, lambda index: np.stack([of_row[row] for row in _rows_at(index, len(trees))])
        )

    return jax.tree.map(on_devices, *own.values())


def host(tree: Any) -> Any:
    """Arrays, wherever their parts lie, as NumPy arrays in every process; all processes have to ask for them."""
    if count() > 1 and jax.tree.leaves(tree):
        tree = _everywhere(_same, tree)
    return jax.tree.map(np.asarray, tree)


def agreed(work: Callable[[], Result]) -> Result:
    """Calls ``work`` in the first process alone and returns its result, pickled, in all processes.

    Raises:
      Exception: what ``work`` raises in the first process, in all.
    """
    if count() == 1:
        return work()
    if not first():
        error, found = pickle.loads(_sent(b""))
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]
    try:
        with exits_as_errors():
            found = work()
    except Exception as error:
        _sent(pickle.dumps((_picklable(error), None)))
        raise
    _sent(pickle.dumps((None, found)))
    return found


def first_alone(work: Callable[[], Result]) -> Result:
    """Calls ``work`` in every process, in the others after the first has finished; returns this process's result."""
    found: list[Result] = []
    agreed(lambda: found.append(work()))
    return found[0] if found else work()


def everyone(text: str) -> list[str]:
    """The texts that the processes give, in their order."""
    if count() == 1:
        return [text]
    own = np.frombuffer(text.encode(), np.uint8)
    row = np.zeros(largest(own.size), np.uint8)
    row[: own.size] = own
    return [found.tobytes().rstrip(b"\0").decode() for found in host(_rows(row))]


def largest(number: int) -> int:
    """The largest of the numbers that the processes give."""
    if count() == 1:
        return number
    return int(host(_rows(np.asarray(number, np.int32))).max())


def _picklable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ElsewhereError(str(error) or type(error).__name__)
    return error


def _sent(content: bytes) -> bytes:
    size = largest(len(content))
    own = np.frombuffer(content, np.uint8) if first() else np.zeros(size, np.uint8)
    return np.asarray(_everywhere(_sum, _rows(own))).tobytes()


def _rows(own: np.ndarray) -> jax.Array:
    """``[processes, ...]``: a row of each process."""
    devices = np.asarray(jax.devices()).reshape(jax.process_count(), -1)
    mesh = Mesh(devices, ("process", "device"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    rows: jax.Array = jax.make_array_from_process_local_data(NamedSharding(mesh, P("process")), own[None])
    return rows


def _everywhere(fn: Callable[[Any], Any], tree: Any) -> Any:
    """``fn`` of a tree of arrays, whole on each device, when it has come to all of this process: collectives that
    overtake each other may wait for each other for ever.
    """
    mesh = Mesh(np.asarray(jax.devices()), "all", axis_types=(jax.sharding.AxisType.Auto,))
    whole = jax.jit(fn, out_shardings=NamedSharding(mesh, P()))(tree)
    jax.block_until_ready(whole)
    return whole


def _same(tree: Any) -> Any:
    return tree


def _sum(rows: jax.Array) -> jax.Array:
    return jnp.sum(rows, axis=0, dtype=rows.dtype)
