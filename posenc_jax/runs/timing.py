"""Times of the phases of a group beside its plan: rows of ``timing.jsonl``, on which no result depends."""

import contextlib
import dataclasses
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from posenc_jax.runs.directory import Group
from posenc_jax.runs.files import append_rows
from posenc_jax.runs.plan import Plan, in_record
from posenc_jax.training.operations import Work


@dataclasses.dataclass
class Meter:
    """The work of one phase and its time, compiling apart.

    Attributes:
      clock: whose times between calls compare arms: that of the processor on CPUs, which other processes hardly change.
      calls: its reading at each call, None where a program is being compiled in another thread.
    """

    work: Work = dataclasses.field(default_factory=Work)
    steps: int = 0
    seconds: float = 0.0
    clock: Callable[[], float] = time.perf_counter
    calls: list[float | None] = dataclasses.field(default_factory=list)

    def add(self, work: Work, steps: int = 0, *, alone: bool = True) -> None:
        """Counts work that is done, or under way."""
        self.work += work
        self.steps += steps
        self.calls.append(self.clock() if alone else None)

    @property
    def step_seconds(self) -> float | None:
        """The median of calls, which a validation after some of them does not change; None of one."""
        took = [b - a for a, b in itertools.pairwise(self.calls) if a is not None and b is not None]
        return statistics.median(took) * len(self.calls) / self.steps if took and self.steps else None

    def row(self, phase: str, replicas: int, devices: int, peak: float | None) -> dict[str, Any]:
        """The row of a phase.

        Args:
          peak: operations a second of one device.

        Returns:
          Among others ``mfu``, the part of the peak of all ``devices`` that was reached in products of the model
          (Chowdhery et al. 2022), None where nobody knows the peak.
        """
        operations = self.work.operations / self.seconds
        limit = None if peak is None else peak * devices
        return {
            "phase": phase,
            "seconds": round(self.seconds, 6),
            "steps": self.steps,
            "replicas": replicas,
            "devices": devices,
            "tokens": self.work.tokens,
            "operations": self.work.operations,
            "steps_per_second": _rounded(self.steps / self.seconds) if self.steps else None,
            "tokens_per_second": _rounded(self.work.tokens / self.seconds),
            "flops_per_second": _rounded(operations),
            "peak_flops_per_second": limit,
            "mfu": None if limit is None else _rounded(operations / limit),
        }


class Timings:
    """Times what a group does on so many devices, and writes it down."""

    def __init__(self, group: Group, plan: Plan, devices: int) -> None:
        self._group, self._plan, self._devices = group, plan, devices
        self._open: list[Meter] = []

    def planned(self) -> None:
        """Writes the plan of the run."""
        self._keep({"plan": in_record(self._plan)})

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[Meter]:
        """A meter of what is inside but for phases in it, whose row is written at the end, also by a signal or an
        error.
        """
        on_cpu = self._plan.target.devices.on_cpu
        meter, begun = Meter(clock=time.process_time if on_cpu else time.perf_counter), time.perf_counter()
        self._open.append(meter)
        try:
            yield meter
        finally:
            self._open.pop()
            passed = time.perf_counter() - begun
            self._elsewhere(passed)
            meter.seconds += passed
            if meter.work != Work():
                step = meter.step_seconds and _rounded(meter.step_seconds / self._group.size)
                row = meter.row(name, len(self._group.replicas), self._devices, self._plan.peak)
                self._keep({**row, "step_seconds": step})

    def compiled(self, title: str, seconds: float) -> None:
        """Writes what compiling a program has taken, in whatever thread."""
        self._keep({"program": title, "compile_seconds": round(seconds, 3)})

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """A context whose time no phase counts."""
        begun = time.perf_counter()
        yield
        self._elsewhere(time.perf_counter() - begun)

    def _elsewhere(self, seconds: float) -> None:
        if self._open:
            self._open[-1].seconds -= seconds

    def _keep(self, row: dict[str, Any]) -> None:
        of = {"config_hash": self._group.config_hash}
        append_rows(self._group.directory / "timing.jsonl", [{**row, **of, "time": time.time()}])


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
