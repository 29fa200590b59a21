"""The origin of results: the code, whether they are bit-exact, when they were computed, and how fast beside the plan.
Times are the one part of a report that depends on a clock.
"""

import datetime

from posenc_jax.drawing.quantities import NONE, count, duration
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.results.provenance import Provenance
from posenc_jax.results.summary import Summary
from posenc_jax.results.timing import PHASES, PhaseTiming


def statement(provenance: Provenance) -> list[str]:
    """Its `alarms`, or where there are none the code, and that results are bit-exact; empty if nothing is known."""
    if (found := alarms(provenance)) or not provenance.codes:
        return found
    (words,) = provenance.codes
    own = "".join(f"; {name} {digest[:12]}" for name, digests in provenance.own.items() for digest in digests)
    return [f"Computed by {words}{own}; all results are bit-exact: computed in one environment by the same code."]


def alarms(provenance: Provenance) -> list[str]:
    """One line for each way in which results were not computed alike."""
    lines = []
    if provenance.differing:
        lines.append("Not all results were computed by the same code: see the table of code and cells.")
    if provenance.not_exact:
        lines.append(
            "Not bit-exact, because they were started or resumed in another environment, or by other code, than the "
            f"rest: {'; '.join(provenance.not_exact)}."
        )
    lines += map(str, provenance.elsewhere)
    if provenance.changed:
        lines.append(
            f"Own code has changed since training, and the change was accepted: {'; '.join(provenance.changed)}."
        )
    return lines


def code_table(provenance: Provenance) -> TextTable:
    """Table of codes and the cells that each computed; empty if one code computed all."""
    entries = [(words, "; ".join(who)) for words, who in provenance.codes.items() if len(provenance.codes) > 1]
    for name, digests in provenance.own.items():
        entries += [(f"{name} {digest[:12]}", "; ".join(who)) for digest, who in digests.items() if len(digests) > 1]
    return TextTable("Code that computed each cell", ("code", "cells"), "ll", tuple(entries))


_NOTES = (
    "Planned: what `posenc plan` predicts for these devices. Time: all groups, excluding compilation.",
    "FLOP: the matrix products of the model, including those of padding and masked pairs; MFU: the fraction of the "
    "devices' peak that they reached (for a CPU: of 96 GFLOP/s per core).",
)


def speed_table(summary: Summary) -> TextTable:
    """A line for each cell and phase that was timed; empty where nothing was."""
    columns = ("task", "encoding", "phase", "planned", "took", "steps/s", "tokens/s", "FLOP/s", "MFU")
    lines = []
    for task in summary.tasks:
        for cell in task.cells:
            if cell.timing is None:
                continue
            for phase in PHASES:
                if phase in cell.timing.measured:
                    planned = cell.timing.planned.get(phase)
                    lines.append(
                        (task.task_label, cell.label, phase, duration(planned), *_of(cell.timing.measured[phase]))
                    )
    return TextTable("Speed", columns, "lll" + "r" * 6, tuple(lines), _NOTES)


def when(summary: Summary) -> str:
    """One sentence: from when to when the cells ran (UTC), and how long of it they computed; "" where nobody knows."""
    timings = [cell.timing for task in summary.tasks for cell in task.cells if cell.timing is not None]
    spans = [timing.times for timing in timings if timing.times is not None]
    if not spans:
        return ""
    begun, ended = (_moment(seconds) for seconds in (min(a for a, _ in spans), max(b for _, b in spans)))
    if begun[:10] == ended[:10]:
        ended = ended[11:]
    took = duration(sum(phase.seconds for timing in timings for phase in timing.measured.values()))
    until = "" if begun.endswith(ended) else f" to {ended}"
    return f"Run {begun}{until} UTC; {took} of it in programs, excluding compilation."


def _moment(seconds: float) -> str:
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M}"


def _of(measured: PhaseTiming) -> tuple[str, ...]:
    seconds = measured.seconds
    return (
        duration(seconds),
        f"{measured.steps / seconds:.3g}" if measured.steps else NONE,
        count(measured.tokens / seconds),
        count(measured.operations / seconds),
        NONE if measured.mfu is None else f"{100 * measured.mfu:.2g} %",
    )
