"""Processes for measurements, which answer when told to, so that they can take turns.

A measured thing is a generator function ``benchmarks.MODULE.NAME``: it prepares itself and yields a first value, then
one value for every round. ``python -m benchmarks.processes MODULE.NAME '{"argument": ...}'`` serves it: every value
is a line of JSON on stdout, every line on stdin asks for the next one.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

SCRIPTS = Path(__file__).resolve().parent.parent


class Measured(Protocol):
    """A measured thing: its first value, and a round in two halves, so that several can be measured at once."""

    first: Any

    def begin(self) -> None:
        """Starts a round."""

    def end(self) -> Any:
        """The value of the round."""

    def close(self) -> None:
        """Ends it."""


Start = Callable[..., Measured]
"""``start(name, arguments, python=..., env=...)``: `Process`, or what stands for it."""


class Process:
    """A measured thing in a process of its own."""

    def __init__(
        self, name: str, arguments: dict[str, Any], python: str = sys.executable, env: dict[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.processes", name, json.dumps(arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "JAX_COMPILATION_CACHE_DIR": "",
                **(env or {}),
                "PYTHONPATH": os.pathsep.join([str(SCRIPTS), str(SCRIPTS.parent)]),
            },
        )
        self.first = self.end()

    def begin(self) -> None:
        """Starts a round."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self) -> Any:
        """The value of the round."""
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a benchmark process ended: {' '.join(self._process.args)}; its error stands above")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def values(name: str, arguments: dict[str, Any]) -> Iterator[Any]:
    """The values of ``benchmarks.MODULE.NAME(**arguments)``."""
    module, function = name.split(".")
    return getattr(importlib.import_module(f"benchmarks.{module}"), function)(**arguments)


def take_turns(members: dict[str, Sequence[Measured]], rounds: int) -> dict[str, float]:
    """The median value of each entry over the rounds after a first one, of warm-up.

    Several members of an entry are measured at once: the slowest value, divided by their number.
    """
    found: dict[str, list[float]] = {name: [] for name in members}
    for round_number in range(rounds + 1):
        for name, together in members.items():
            for member in together:
                member.begin()
            slowest = max([member.end() for member in together])
            if round_number:
                found[name].append(slowest / len(together))
    for together in members.values():
        for member in together:
            member.close()
    return {name: statistics.median(each) for name, each in found.items()}


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def main(name: str, arguments: str) -> None:
    """Serves the values of one measured thing; what it prints goes to stderr."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for value in values(name, json.loads(arguments)):
            print(json.dumps(value), file=answers, flush=True)
            if not sys.stdin.readline():
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
