"""A part: named cases, each measured by itself and kept as soon as it is."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import Table

Row = dict[str, Any]
ATTENDING = 2
"""Seconds that a program of attention alone is taken to compile in: offline XLA took 0.1 to 2.1 of a processor for
those of `kernels` on an H100.
"""


class LeftOutError(Exception):
    """Something that a case needs is not there; the message is one line with the way out."""


class Setting(NamedTuple):
    """Sizes and places.

    Attributes:
      miniature: sizes for a CPU, which only show that the code runs.
      folder: where runs are kept that a later call goes on with.
      stop: a signal number as soon as the part is to end.
    """

    miniature: bool
    folder: Path
    stop: Callable[[], int | None] = lambda: None


class Case(NamedTuple):
    """A row of a table.

    Attributes:
      measure: gives the row.
      seconds: its price on one H100, compiling included.
    """

    measure: Callable[[], Row]
    seconds: float


@dataclasses.dataclass(frozen=True)
class Part:
    """One question to a device.

    Attributes:
      title: of its table.
      about: what is said above it.
      cases: by name, the most valuable first.
      table: of the rows that were measured.
      variables: of the environment of its process.
    """

    name: str
    title: str
    about: str
    cases: Callable[[Setting], Mapping[str, Case]]
    table: Callable[[Mapping[str, Row]], Table]
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)


DETERMINISTIC = {"XLA_FLAGS": "--xla_gpu_deterministic_ops=true"}
"""As the command line sets it."""
FASTEST = {"XLA_FLAGS": "--xla_gpu_deterministic_ops=false"}
"""Said, for what is not said the command line sets."""
SHARED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Of a process that leaves memory of the device to others."""


def compiling(layers: int) -> float:
    """Seconds that a training program of so many layers is taken to compile in.

    Offline XLA took 87 and 98 seconds of a processor for the 12 layers of `steps` on an H100, and 12 for the 2 layers
    of 64 replicas; with several cores it is taken to need half of that.
    """
    return 3.0 + 4.0 * layers


def price(operations: float, programs: int, each: float, *, dtype: str = "bfloat16") -> float:
    """Seconds on an H100 at the utilisation that `posenc plan` assumes, and ``each`` to compile a program."""
    from posenc_jax.runs.plan import UTILISATION
    from posenc_jax.runs.targets import target

    return operations / (target("h100").chip.peak[dtype] * UTILISATION) + each * programs


def is_out_of_memory(error: BaseException) -> bool:
    """True for what XLA raises where the memory of a device is full."""
    return "RESOURCE_EXHAUSTED" in str(error)


def milliseconds(call: Callable[[], Any], rounds: int, calls: int = 1) -> list[float]:
    """The time of a call in each round, after one of warm-up; ``call`` waits for its result."""
    found = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - begun) * 1e3 / calls)
    return found[1:]


def spread(times: list[float]) -> tuple[float, float, float]:
    """Median, least and most."""
    return statistics.median(times), min(times), max(times)


def table(
    part: Part,
    first: str,
    columns: Mapping[str, str],
    rows: Mapping[str, Row],
    numbers: Callable[[Row], tuple[float | None, ...]],
) -> Table:
    """A table of a part's rows that were measured; one that ran out of memory has no numbers."""
    nothing = (None,) * len(columns)
    found = {name: nothing if "out_of_memory" in row else numbers(row) for name, row in rows.items()}
    return Table(part.title, first, dict(columns), found, part.about)
