"""A verdict from nothing to its card: every encoding measured on every table, and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from posenc_jax.encodings.slots import Slot
from posenc_jax.environments import between, history
from posenc_jax.files.shapes import Json
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.cells import distinct
from posenc_jax.verdict.judging import findings
from posenc_jax.verdict.measuring import Measured, histories, measure
from posenc_jax.verdict.other_scores import WAYS
from posenc_jax.verdict.tables import Table


def decide(
    label: str,
    slot: Slot,
    baselines: Mapping[str, Slot],
    tables: Mapping[str, Table],
    directory: Path,
    *,
    seeds: tuple[int, ...],
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
    clock: Callable[[], float] = lambda: 0.0,
) -> Card:
    """Measures what is not measured yet, in folders of ``directory`` that verdicts share, and compares.

    Stopped anywhere, the same call goes on: a finished seed is never run again, whichever verdict asked for it.
    """
    encodings = {label: slot, **baselines}
    elsewhere = _compared(encodings, tables, directory, seeds)
    measured: dict[str, dict[str, Measured]] = {own: {} for own in encodings}
    total = len(tables) * len(encodings)
    for number, (name, own) in enumerate((name, own) for name in tables for own in encodings):
        reporter.cell(f"{name} {own}", number, total)
        measured[own][name] = measure(
            tables[name], encodings[own], own, directory, seeds=seeds, reporter=reporter, stop=stop, clock=clock
        )
    theirs = {own: measured[own] for own in baselines}
    return Card(
        label=label,
        baselines=tuple(baselines),
        tables=tables,
        measured=measured,
        findings=findings(tables, measured[label], theirs),
        otherwise=tuple(found for way in WAYS for found in findings(tables, measured[label], theirs, way)),
        seeds=seeds,
        elsewhere=elsewhere,
        environments=distinct(
            own for by_table in measured.values() for found in by_table.values() for own in found.environments
        ),
        seconds=sum(found.seconds for by_table in measured.values() for found in by_table.values()),
    )


def _compared(
    encodings: Mapping[str, Slot], tables: Mapping[str, Table], directory: Path, seeds: tuple[int, ...]
) -> tuple[str, ...]:
    """Differences of the environments of existing groups, and of this process if groups are missing, from the first: in
    words, if only rounding may differ.

    RefusedError: they draw other random numbers, so that no seeds would be pairs.
    """
    found: dict[str, Json] = {}
    missing = False
    for table in tables.values():
        for own, slot in encodings.items():
            begun, all_there = histories(table, slot, own, directory, seeds)
            found |= begun
            missing |= not all_there
    if found and missing:
        found["what is to be computed now"] = history({"began": environment()})
    first = next(iter(found), "")
    others = [(name, between(found[first], own)) for name, own in found.items()]
    for name, differs in others:
        if differs.draws:
            raise RefusedError(
                f"{name} draws other random numbers than {first} ({'; '.join(differs.draws)}), and a verdict compares "
                "seeds that drew the same: set that back, or choose another directory"
            )
    return tuple(dict.fromkeys(line for _, differs in others for line in differs.lines))
