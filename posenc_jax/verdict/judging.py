"""From scores to words: each table compared by paired seeds, all tables corrected together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import get_args

from posenc_jax.results.averages import comparison_of
from posenc_jax.statistics import Comparison, Word, detectable, holm, word
from posenc_jax.verdict.measuring import Measured, Scored
from posenc_jax.verdict.tables import Table

WORDS: tuple[Word, ...] = get_args(Word)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One encoding against one baseline on one table.

    Attributes:
      comparison: of the scores, seed by seed; of logarithms where the score is logarithmic. Its ``detectable`` is found
        as often as said after the correction too, whatever the other findings are.
      p: of the comparison, corrected by Holm's method for all findings of the same way, also those that turn out not to
        be measurable (which of them do is known from the same scores); None of those and where nothing is tested.
      way: how both were scored: after the last step, which decides, or otherwise.
      word: by that p, from 0.05 down (`posenc_jax.statistics.word`).
    """

    table: str
    baseline: str
    comparison: Comparison
    p: float | None
    word: Word
    way: Scored = "final"


def findings(
    tables: Mapping[str, Table],
    ours: Mapping[str, Measured],
    theirs: Mapping[str, Mapping[str, Measured]],
    way: Scored = "final",
) -> tuple[Finding, ...]:
    """Every baseline on every table that was measured; ``theirs``: baseline -> table -> what it scored."""
    pairs = [(name, baseline) for baseline in theirs for name in tables if name in ours and name in theirs[baseline]]
    compared = {(name, own): _compare(tables[name], ours[name], theirs[own][name], way) for name, own in pairs}
    tested = {repr(pair): c.p for pair, c in compared.items() if c.p is not None}
    corrected = holm(tested)
    found = []
    for (name, baseline), own in compared.items():
        comparison = _in_family(own, len(tested))
        p = None if own.at_bound else corrected.get(repr((name, baseline)))
        found.append(Finding(name, baseline, comparison, p, word(comparison, p, tables[name].kind.better), way))
    return tuple(found)


def sentence(found: tuple[Finding, ...], label: str, baseline: str) -> str:
    """What all tables together say of an encoding and one baseline."""
    own = [finding for finding in found if finding.baseline == baseline]
    of = {said: [finding.table for finding in own if finding.word == said] for said in WORDS}
    parts = [f"{said} on {_names(names)}" for said, names in of.items() if names]
    return f"{label} against {baseline}, {len(own)} table{'s' * (len(own) != 1)}: {'; '.join(parts)}."


def breaks_at(measured: Measured, table: Table) -> int | None:
    """The first evaluated length at which the mean over seeds lies below the middle between chance and the best score;
    None where it never does, or where the score has no best.
    """
    best, chance = table.kind.highest, table.run.task.chance or 0.0
    if best is None or table.kind.better == "lower":
        return None
    for length, scores in sorted(measured.by_length.items()):
        if scores and sum(scores.values()) / len(scores) < (chance + best) / 2:
            return length
    return None


def _compare(table: Table, ours: Measured, theirs: Measured, way: Scored) -> Comparison:
    return comparison_of(ours.scored(way), theirs.scored(way), table.kind, table.run.task.chance)


def _in_family(comparison: Comparison, tests: int) -> Comparison:
    """With what is detectable at ``0.05 / tests``, the level that Holm's method asks of the smallest p."""
    if comparison.detectable is None or tests < 2:
        return comparison
    alone, together = (detectable(1.0, comparison.pairs, confidence=1 - 0.05 / m) for m in (1, tests))
    return comparison._replace(detectable=comparison.detectable * together / alone)


def _names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
