"""Times of the phases of a group beside its plan: rows of ``timing.jsonl``, on which no result depends."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from posenc_jax.runs.directory import Group
from posenc_jax.runs.files import append_rows
from posenc_jax.runs.plan import Plan, in_record
from posenc_jax.training.operations import Work

NOTHING = Work()


class Meter:
    """Adds up what one phase does and how long it takes, compiling apart.

    Attributes:
      seconds: of what is inside `running`. waited: of them, those in which the host did nothing but wait for programs.
    """

    def __init__(self) -> None:
        self.steps, self.work, self.seconds, self.waited = 0, Work(), 0.0, 0.0

    @contextlib.contextmanager
    def running(self, work: Work = NOTHING, steps: int = 0) -> Iterator[None]:
        """The time of what is inside counts, and ``work`` where it ends without an error."""
        begun = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - begun
        self.work += work
        self.steps += steps

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """The time of what is inside, which waits for a program, counts as waited, but for what the host computes."""
        begun, computed = time.perf_counter(), time.thread_time()
        yield
        self.waited += time.perf_counter() - begun - (time.thread_time() - computed)

    def row(self, phase: str, replicas: int, devices: int, peak: float | None) -> dict[str, Any]:
        """The row of a phase.

        peak: operations a second of one device. ``mfu``: the part of the peak of all ``devices`` that was reached in
        products of the model (Chowdhery et al. 2022), None where nobody knows the peak. ``host_share`` (of training):
        the part of the time in which the host did something else than wait for a program. Programs run meanwhile, so
        what is lost outside of them is less.
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
            "host_share": _rounded(1 - self.waited / self.seconds) if self.waited else None,
        }


def keep(group: Group, row: dict[str, Any]) -> None:
    """Adds a row to the file of a group, with the time of now and of which config it is."""
    of = {} if group.config_hash is None else {"config_hash": group.config_hash}
    append_rows(group.directory / "timing.jsonl", [{**row, **of, "time": time.time()}])


class Timings:
    """Writes what a group's phases take. ``devices``: those that it lies on."""

    def __init__(self, group: Group, plan: Plan, devices: int) -> None:
        self._group, self._plan, self._devices = group, plan, devices

    def planned(self) -> None:
        """Writes the plan of the run."""
        keep(self._group, {"plan": in_record(self._plan)})

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[Meter]:
        """A meter whose row is written when the phase ends, also by a signal or an error."""
        meter = Meter()
        try:
            yield meter
        finally:
            if meter.seconds > 0:
                keep(self._group, meter.row(name, len(self._group.replicas), self._devices, self._plan.peak))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
