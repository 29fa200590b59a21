"""The environment of a run: code, versions, devices, threads, settings. `posenc_jax.environments` compares it."""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import jax

import posenc_jax
from posenc_jax.environments import DRAW_FLAGS, ROUNDING_FLAGS, VARIABLES
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import real
from posenc_jax.runs.errors import RefusedError

_PACKAGE = Path(posenc_jax.__file__).resolve().parent
_CPUINFO = Path("/proc/cpuinfo")

MOST_THREADS = 1024
"""Of XLA's pool, and host devices, since each has one."""

_ELSEWHERE = ("analysis", "cli", "context", "drawing", "golden", "results", "show", "verdict")
"""Rooms by which no result of a run is computed."""
# Of the many features of a processor, those that a compiler chooses instructions by; kernels add and rename others.
_VECTORS = re.compile(r"s?sse|avx|fma|f16c|bmi|popcnt|amx|asimd|sve|sme|i8mm|bf16")


def environment() -> dict[str, Any]:
    """The code of this package, versions, devices, threads and flags, as they are now."""
    devices = jax.devices()
    return {
        **code(),
        **{name: version(name) for name in ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")},
        "python": platform.python_version(),
        "platform": devices[0].platform,
        "device_kind": devices[0].device_kind,
        "device_count": len(devices),
        "device_software": _device_software(devices[0]),
        "processes": jax.process_count(),
        "cpu": _cpuinfo("model name") or platform.processor() or platform.machine(),
        "cpu_features": _cpu_features(),
        "threads": threads(),
        "xla_flags": _xla_flags(),
        **{name: _plain(jax.config.values.get(flag)) for name, flag in _FLAGS.items()},
        **{name: os.environ.get(name) for name in VARIABLES},
    }


_FLAGS = {
    "matmul_precision": "jax_default_matmul_precision",
    "x64": "jax_enable_x64",
    "threefry_partitionable": "jax_threefry_partitionable",
    "prng": "jax_default_prng_impl",
    **{name: name for name in (*DRAW_FLAGS, *ROUNDING_FLAGS)},
}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(getattr(value, "value", value))


def _xla_flags() -> str:
    """Flags of XLA: the variable, or the text of the file that it names."""
    said = os.environ.get("XLA_FLAGS", "")
    if said.strip() and not said.strip().startswith("-"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return Path(said.strip()).read_text()
    return said


def code() -> dict[str, str | bool | None]:
    """The code of this package: its version, the SHA-256 of the Python files that results are computed by, and, from a
    clone of its own repository, the commit and whether files of the package differ from it (else None).
    """
    return {"version": posenc_jax.__version__, "source": _source(), **_commit()}


def threads() -> int:
    """Size of XLA's thread pool on the CPU: the variable NPROC, else the cores that this process may use.

    RefusedError where NPROC is no number of threads.
    """
    asked = os.environ.get("NPROC", "")
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not (asked.isascii() and asked.isdecimal() and 1 <= int(asked[:9]) <= MOST_THREADS):
        raise RefusedError(
            f"NPROC = {asked[:40]!r} must be a number of threads, from 1 to {MOST_THREADS}: set it, or unset it"
        )
    return int(asked)


def code_of(record: Json) -> dict[str, Any]:
    """The code of this package and of the user in the record of an environment."""
    return {name: record.get(name) for name in ("version", "commit", "dirty", "source", "own")}


def version(name: str) -> str | None:
    """Version of an installed distribution; None if it is absent."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # on the path, but not installed
        return None


# What compiles for accelerators and what their kernels are from.
_DEVICE_PACKAGES = (
    *(f"{name}-cu{cuda}" for cuda in (12, 13) for name in ("nvidia-cublas", "nvidia-cudnn")),
    *("jax-cuda12-plugin", "jax-cuda13-plugin", "libtpu"),
)


def _device_software(device: jax.Device) -> dict[str, str] | None:
    """Versions of an accelerator's runtime and libraries; None of a CPU, for which jaxlib has all."""
    if device.platform == "cpu":
        return None
    found = {name: version(name) for name in _DEVICE_PACKAGES}
    there = {name: text for name, text in found.items() if text is not None}
    return {"runtime": " ".join(device.client.platform_version.split()), **there}


@functools.cache
def _source() -> str:
    """SHA-256 of the Python files that results are computed by: what changes elsewhere changes no bits."""
    total = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        place = path.relative_to(_PACKAGE)
        if place.parts[0] not in _ELSEWHERE:
            total.update(f"{place.as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()


def _cpu_features() -> str | None:
    """A digest of the vector units and the like, by which XLA:CPU decides how it sums; None where nothing says."""
    words = (_cpuinfo("flags") or _cpuinfo("Features")).split()
    known = sorted(filter(_VECTORS.match, words))
    return hashlib.sha256(" ".join(known).encode()).hexdigest()[:16] if known else None


@functools.cache
def _cpuinfo(name: str) -> str:
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name), "")


@functools.cache
def _commit() -> dict[str, str | bool | None]:
    """The commit of this package's own repository, never of one that happens to enclose an installation."""
    unknown: dict[str, str | bool | None] = {"commit": None, "dirty": None}
    top = _git("rev-parse", "--show-toplevel")
    if top is None or real(top.strip()) != _PACKAGE.parent or not _git("ls-files", "__init__.py"):
        return unknown
    commit, changed = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", ".")
    if commit is None or changed is None:
        return unknown
    return {"commit": commit.strip(), "dirty": bool(changed.strip())}


def _git(*arguments: str) -> str | None:
    try:
        found = subprocess.run(
            ["git", "-C", str(_PACKAGE), *arguments], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout
