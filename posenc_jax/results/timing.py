"""Measured and planned times of the cells of an ablation, their dates and commands: read from the ``timing.jsonl`` of
their groups and of the ablation.

No result depends on it.
"""

import collections
import dataclasses
from collections.abc import Collection
from pathlib import Path

from posenc_jax.files.checksums import read_lines
from posenc_jax.files.shapes import Json
from posenc_jax.results.groups import own_groups, whole_rows

PHASES = ("train", "validate", "evaluate", "decode")


@dataclasses.dataclass(frozen=True)
class PhaseTiming:
    """One phase of all groups of a cell, excluding compilation. ``at_peak``: the seconds that its operations take at
    the peak of its devices, None where nobody knows that. ``per_step``: ``step_seconds`` of the groups that
    have them.
    """

    seconds: float
    steps: int
    tokens: int
    operations: int
    at_peak: float | None
    per_step: tuple[float, ...] = ()

    @property
    def mfu(self) -> float | None:
        """The part of the peak that was reached."""
        return None if self.at_peak is None else self.at_peak / self.seconds


@dataclasses.dataclass(frozen=True)
class Timing:
    """Timing of one cell: phase -> measurement, and phase -> planned seconds.
    times: of the first and the last row, in seconds since 1970. compiling: seconds that
    its groups compiled for.
    """

    measured: dict[str, PhaseTiming]
    planned: dict[str, float]
    times: tuple[float, float] | None = None
    compiling: float = 0.0


def read_timing(
    cell_directory: Path, config_hash: str | None = None, groups: Collection[str] | None = None
) -> tuple[Timing | None, list[str]]:
    """The timing of a cell from its groups, all or those of these names. None if they have none, or if a file of theirs
    is damaged, missing or another cell's (with a line for each), since the sum of the other groups would not be the
    cell's.
    """
    own, problems = own_groups(cell_directory, config_hash, groups)
    found: dict[str, list[Json]] = collections.defaultdict(list)
    plan: Json = {}
    times: list[float] = []
    compiling = 0.0
    for group in own:
        rows, wrong = whole_rows(group, "timing.jsonl", config_hash)
        problems += [wrong] * bool(wrong)
        for row in rows:
            times += [row["time"]] if "time" in row else []
            compiling += row.get("compile_seconds", 0.0)
            plan = row.get("plan", plan)
            if row.get("phase") in PHASES:
                found[row["phase"]].append(row)
    if problems or not found:
        return None, problems
    planned = {phase: float(s) for phase, s in plan.get("seconds", {}).items() if s is not None}
    measured = {phase: _sum(found[phase]) for phase in PHASES if phase in found}
    span = (min(times), max(times)) if times else None
    timing = Timing(measured, planned, span, compiling)
    return timing, []


def read_commands(directory: Path) -> tuple[tuple[str, ...], list[str]]:
    """The command lines that computed the results of an ablation, each once, in order; and a line for each damaged one
    among them.
    """
    file = directory / "timing.jsonl"
    if not file.is_file():
        return (), []
    commands: list[str] = []
    problems: list[str] = []
    for line in read_lines(file.read_bytes()):
        if line.row is None:
            problems.append(f"timing.jsonl, line {line.number}: damaged ({line.problem})")
        elif "command" in line.row:
            commands.append(line.row["command"])
    return tuple(dict.fromkeys(commands)), problems


def _sum(rows: list[Json]) -> PhaseTiming:
    peaks = [row.get("peak_flops_per_second") for row in rows]
    at_peak = None
    if None not in peaks:
        at_peak = sum(row["operations"] / peak for row, peak in zip(rows, peaks, strict=True))
    return PhaseTiming(
        sum(row["seconds"] for row in rows),
        sum(row["steps"] for row in rows),
        sum(row["tokens"] for row in rows),
        sum(row["operations"] for row in rows),
        at_peak,
        tuple(row["step_seconds"] for row in rows if row.get("step_seconds")),
    )
