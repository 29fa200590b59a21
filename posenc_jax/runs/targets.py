"""Accelerators by name, whether they are here or not: the facts in ``targets.toml``, and ``h100:4`` or ``v5e:2x2``."""

import dataclasses
import functools
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import jax

from posenc_jax.refusals.hints import did_you_mean
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.machine import device_memory, devices_with_memory, host_memory
from posenc_jax.training.layout import Devices

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
