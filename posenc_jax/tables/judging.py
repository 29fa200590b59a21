"""What became of the directions that were written down."""

from __future__ import annotations

import dataclasses
from typing import Literal

from posenc_jax.results.averages import alike, comparison_of
from posenc_jax.statistics import Comparison, holm, word
from posenc_jax.tables.folder import Direction, Folder
from posenc_jax.tables.ours import Ours

Outcome = Literal["held", "opposite", "no difference seen", "not measurable here", "not run"]
_OUTCOMES: dict[str, Outcome] = {"better": "held", "worse": "opposite"}
_OF_ALIKE: dict[str, Outcome] = {"better": "opposite", "worse": "opposite", "no difference seen": "held"}


@dataclasses.dataclass(frozen=True)
class Judged:
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


def judge(folder: Folder, ours: Ours | None) -> tuple[Judged, ...]:
    """Every direction of a table."""
    compared = [None if ours is None else _compare(ours, direction) for direction in folder.directions]
    tested = {str(i): c.p for i, c in enumerate(compared) if c is not None and c.p is not None}
    corrected = holm(tested)
    found = []
    for number, (direction, comparison) in enumerate(zip(folder.directions, compared, strict=True)):
        p = corrected.get(str(number)) if comparison is not None and not comparison.at_bound else None
        found.append(Judged(direction, comparison, p, _outcome(ours, direction, comparison, p)))
    return tuple(found)


def _compare(ours: Ours, direction: Direction) -> Comparison | None:
    place = direction.place
    better, worse = (ours.scores(place, label) for label in (direction.better, direction.worse))
    if not better or not worse:
        return None
    task = ours.tasks[place.table]
    chance = task.chance if ours.metric(place) == task.metric else None
    drawn = [_draws(ours, place.table, label) for label in (direction.better, direction.worse)]
    return comparison_of(alike(better, *drawn), worse, ours.kind(place), chance)


def _draws(ours: Ours, table: str, label: str) -> dict[int, int]:
    """Seed -> which random numbers it drew."""
    cell = ours.cell(table, label)
    return {} if cell is None else {seed: cell.draws.get(seed, 0) for seed in cell.seeds}


def _outcome(ours: Ours | None, direction: Direction, comparison: Comparison | None, p: float | None) -> Outcome:
    if ours is None or comparison is None:
        return "not run"
    said = word(comparison, p, ours.kind(direction.place).better)
    if direction.alike:
        return _OF_ALIKE.get(said, said)  # type: ignore[arg-type]
    return _OUTCOMES.get(said, said)  # type: ignore[arg-type]


def held(judged: tuple[Judged, ...]) -> str:
    """How many of those that were run, in words; "-" where none was."""
    run = [own for own in judged if own.outcome != "not run"]
    return f"{sum(own.outcome == 'held' for own in run)} of {len(run)}" if run else "-"
