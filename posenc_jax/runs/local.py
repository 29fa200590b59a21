"""Tasks of an ablation as processes on this machine, some at once."""

import contextlib
import dataclasses
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from posenc_jax.runs.commands import last_words, log_of, start
from posenc_jax.runs.environment import threads
from posenc_jax.runs.errors import RefusedError, StoppedError
from posenc_jax.training.layout import Devices

_POLL = 0.05


@dataclasses.dataclass(frozen=True)
class Shares:
    """This machine in equal parts.

    Attributes:
      devices: those of one part.
      variables: for each part, what its processes have in their environment to get them.
    """

    devices: Devices
    variables: tuple[dict[str, str], ...]


def shares(count: int, whole: Devices) -> Shares:
    """This machine for ``count`` processes at once, of which one alone would have the devices ``whole``: each has as
    many of the accelerators or of the cores.

    NPROC, where it is set, is the number of cores of each.

    Raises:
      RefusedError: there are fewer accelerators.
    """
    if whole.on_cpu:
        cores = threads() if os.environ.get("NPROC") else max(1, threads() // count)
        memory = None if whole.memory is None else whole.memory // count
        return Shares(Devices(cores, "cpu", memory), ({"NPROC": str(cores)},) * count)
    each = whole.count // count
    if each < 1 or whole.backend != "gpu":
        there = f"{whole.count} {whole.backend.upper()}{'s' if whole.count > 1 else ''}"
        raise RefusedError(
            f"--local {count}: {there} cannot be shared out among {count} processes, each with one of its own at "
            "least; take fewer, or `posenc ablate` without --local, which uses all in one process"
        )
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = visible.split(",") if visible else [str(number) for number in range(whole.count)]
    parts = [",".join(names[start : start + each]) for start in range(0, each * count, each)]
    return Shares(dataclasses.replace(whole, count=each), tuple({"CUDA_VISIBLE_DEVICES": part} for part in parts))


def run_here(
    commands: dict[str, Sequence[str]],
    parts: Sequence[dict[str, str]],
    logs: Path,
    ended: Callable[[str], None],
    stop: Callable[[], int | None],
) -> dict[str, str]:
    """Runs commands, one at a time in each part of the machine, their output in ``logs``.

    Args:
      commands: the arguments for `python -m posenc_jax` of each task.
      parts: see `Shares`.
      ended: hears of each task that has ended.
      stop: a signal number ends all of them, with their state saved.

    Returns:
      For each task that failed, why.

    Raises:
      StoppedError: ``stop`` asked for it.
    """
    waiting, failed = list(commands), dict[str, str]()
    running: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
    with _ending(running):
        while waiting or running:
            for part in range(len(parts)):
                if waiting and part not in running:
                    name = waiting.pop(0)
                    running[part] = name, start(commands[name], log_of(logs, name), parts[part])
            time.sleep(_POLL)
            for part, (name, process) in list(running.items()):
                if process.poll() is not None:
                    del running[part]
                    ended(name)
                    if process.returncode:
                        failed[name] = last_words(log_of(logs, name), process.returncode)
            if (signal := stop()) is not None:
                raise StoppedError(signal, f"stopped, with {len(waiting) + len(running)} groups to go")
    return failed


@contextlib.contextmanager
def _ending(running: dict[int, tuple[str, subprocess.Popen[bytes]]]) -> Iterator[None]:
    """Asks running processes to save, and waits for them, when the block ends, also with an error."""
    try:
        yield
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.wait()
