"""From scores to words: an encoding against baselines, and the directions that were written down of a published table;
each compared by paired seeds, all of a card or of a published table corrected together.
"""

import dataclasses
from collections.abc import Mapping
from typing import Literal, get_args

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.results.averages import alike, comparison_of
from posenc_jax.statistics import Comparison, Judged, Word, in_prose, judge
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
    """A sentence on an encoding and one baseline, over all tables."""
    own = [finding for finding in found if finding.baseline == baseline]
    of = {said: [finding.table for finding in own if finding.word == said] for said in WORDS}
    seeds = max((finding.comparison.pairs for finding in own), default=0)
    parts = [f"{in_prose(said, seeds)} on {listed(names)}" for said, names in of.items() if names]
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


def listed(names: list[str]) -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclasses.dataclass(frozen=True)
class CheckedDirection:
    """A direction and what was seen of it.

    Attributes:
      outcome: what became of it, by the word of ``judged``. judged: the two arms, paired by seed, among all directions
        of the table; of logarithms where ``kind`` is logarithmic. Both None: not run.
    """

    direction: Direction
    outcome: Outcome = "not run"
    judged: Judged | None = None
    kind: ScoreKind | None = None


def check_directions(folder: Folder, results: Results) -> tuple[CheckedDirection, ...]:
    """Every direction of a published table."""
    compared = {
        number: (found, results.kind(direction.selection))
        for number, direction in enumerate(folder.directions)
        if (found := _compare_arms(results, direction)) is not None
    }
    judged = dict(zip(compared, judge([(found, kind.better) for found, kind in compared.values()]), strict=True))
    return tuple(
        CheckedDirection(direction, _OUTCOMES[direction.alike][own.word], own, compared[number][1])
        if (own := judged.get(number)) is not None
        else CheckedDirection(direction)
        for number, direction in enumerate(folder.directions)
    )


def _compare_arms(results: Results, direction: Direction) -> Comparison | None:
    selection = direction.selection
    better, worse = (results.scores(selection, label) for label in (direction.better, direction.worse))
    if not better or not worse:
        return None
    task = results.tasks[selection.table]
    chance = task.chance if results.metric(selection) == task.metric else None
    drawn = [_draws(results, selection.table, label) for label in (direction.better, direction.worse)]
    return comparison_of(alike(better, *drawn), worse, results.kind(selection), chance)


def _draws(results: Results, table: str, label: str) -> dict[int, int]:
    """Seed -> which random numbers it drew."""
    cell = results.cell(table, label)
    return {} if cell is None else {seed: cell.draws.get(seed, 0) for seed in cell.seeds}


def held(checked: tuple[CheckedDirection, ...]) -> str:
    """The number of directions that held, of those that were run, in words; "-" if none was run."""
    run = [own for own in checked if own.outcome != "not run"]
    return f"{sum(own.outcome == 'held' for own in run)} of {len(run)}" if run else "-"
