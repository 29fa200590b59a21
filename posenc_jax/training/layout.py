"""Placement of replicas on devices, planned from a description of the devices; works for absent hardware."""

import dataclasses
from typing import Any, Literal

from posenc_jax.config import Execution, Run
from posenc_jax.training.memory import MemoryUse, memory_of


@dataclasses.dataclass(frozen=True)
class Devices:
    """The devices that compute a run.

    Attributes:
      count: devices of one kind.
      backend: "cpu" (cores of one machine, which share its memory), "gpu" or "tpu".
      memory: bytes of each, or of all cores together; None where nobody tells.
      processes: that share them, of which each has equally many.
    """

    count: int
    backend: str
    memory: int | None = None
    processes: int = 1

    @property
    def on_cpu(self) -> bool:
        """True if the devices share the memory of the host."""
        return self.backend == "cpu"


Mode = Literal["devices", "vmap", "map"]


@dataclasses.dataclass(frozen=True)
class GroupLayout:
    """The groups of a run.

    Attributes:
      mode: as it is executed, never "auto".
      size: replicas of a group, spares included.
      groups: how many there are, one after the other.
      replicas: those that are wanted.
      rows: rows of ``data x model`` devices that a group lies on.
    """

    mode: Mode
    size: int
    groups: int
    replicas: int
    rows: int

    @property
    def on_each(self) -> int:
        """Replicas on each row."""
        return self.size // self.rows

    @property
    def spares(self) -> int:
        """Replicas that are computed for nothing."""
        return self.groups * self.size - self.replicas


def mode_on(execution: Execution, *, on_cpu: bool) -> Mode:
    """The mode that "auto" stands for."""
    if execution.mode != "auto":
        return execution.mode
    return "devices" if on_cpu and not execution.split else "vmap"


def check_mesh(execution: Execution, devices: Devices) -> None:
    """Refuses (ValueError) an execution that needs more devices than there are, or leaves accelerators or a process
    over.
    """
    asked = execution.data * execution.model
    if asked > devices.count:
        raise ValueError(
            f"execution.data x execution.model = {asked} devices are asked for, {devices.count} are there: lower "
            "them, or run where there are more"
        )
    if devices.processes > 1 and execution.mode == "map":
        raise ValueError(
            f"execution.mode = 'map' uses one device, and {devices.processes} processes share {devices.count}: choose "
            "'devices' or 'vmap', or start one process"
        )
    if (not devices.on_cpu or devices.processes > 1) and devices.count % asked:
        raise ValueError(
            f"execution.data x execution.model = {asked} does not divide the {devices.count} devices that are there: "
            f"{devices.count % asked} would be idle; choose divisors"
        )


def most_rows_on(execution: Execution, devices: Devices) -> int:
    """Rows of ``data x model`` devices that replicas can lie on."""
    alone = mode_on(execution, on_cpu=devices.on_cpu) == "map"
    return 1 if alone else max(1, devices.count // (execution.data * execution.model))


def laid_out(execution: Execution, replicas: int, devices: Devices, most_on_each: int | None = None) -> GroupLayout:
    """The groups in which ``replicas`` of them end soonest, with the fewest groups, then spares.

    A group has at most ``execution.group_size`` replicas (default: one for each row of devices in "devices" and "map",
    any number in "vmap") and ``most_on_each`` on a row; all have the same size, with equally many on each row. A row
    takes as long as it has replicas. Where several processes share the devices, a group lies on all of them. In
    "devices" a group lies on two devices at least where there are two: a program
    on one alone is compiled differently, and differs in the last bits.
    """
    mode, rows = mode_on(execution, on_cpu=devices.on_cpu), most_rows_on(execution, devices)
    limit = execution.group_size or (replicas if mode == "vmap" else rows)
    least = min(rows, 2) if mode == "devices" else 1
    least = rows if devices.processes > 1 else least  # each process has a part in every program
    found = []
    for used in range(least, max(least, min(rows, limit, replicas)) + 1):
        for most in range(1, max(1, min(limit // used, most_on_each or limit, -(-replicas // used))) + 1):
            groups = -(-replicas // (used * most))
            on_each = -(-replicas // (used * groups))
            layout = GroupLayout(mode, used * on_each, groups, replicas, used)
            found.append((groups * on_each, groups, layout.spares, used, layout))
    return min(found, key=lambda one: one[:-1])[-1]


def rows_of(execution: Execution, size: int, devices: Devices) -> int:
    """The largest number of rows of ``data x model`` devices that divides a group."""
    return max(n for n in range(1, most_rows_on(execution, devices) + 1) if size % n == 0)


def in_one_memory(execution: Execution, size: int, devices: Devices) -> tuple[int, int]:
    """The number of replicas of a group that one memory holds, and of those that are computed at once: the host's
    memory, which all cores share, or that of an accelerator.
    """
    rows = rows_of(execution, size, devices)
    held = size // rows
    at_once = held if mode_on(execution, on_cpu=devices.on_cpu) == "vmap" else 1
    return (size, rows * at_once) if devices.on_cpu else (held, at_once)


def memory_in_group(run: Run, size: int, devices: Devices) -> MemoryUse:
    """The memory that a group of ``size`` replicas takes on one device, or on the host for CPUs."""
    held, at_once = in_one_memory(run.execution, size, devices)
    split: dict[str, Any] = {}
    if not devices.on_cpu:
        split = {"data": run.execution.data, "model": run.execution.model}
    return memory_of(run, held, at_once, backend=devices.backend, **split)


def layout_of(run: Run, replicas: int, devices: Devices) -> GroupLayout:
    """The layout by `laid_out`; in "vmap" on accelerators, if the run leaves the size of a group open, each device gets
    as many replicas as its memory holds by `memory_of`, and at least one.
    """
    execution = run.execution
    mode = mode_on(execution, on_cpu=devices.on_cpu)
    if execution.group_size or mode != "vmap" or devices.on_cpu or devices.memory is None:
        return laid_out(execution, replicas, devices)
    split: dict[str, Any] = {"data": execution.data, "model": execution.model, "backend": devices.backend}
    limit, fitting, above = devices.memory, 1, replicas + 1
    while above - fitting > 1:
        middle = (fitting + above) // 2
        needed = memory_of(run, middle, middle, **split).peak
        fitting, above = (middle, above) if needed <= limit else (fitting, middle)
    return laid_out(execution, replicas, devices, fitting)
