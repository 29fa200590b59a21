"""Facts about a machine, and findings on what it lacks or what slows it down, for `posenc doctor`."""

import dataclasses
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import jax

from posenc_jax import extras
from posenc_jax.runs.environment import environment, threads, version

ROOM = 2e9
"""Bytes on the disk below which a finding says so."""


@dataclasses.dataclass(frozen=True)
class HealthFinding:
    """Something that makes runs slow, or differ: what it is, and the way out."""

    what: str
    way_out: str


@dataclasses.dataclass(frozen=True)
class Machine:
    """The facts that findings depend on.

    Attributes:
      variables: of the environment.
      devices: their kinds.
      cores: that this process may use.
      load: how many processes compute or wait, over the last minute (None: nobody says).
      room: bytes left on the disk of this folder.
      gpus: files by which the system shows GPUs.
      cache: of compiled programs (None: there is none); programs: in it; cache_is_writable: whether new ones can be
        kept.
    """

    variables: Mapping[str, str]
    platform: str
    devices: tuple[str, ...]
    cores: int
    threads: int
    load: float | None
    room: int
    gpus: tuple[str, ...]
    cache: Path | None
    programs: int
    cache_is_writable: bool


def this_machine() -> Machine:
    """The present machine; jax has been prepared (`posenc_jax.cli.session.prepare_jax`)."""
    named = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    cache = Path(named) if named else None
    there = cache is not None and cache.is_dir()
    home = cache if there else None if cache is None else next(one for one in cache.parents if one.exists())
    return Machine(
        variables=dict(os.environ),
        platform=jax.default_backend(),
        devices=tuple(device.device_kind for device in jax.devices()),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=threads(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        room=shutil.disk_usage(Path.cwd()).free,
        gpus=tuple(str(path) for path in sorted(Path("/dev").glob("nvidia[0-9]*"))),
        cache=cache,
        programs=sum(1 for path in cache.glob("*-cache")) if cache is not None and there else 0,
        cache_is_writable=home is not None and os.access(home, os.W_OK),
    )


def versions() -> dict[str, str]:
    """Versions of Python, this package and its dependencies; "not installed" for an absent one. Of one that is newer
    than the tests know it says so.
    """
    found = environment()
    commit = found["commit"]
    own = f"{found['version']}{f', commit {commit[:12]}' if commit else ''}{', changed' if found['dirty'] else ''}"
    names = (*extras.PLAIN.values(), "jaxlib")
    plain = {name: version(name) or "not installed" for name in names}
    for name, (_, newest) in extras.TESTED.items():
        if _numbers(plain[name]) > _numbers(newest):
            plain[name] += f", newer than {newest}, the last that the tests were run with"
    return {"posenc_jax": own, "Python": sys.version.split()[0], **plain}


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def optional() -> dict[str, list[str]]:
    """Packages of each extra that are not installed."""
    return {
        extra: [name for module, name in modules.items() if not extras.is_there(module)]
        for extra, modules in extras.EXTRAS.items()
    }


def findings(machine: Machine) -> list[HealthFinding]:
    """Findings on what slows this machine down or changes its bits, worst first."""
    return [HealthFinding(what, way_out) for what, way_out in _findings(machine)]


def _findings(machine: Machine) -> Iterator[tuple[str, str]]:
    flags, on_cpu, cache = machine.variables.get("XLA_FLAGS", ""), machine.platform == "cpu", machine.cache
    if machine.gpus and on_cpu:
        what = f"there are {len(machine.gpus)} NVIDIA GPUs ({machine.gpus[0]}), and jax computes on the CPU"
        yield what, "pip install 'posenc-jax[cuda]', and see that JAX_PLATFORMS does not say cpu"
    if machine.load is not None and machine.load > 1.5 * machine.cores:
        what = f"load {machine.load:.1f} on {machine.cores} cores: other programs compute, and runs wait for them"
        yield what, "end them, or wait; times measured now mean little"
    if cache is None or not machine.cache_is_writable:
        why = "there is no cache" if cache is None else f"{cache} cannot be written"
        what = f"{why}: every command compiles its programs anew, a minute or more"
        yield what, "set JAX_COMPILATION_CACHE_DIR to a folder of yours"
    elif not machine.programs:
        what = f"no compiled program is in {cache} yet: the first run of a config compiles, a minute or more"
        yield what, "nothing: the second run finds them"
    if on_cpu and machine.threads < machine.cores:
        yield f"{machine.threads} of {machine.cores} cores are used, as NPROC says", "unset NPROC, or raise it"
    if on_cpu and len(machine.devices) > machine.cores:
        what = f"{len(machine.devices)} host devices share {machine.cores} cores"
        yield what, "take --xla_force_host_platform_device_count out of XLA_FLAGS"
    if level := re.search(r"--xla_backend_optimization_level=([01])\b", flags):
        what = f"XLA_FLAGS asks for optimization level {level[1]}: programs compile fast and run slowly"
        yield what, "take --xla_backend_optimization_level out of it; results have other last digits"
    for name, why in _SLOW.items():
        if machine.variables.get(name, "").lower() in ("1", "true", "yes", "on"):
            yield f"{name} is set: {why}", f"unset {name}"
    if machine.room < ROOM:
        what = f"{machine.room / 1e9:.1f} GB are left on the disk of this folder, and checkpoints need room"
        yield what, "make room, or name another --directory"


_SLOW = {
    "JAX_DISABLE_JIT": "nothing is compiled",
    "JAX_DEBUG_NANS": "every program is waited for and looked at",
    "JAX_ENABLE_X64": "numbers have 64 bits where nothing says 32, and results are others",
}
