"""Real processes of the command line for the tests of runs and ablations: start, wait for a file, signal, compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import session

ROOT = Path(__file__).parent.parent


def environment(devices: int = 2, cache: Path | None = None) -> dict[str, str]:
    """One in which bits repeat: a pinned thread count, and of JAX's settings only those of these tests.

    Compiled programs are those of this session, or if ``cache`` names a directory, those that lie there.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "NPROC"))}
    own = {"NPROC": str(devices), "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    return kept | own | session.compilation_cache(cache)


def start(arguments: list[str], log: Path, cache: Path | None = None) -> subprocess.Popen:
    """``python -m posenc_jax ARGUMENTS`` in the background, its output in a file."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "posenc_jax", *arguments], env=environment(cache=cache), stdout=output, stderr=output
        )


def python_in_the_background(code: str, log: Path) -> subprocess.Popen:
    """A Python program with the devices and settings of this process, its output in a file."""
    environment = os.environ | session.compilation_cache() | {"PYTHONPATH": str(ROOT)}
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-c", code], env=environment, cwd=ROOT / "tests", stdout=output, stderr=output
        )


def finish(process: subprocess.Popen, log: Path, timeout: float = 240) -> int:
    """The exit code of a process, and never a process left behind."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"still running after {timeout} s:\n{log.read_text()}") from None


def signal_when(
    process: subprocess.Popen, reached: Callable[[], bool], number: int = signal.SIGKILL, timeout: float = 240
) -> bool:
    """Sends the signal as soon as ``reached``; False if the process ended before."""
    end = time.monotonic() + timeout
    while process.poll() is None:
        if reached():
            process.send_signal(number)
            return True
        assert time.monotonic() < end, "the process neither reached the point nor ended"
        time.sleep(0.0005)
    return False


def python(code: str, *, devices: int = 2, timeout: float = 280, as_users: bool = False) -> dict:
    """The JSON object that a Python program prints as its last line, run with so many host devices.

    Args:
      as_users: compiled as well as users' programs are, not as quickly as the tests'.
    """
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(devices) | {"JAX_NUM_CPU_DEVICES": str(devices)} | ({"XLA_FLAGS": ""} if as_users else {}),
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT / "tests",
    )
    assert found.returncode == 0, found.stderr[-4000:]
    return json.loads(found.stdout.splitlines()[-1])
