"""What the cells of an ablation took, beside what was planned, when, and by which commands: read from the
``timing.jsonl`` of their groups and of the ablation.

No result depends on it; what is missing or damaged there is left out.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Collection
from pathlib import Path

from posenc_jax.checksums import read_lines
from posenc_jax.shapes import Json, problem

PHASES = ("train", "validate", "evaluate", "decode")

_PHASE = {
    "phase": str,
    "seconds": float,
    "steps": int,
    "tokens": int,
    "operations": int,
    "peak_flops_per_second?": float,
}
_COMPILED = {"compile_seconds": float}
_PLAN = {"plan": {"operations_per_step": int, "memory_bytes": int, "seconds": {str: (float, type(None))}}}
_TIMED, _COMMAND = {"time": float}, {"command": str}
_LATEST = 32503680000.0  # the year 3000: later ones are damage


@dataclasses.dataclass(frozen=True)
class PhaseTiming:
    """One phase of all groups of a cell, compiling apart. ``at_peak``: the seconds that its operations take at the peak
    of its devices, None where nobody knows that.
    """

    seconds: float
    steps: int
    tokens: int
    operations: int
    at_peak: float | None

    @property
    def mfu(self) -> float | None:
        """The part of the peak that was reached."""
        return None if self.at_peak is None else self.at_peak / self.seconds


@dataclasses.dataclass(frozen=True)
class Timing:
    """Of one cell: phase -> what was measured, and -> seconds planned for it; operations of a planned step of one
    replica, and bytes of memory. times: of the first and the last row, in seconds since 1970. compiling: seconds that
    its groups compiled for.
    """

    measured: dict[str, PhaseTiming]
    planned: dict[str, float]
    operations_per_step: int | None = None
    memory: int | None = None
    times: tuple[float, float] | None = None
    compiling: float = 0.0


def read_timing(cell_directory: Path, groups: Collection[str] | None = None) -> Timing | None:
    """What the groups of a cell say, all or those of these names; or None."""
    found: dict[str, list[Json]] = collections.defaultdict(list)
    plan: Json = {}
    times: list[float] = []
    compiling = 0.0
    for file in sorted(cell_directory.glob("group-*/timing.jsonl")):
        if file.is_symlink() or not file.is_file() or (groups is not None and file.parent.name not in groups):
            continue
        for row in (line.row for line in read_lines(file.read_bytes())):
            if row is None:
                continue
            if not problem(row, _TIMED) and 0 < row["time"] < _LATEST:
                times.append(row["time"])
            if not problem(row, _COMPILED) and 0 <= row["compile_seconds"] < math.inf:
                compiling += row["compile_seconds"]
            if not problem(row, _PLAN):
                plan = row["plan"]
            elif not problem(row, _PHASE) and row["phase"] in PHASES and 0 < row["seconds"] < math.inf:
                found[row["phase"]].append(row)
    if not found:
        return None
    planned = {phase: float(s) for phase, s in plan.get("seconds", {}).items() if s is not None}
    measured = {phase: _sum(found[phase]) for phase in PHASES if phase in found}
    span = (min(times), max(times)) if times else None
    return Timing(measured, planned, plan.get("operations_per_step"), plan.get("memory_bytes"), span, compiling)


def read_commands(directory: Path) -> tuple[str, ...]:
    """The command lines that computed the results of an ablation, each once, in order."""
    file = directory / "timing.jsonl"
    if file.is_symlink() or not file.is_file():
        return ()
    rows = [line.row for line in read_lines(file.read_bytes())]
    return tuple(dict.fromkeys(row["command"] for row in rows if row is not None and not problem(row, _COMMAND)))


def _sum(rows: list[Json]) -> PhaseTiming:
    peaks = [row.get("peak_flops_per_second") for row in rows]
    at_peak = None
    if all(peak is not None and 0 < peak < math.inf for peak in peaks):
        at_peak = sum(row["operations"] / peak for row, peak in zip(rows, peaks, strict=True))
    return PhaseTiming(
        sum(row["seconds"] for row in rows),
        sum(row["steps"] for row in rows),
        sum(row["tokens"] for row in rows),
        sum(row["operations"] for row in rows),
        at_peak,
    )
