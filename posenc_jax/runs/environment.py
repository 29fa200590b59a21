"""What a run stood on: versions, devices, threads. Bits are equal only where `deciding` is."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import jax

# What changes the last bits of a result.
DECIDING = ("jax", "jaxlib", "flax", "optax", "platform", "device_kind", "device_count", "threads", "xla_flags")


def environment() -> dict[str, str | int | None]:
    """Versions, devices, threads and the commit of the source, as they are now."""
    devices = jax.devices()
    return {
        **{
            name: importlib.metadata.version(name)
            for name in ("posenc-jax", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
        },
        "python": platform.python_version(),
        "platform": devices[0].platform,
        "device_kind": devices[0].device_kind,
        "device_count": len(devices),
        "threads": threads(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "git_commit": _git_commit(),
    }


def threads() -> int:
    """Size of XLA's thread pool on the CPU: the variable NPROC, else the cores that this process may use."""
    return int(os.environ.get("NPROC", 0)) or len(os.sched_getaffinity(0))


def deciding(record: dict) -> dict:
    """The part of an environment that decides bits."""
    return {name: record.get(name) for name in DECIDING}


def _git_commit() -> str | None:
    try:
        found = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()
