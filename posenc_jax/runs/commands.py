"""Command lines as processes of their own, whose output goes to a file. Without JAX: who only waits needs none."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def log_of(logs: Path, name: str) -> Path:
    """The file for the output of a task."""
    return logs / f"{name.replace('/', '-')}.log"


def start(arguments: Sequence[str], log: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process of the command line, with further variables in its environment; its output is added to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "posenc_jax", *arguments],
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def last_words(log: Path, code: int | None = None) -> str:
    """Why a task failed, as the last line of its output says, and where the rest is."""
    end = "it ended" if code is None else f"signal {-code} ended it" if code < 0 else f"exit code {code}"
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    return f"{end}: {said.removeprefix('posenc: ')} [all in {log}]"
