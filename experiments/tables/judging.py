"""Directions that were written down of a published table, and what became of them: each is compared by paired seeds,
all of a table corrected together.
"""

import dataclasses
from typing import Literal

from experiments.tables.folders import Direction, Folder
from experiments.tables.results import Results
from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.results.averages import alike, comparison_of
from posenc_jax.statistics import Comparison, Judged, Share, Word, judge
from posenc_jax.verdict.finding import BestCase, untold
from posenc_jax.verdict.rule import best_case, by_shortcut, solving

Outcome = Literal[
    *("held", "opposite", "no difference seen", "cannot be told", "not measurable here", "explained by a shortcut"),
    "not run",
]
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
class CheckedDirection:
    """A direction and what was seen of it.

    Attributes:
      outcome: what became of it, by the word of ``judged``.
      judged: the two arms, paired by seed, among all directions of the table; of logarithms where ``kind`` is
        logarithmic. Both None: not run.
      best_case: where no difference is seen, what the better arm could have shown: where not even one that is right
        everywhere would have been found, it cannot be told.
      solved: the seeds of both that solve it, where both are all or nothing.
    """

    direction: Direction
    outcome: Outcome = "not run"
    judged: Judged | None = None
    kind: ScoreKind | None = None
    best_case: BestCase | None = None
    solved: tuple[Share, Share] | None = None

    @property
    def said(self) -> str:
        """The outcome in words."""
        if self.outcome != "cannot be told" or self.judged is None or self.best_case is None:
            return self.outcome
        return untold(self.judged.comparison.pairs, self.best_case)


def check_directions(folder: Folder, results: Results) -> tuple[CheckedDirection, ...]:
    """Every direction of a published table."""
    compared = {
        number: (found, results.kind(direction.selection))
        for number, direction in enumerate(folder.directions)
        if (found := _compare_arms(results, direction)) is not None
    }
    judged = dict(zip(compared, judge([(found, kind.better) for found, kind in compared.values()]), strict=True))
    p_values = {number: found.p for number, (found, _) in compared.items() if found.p is not None}
    checked = []
    for number, direction in enumerate(folder.directions):
        if (own := judged.get(number)) is None:
            checked.append(CheckedDirection(direction))
            continue
        outcome, kind, case = _OUTCOMES[direction.alike][own.word], compared[number][1], None
        arms = [results.scores(direction.selection, label) for label in (direction.better, direction.worse)]
        if outcome == "held" and not direction.alike and by_shortcut(results.question(direction.selection), *arms):
            outcome = "explained by a shortcut"
        if outcome == "no difference seen":
            others = tuple(p for other, p in p_values.items() if other != number)
            case = best_case(kind, results.question(direction.selection).beyond, arms[1], others)
            outcome = outcome if "better" in case.seen else "cannot be told"
        checked.append(CheckedDirection(direction, outcome, own, kind, case, _solved(results, direction)))
    return tuple(checked)


def _solved(results: Results, direction: Direction) -> tuple[Share, Share] | None:
    selection = direction.selection
    floor = results.question(selection).beyond
    first, second = (
        solving(results.kind(selection), floor, results.scores(selection, label).values())
        for label in (direction.better, direction.worse)
    )
    return (first, second) if first is not None and second is not None else None


def _compare_arms(results: Results, direction: Direction) -> Comparison | None:
    selection = direction.selection
    better, worse = (results.scores(selection, label) for label in (direction.better, direction.worse))
    if not better or not worse:
        return None
    drawn = [_draws(results, selection.table, label) for label in (direction.better, direction.worse)]
    return comparison_of(alike(better, *drawn), worse, results.kind(selection), results.question(selection).beyond)


def _draws(results: Results, table: str, label: str) -> dict[int, int]:
    cell = results.cell(table, label)
    return {} if cell is None else {seed: cell.draws.get(seed, 0) for seed in cell.seeds}


def held(checked: tuple[CheckedDirection, ...]) -> str:
    """The number of directions that held, of those that were run, in words; "-" if none was run."""
    run = [own for own in checked if own.outcome != "not run"]
    return f"{sum(own.outcome == 'held' for own in run)} of {len(run)}" if run else "-"
