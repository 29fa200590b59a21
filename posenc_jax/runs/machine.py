"""The memory of the machine that computes a run."""

import os
from pathlib import Path

import jax

from posenc_jax.training.layout import Devices
from posenc_jax.training.replicas import devices_here

_GROUPS = Path("/sys/fs/cgroup")


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
