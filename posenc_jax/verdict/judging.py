"""From scores to words: an encoding against baselines, and the directions that were written down of a published table;
each compared by paired seeds, all of a card or of a published table corrected together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal, get_args

from posenc_jax.results.averages import alike, comparison_of
from posenc_jax.statistics import Comparison, Word, judge
from posenc_jax.verdict.cells import Results
from posenc_jax.verdict.measuring import Measured, Scored
from posenc_jax.verdict.published import Direction, Folder
from posenc_jax.verdict.tables import Table

WORDS: tuple[Word, ...] = get_args(Word)
Outcome = Literal["held", "opposite", "no difference seen", "not measurable here", "not run"]
_UNTOLD: dict[Word, Outcome] = {
    "no difference seen": "no difference seen",
    "not measurable here": "not measurable here",
}
_OUTCOMES: dict[bool, dict[Word, Outcome]] = {
    False: {**_UNTOLD, "better": "held", "worse": "opposite"},
    True: {**_UNTOLD, "better": "opposite", "worse": "opposite", "no difference seen": "held"},
}
"""Whether the arms are expected to be alike -> what was seen -> what became of the direction."""


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
    family = [
        (_compare(tables[name], ours[name], theirs[own][name], way), tables[name].kind.better) for name, own in pairs
    ]
    judged = zip(pairs, judge(family), strict=True)
    return tuple(Finding(*pair, own.comparison, own.p, own.word, way) for pair, own in judged)


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


def _names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclasses.dataclass(frozen=True)
class CheckedDirection:
    """A direction and what was seen of it.

    Attributes:
      comparison: of the two arms, paired by seed; of logarithms where the score is logarithmic. None: not run.
      p: of the comparison, corrected by Holm's method for all directions of the table, also those that turn out not to
        be measurable; None of those and where nothing is tested.
      outcome: by that p, from 0.05 down.
    """

    direction: Direction
    comparison: Comparison | None
    p: float | None
    outcome: Outcome


def check_directions(folder: Folder, ours: Results | None) -> tuple[CheckedDirection, ...]:
    """Every direction of a published table."""
    compared = [None if ours is None else _compare_arms(ours, direction) for direction in folder.directions]
    family = [
        (found, ours.kind(direction.place).better)
        for direction, found in zip(folder.directions, compared, strict=True)
        if ours is not None and found is not None
    ]
    judged = iter(judge(family))
    checked = []
    for direction, found in zip(folder.directions, compared, strict=True):
        if found is None:
            checked.append(CheckedDirection(direction, None, None, "not run"))
        else:
            comparison, p, word = next(judged)
            outcome = _OUTCOMES[direction.alike][word]
            checked.append(CheckedDirection(direction, comparison, p, outcome))
    return tuple(checked)


def _compare_arms(ours: Results, direction: Direction) -> Comparison | None:
    place = direction.place
    better, worse = (ours.scores(place, label) for label in (direction.better, direction.worse))
    if not better or not worse:
        return None
    task = ours.tasks[place.table]
    chance = task.chance if ours.metric(place) == task.metric else None
    drawn = [_draws(ours, place.table, label) for label in (direction.better, direction.worse)]
    return comparison_of(alike(better, *drawn), worse, ours.kind(place), chance)


def _draws(ours: Results, table: str, label: str) -> dict[int, int]:
    """Seed -> which random numbers it drew."""
    cell = ours.cell(table, label)
    return {} if cell is None else {seed: cell.draws.get(seed, 0) for seed in cell.seeds}


def held(checked: tuple[CheckedDirection, ...]) -> str:
    """How many of those that were run, in words; "-" where none was."""
    run = [own for own in checked if own.outcome != "not run"]
    return f"{sum(own.outcome == 'held' for own in run)} of {len(run)}" if run else "-"
