"""Devices: accelerators by name, whether they are here or not, with the facts of ``targets.toml`` (``h100:4``,
``v5e:2x2``), and those of this machine, with its memory.
"""

import dataclasses
import functools
import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import jax

from posenc_jax.refusals import did_you_mean
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.layout import Devices
from posenc_jax.training.replicas import devices_here

_GROUPS = Path("/sys/fs/cgroup")
_FILE = Path(__file__).with_name("targets.toml")

CPU_PEAK = 96e9
"""Float32 operations a second of one core: two fused multiply-adds of eight numbers a cycle (AVX2) at 3 GHz."""


@dataclasses.dataclass(frozen=True)
class Chip:
    """One kind of device.

    Attributes:
      name: as in ``targets.toml``, or "here".
      title: in full.
      platform: "cpu", "cuda" or "tpu".
      memory: bytes of one, None where nobody tells.
      peak: dtype -> operations a second, empty where nobody knows.
      hosts: shapes (of TPUs) -> machines.
      per_host: devices of a machine (others).
      compiler: what XLA is told of it.
    """

    name: str
    title: str
    platform: str
    memory: int | None
    peak: dict[str, float]
    device_kinds: tuple[str, ...] = ()
    hosts: dict[str, int] = dataclasses.field(default_factory=dict)
    per_host: int = 0
    compiler: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Target:
    """``count`` devices of a chip on so many machines; ``shape`` of TPUs, "" of others."""

    chip: Chip
    count: int
    hosts: int = 1
    shape: str = ""

    @property
    def name(self) -> str:
        """The name by which it is requested."""
        asked = self.shape or (str(self.count) if self.count > 1 else "")
        return f"{self.chip.name}:{asked}" if asked and self.chip.name != "here" else self.chip.name

    @property
    def devices(self) -> Devices:
        """The devices for the placement of replicas."""
        return Devices(self.count, {"cuda": "gpu"}.get(self.chip.platform, self.chip.platform), self.chip.memory)


@functools.cache
def chips() -> dict[str, Chip]:
    """Every chip of ``targets.toml`` by its name."""
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: Chip(name, **{**entry, "device_kinds": tuple(entry["device_kinds"])}) for name, entry in entries.items()
    }


def target(text: str) -> Target:
    """The target of a name: ``h100``, ``h100:4``, ``v5e:2x2``. RefusedError when there is none."""
    name, _, asked = text.strip().lower().partition(":")
    chip = chips().get(name)
    if chip is None:
        hint = did_you_mean(name, chips())
        hint = f"; {hint}" if hint else "."
        raise RefusedError(f"there is no target {text[:40]!r}{hint} Known: {', '.join(chips())}")
    if chip.hosts:
        return _of_shape(chip, asked)
    most = chip.per_host
    if not re.fullmatch(r"[1-9]\d{0,5}", asked or "1") or int(asked or 1) > most:
        raise RefusedError(
            f"target {text[:40]!r}: a machine has 1 to {most} {name}: say {name}, or {name}:2 to {name}:{most}"
        )
    return Target(chip, int(asked or 1))


def _of_shape(chip: Chip, asked: str) -> Target:
    shape = asked or next(iter(chip.hosts))
    if shape not in chip.hosts:
        shapes = ", ".join(f"{chip.name}:{shape}" for shape in chip.hosts)
        name = f"{chip.name}:{asked}"[:40]
        raise RefusedError(f"target {name!r}: {chip.name} does not come so; it comes as {shapes}")
    return Target(chip, math.prod(map(int, shape.split("x"))), chip.hosts[shape], shape)


def target_here() -> Target:
    """The devices of this process."""
    devices, first = devices_with_memory(), jax.devices()[0]
    if devices.on_cpu:
        cores = Chip("here", "CPU of this machine", "cpu", host_memory(), {"float32": CPU_PEAK, "bfloat16": CPU_PEAK})
        return Target(cores, devices.count)
    known = next((chip for chip in chips().values() if first.device_kind in chip.device_kinds), None)
    if known is None:
        known = Chip("here", first.device_kind, first.platform, device_memory(), {})
    return Target(dataclasses.replace(known, name="here", memory=device_memory() or known.memory), devices.count)


def host_memory() -> int | None:
    """Bytes that this process may have at most, None where the system does not tell: what the machine has, or what a
    control group (of a container, of a batch system) leaves of it.
    """
    try:
        pages = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, OSError, ValueError):
        pages = []
    return min([*(size for size in pages if size > 0), *_limits(_GROUPS, Path("/proc/self/cgroup"))], default=None)


def device_memory() -> int | None:
    """Bytes of the first accelerator that programs may use; None on CPU, or where it does not tell."""
    device = jax.devices()[0]
    stats = None if device.platform == "cpu" else device.memory_stats()
    return None if stats is None else stats.get("bytes_limit")


def devices_with_memory() -> Devices:
    """The devices of this process, with the memory that they share on CPU and that each has elsewhere."""
    return devices_here(host_memory() if jax.default_backend() == "cpu" else device_memory())


def bytes_in_words(count: int) -> str:
    """Bytes in the unit in which they have one to three digits before the point."""
    power = min(max(len(str(count)) - 1, 3) // 3, 6)
    return f"{count / 1000**power:.3g} {('kB', 'MB', 'GB', 'TB', 'PB', 'EB')[power - 1]}"


def _limits(groups: Path, of_process: Path) -> list[int]:
    """The limits of the control groups of this process, in either version of their files."""
    try:
        lines = of_process.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        controllers, _, group = line.partition(":")[2].partition(":")
        if controllers not in ("", "memory"):
            continue
        root, file = (groups / "memory", "memory.limit_in_bytes") if controllers else (groups, "memory.max")
        own = root / group.lstrip("/")
        # Within a container the group of the process is the root of what is seen.
        for folder in (own, *(parent for parent in own.parents if parent.is_relative_to(root))):
            try:
                found.append(int((folder / file).read_text()))
            except (OSError, ValueError):  # not there, or "max"
                continue
    return found
