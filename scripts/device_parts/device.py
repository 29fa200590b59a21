"""The device of this machine: what the driver says of it, and what is missing."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from device_parts.part import LeftOutError

QUERIED = (
    *("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.draw", "power.limit"),
    *("temperature.gpu", "memory.total", "memory.used"),
)
OLDEST = {"12": 525, "13": 580}
"""The oldest driver on Linux of each CUDA that jax has a plugin for (NVIDIA's table of CUDA's minor compatibility)."""


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


def old_driver(said: dict[str, str] | None, cuda: str | None) -> str | None:
    """A line about a driver that is too old for the CUDA of jax's plugin."""
    driver = (said or {}).get("driver_version", "")
    major, oldest = driver.partition(".")[0], OLDEST.get(cuda or "")
    if oldest is None or not major.isdecimal() or int(major) >= oldest:
        return None
    return f"the driver {driver} is older than {oldest}, which CUDA {cuda} needs: install a newer one"


def cuda_of_plugin() -> str | None:
    """The CUDA that jax's plugin is built with; None where there is no plugin."""
    from posenc_jax.runs.environment import version

    return next((cuda for cuda in OLDEST if version(f"jax-cuda{cuda}-plugin")), None)


def missing(platform: str) -> str | None:
    """A line about why nothing can be measured, if so; ``platform`` is where jax computes."""
    said, cuda = smi(), cuda_of_plugin()
    if (line := old_driver(said, cuda)) is not None:
        return line
    if platform != "cpu":
        return None
    if said is None:
        return "jax computes on the CPU, and nvidia-smi finds no GPU: run this where there is one, or add --miniature"
    way = (
        "install jax[cuda13] or jax[cuda12]"
        if cuda is None
        else "see what `python -c 'import jax; jax.devices()'` says"
    )
    return f"there is {said['name']}, and jax computes on the CPU: {way}"


def unknown(kind: str) -> str | None:
    """A line about a device of which no peak is written down."""
    from posenc_jax.runs.targets import chips

    if any(kind in chip.device_kinds for chip in chips().values()):
        return None
    return f"{kind} is not in posenc_jax/runs/targets.toml, so there is no utilisation: add what its data sheet says"


def fits(run: Any) -> None:
    """LeftOutError where a run does not fit in the memory of the device."""
    from posenc_jax.runs.plan import plan_of
    from posenc_jax.runs.targets import target_here

    if (shortage := plan_of(run, target_here()).shortage) is not None:
        raise LeftOutError(f"it does not fit: {shortage}")
