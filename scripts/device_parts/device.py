"""The device of this machine: what the driver says of it, and what is missing."""

from __future__ import annotations

import shutil
import subprocess

import jax

QUERIED = (
    *("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.draw", "power.limit"),
    *("temperature.gpu", "memory.total", "memory.used"),
)


def smi() -> dict[str, str] | None:
    """The answers of nvidia-smi about the first GPU; None where there is no such program, or no GPU."""
    if shutil.which("nvidia-smi") is None:
        return None
    words = ["nvidia-smi", f"--query-gpu={','.join(QUERIED)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.strip().splitlines()
    return dict(zip(QUERIED, (word.strip() for word in lines[0].split(",")))) if lines else None


def missing() -> str | None:
    """A line about why nothing can be measured, if so."""
    try:
        platform = jax.devices()[0].platform
    except RuntimeError as error:
        return f"jax finds no device: {str(error).splitlines()[0][:200]}"
    if platform != "cpu":
        return None
    if (said := smi()) is None:
        return "jax computes on the CPU, and nvidia-smi finds no GPU: run this where there is one, or add --miniature"
    return f"there is {said['name']}, and jax computes on the CPU: install jax[cuda13] or jax[cuda12]"
