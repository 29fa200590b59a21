"""All cards together: aggregates over their tables, and the word of every encoding on every table.

Aggregates average scores as shares of the way from the floor to the best score (`posenc_jax.verdict.rule.way_come`),
over a table's unseen lengths, 0 at the floor and below it; profiles and intervals are those of Agarwal et al. 2021
(`posenc_jax.statistics.many_tasks`). Words are those of cards; published arms get theirs against RoPE by the same rule,
corrected within their folder.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.tables.results import Results, Selection
from posenc_jax.results.averages import seed_means
from posenc_jax.statistics import (
    performance_profile,
    stratified_bootstrap,
)
from posenc_jax.statistics.many_tasks import Scores
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.cells import JudgedCell
from posenc_jax.verdict.finding import Finding, Scored
from posenc_jax.verdict.question import KeptQuestion
from posenc_jax.verdict.rule import ByLength, findings, way_come

THRESHOLDS = tuple(step / 50 for step in range(51))
"""Scores of a performance profile."""


class Estimate(NamedTuple):
    """A value with its 95 % interval over seeds."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """One encoding on several tables.

    Attributes:
      mean: the mean over tables of the means over seeds.
      improvement: the probability that a run is above one of the baseline on a table drawn at random; None of the
        baseline itself.
      profile, low, high: of each threshold the share of runs above it, and its interval.
    """

    label: str
    mean: Estimate
    improvement: Estimate | None
    profile: np.ndarray
    low: np.ndarray
    high: np.ndarray


def runs(card: Card, label: str) -> dict[str, list[float]]:
    """Table -> the scores of all seeds of an arm, on the scale of all tables.

    Raises:
      ValueError: scores of a table have no best, so that they have no place on that scale.
    """
    found: dict[str, list[float]] = {}
    for name, table in card.tables.items():
        shares = [way_come(table.kind, table.beyond, own) for own in card.measured[label][name].scores.values()]
        kept = [max(share, 0.0) for share in shares if share is not None]
        if len(kept) < len(shares):
            raise ValueError(f"scores of {name} have no best, and no place between a floor and it: leave it out")
        found[name] = kept
    return found


def aggregates(cards: Sequence[Card]) -> tuple[Aggregate, ...]:
    """Aggregates of every card's encoding beside its first baseline and of the baseline of the first card, the highest
    mean first; the cards ask the same tables.

    Raises:
      ValueError: they do not, or have other baselines.
    """
    first = cards[0]
    for card in cards:
        if (card.baselines[0], *card.tables) != (first.baselines[0], *first.tables):
            raise ValueError(
                f"{card.label} is compared with {card.baselines[0]} on {', '.join(card.tables)}, and {first.label} "
                f"with {first.baselines[0]} on {', '.join(first.tables)}: put cards of the same together"
            )
    theirs = first.baselines[0]
    own = [_aggregate(card.label, runs(card, card.label), runs(card, theirs)) for card in cards]
    return tuple(sorted([*own, _aggregate(theirs, runs(first, theirs))], key=lambda one: -one.mean.value))


def probability_of_improvement(ours: Scores, theirs: Scores) -> float:
    """The probability that a run of ours scores above one of theirs, on a task drawn at random: the mean over tasks of
    ``(#{x > y} + #{x = y} / 2) / (N M)``, x of N runs of ours and y of M of theirs, not paired.

    It says how often, not by how much; scores of different tasks need no common scale. 0.5: neither is above.

    >>> probability_of_improvement({"copy": [0.5, 1.0]}, {"copy": [0.0, 0.5]})
    0.875
    """
    return float(np.mean([own.mean() for own in _above(ours, theirs)]))


def improvement_interval(
    ours: Scores, theirs: Scores, confidence: float = 0.95, samples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The percentile interval of `probability_of_improvement`: as of `stratified_bootstrap`, runs of each task drawn
    again, of both arms by themselves. It has no width where all runs of one arm are above all of the other.
    """
    rng = np.random.default_rng(seed)
    shares = []
    for own in _above(ours, theirs):
        # A drawn mean is one over the same pairs, each as often as its two runs were drawn.
        drawn, other = (rng.multinomial(count, np.full(count, 1 / count), samples) for count in own.shape)
        shares.append(np.einsum("sn,nm,sm->s", drawn, own, other) / own.size)
    low, high = np.quantile(np.mean(shares, axis=0), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _above(ours: Scores, theirs: Scores) -> list[np.ndarray]:
    """Pairs of runs of each task, ``[N, M]``: 1 where ours is above theirs, 0.5 where both are the same."""
    pairs = [(np.asarray(own, np.float64)[:, None], np.asarray(theirs[task], np.float64)) for task, own in ours.items()]
    return [(x > y) + 0.5 * (x == y) for x, y in pairs]


def same_baseline(cards: Sequence[Card]) -> bool:
    """True if the first baseline has the same scores in all cards."""
    return len({str(runs(card, card.baselines[0])) for card in cards}) == 1


def _aggregate(label: str, ours: Scores, theirs: Scores | None = None) -> Aggregate:
    def both(scores: Scores) -> np.ndarray:
        mean = np.mean([np.mean(own) for own in scores.values()])
        return np.array([mean, *performance_profile(scores, THRESHOLDS)])

    value, (low, high) = both(ours), stratified_bootstrap(ours, both)
    improvement = theirs and Estimate(probability_of_improvement(ours, theirs), *improvement_interval(ours, theirs))
    mean = Estimate(*map(float, (value[0], low[0], high[0])))
    return Aggregate(label, mean, improvement or None, value[1:], low[1:], high[1:])


@dataclasses.dataclass(frozen=True)
class _Arm:
    """An arm of a published comparison, with the seeds that drew the same random numbers as the others."""

    by_length: ByLength
    question: KeptQuestion

    @property
    def in_range(self) -> dict[int, float]:
        return seed_means(self.by_length, self.question.trained_lengths, self.question.kind)

    def scored(self, way: Scored) -> dict[int, float]:
        """Scores after the last step, which alone are kept of published tables."""
        return seed_means(self.by_length, self.question.score_lengths, self.question.kind) if way == "final" else {}


def published(results: Results, baseline: str = "rope") -> tuple[tuple[JudgedCell, Finding], ...]:
    """Arms of a published comparison beside the one called ``baseline``, in any case, on its tables that have
    one; all corrected together.
    """
    questions = {name: _question(results, name) for name in results.tasks}
    of_arms: dict[str, dict[str, _Arm]] = {}
    for cell in results.cells:
        of_arms.setdefault(cell.label, {})[cell.table] = _arm(cell, questions[cell.table], results)
    base = next((label for label in of_arms if label.lower() == baseline), None)
    if base is None:
        return ()
    ours = {label: own for label, own in of_arms.items() if label != base}
    found = findings(questions, ours, {base: of_arms[base]})
    cells = {(cell.label, cell.table): cell for cell in results.cells}
    return tuple((cells[own.label, own.table], own) for own in found)


def _question(results: Results, name: str) -> KeptQuestion:
    return results.question(Selection(name))


def _arm(cell: JudgedCell, question: KeptQuestion, results: Results) -> _Arm:
    by_length = cell.by_metric[results.tasks[cell.table].metric]
    return _Arm(
        {n: {seed: score for seed, score in own.items() if not cell.draws.get(seed)} for n, own in by_length.items()},
        question,
    )


def words_by_size(results: Results, sizes: Iterable[str], tables: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """(encoding, table) -> its words against the baseline at all sizes, by the rule of cards: the ``tables`` of an
    encoding are corrected together at each size.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for size in sizes:
        questions = {name: results.question(Selection(f"{name} {size}")) for name in tables}
        arms: dict[str, dict[str, _Arm]] = {}
        for cell in results.cells:
            name, _, own = cell.table.rpartition(" ")
            if own == size and name in questions:
                arms.setdefault(cell.label, {})[name] = _arm(cell, questions[name], results)
        base = arms.pop("rope")
        for label, own_arms in arms.items():
            for row in findings(questions, {label: own_arms}, {"rope": base}):
                found.setdefault((label, row.table), set()).add(row.word)
    return found


class Matrix(NamedTuple):
    """Words by encoding and table: rows -> columns -> finding, where one was asked."""

    columns: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Finding]]


def matrix(cards: Iterable[tuple[str, Card]], folders: Mapping[str, Results]) -> Matrix:
    """A row for each card and a column for each table; then columns of published comparisons, for arms that differ from
    RoPE's arm only in the encoding of a row. The first of several counts.
    """
    rows: dict[str, dict[str, Finding]] = {}
    specs: dict[str, str] = {}
    asked: dict[str, None] = {}
    for name, card in cards:
        rows[name] = {own.table: own for own in card.findings if own.baseline == card.baselines[0]}
        asked |= dict.fromkeys(card.tables)
        ours, theirs = (next(iter(card.measured[label].values())).spec for label in (card.label, card.baselines[0]))
        word = ours.partition("(")[0]  # without its fields, which are set from the training lengths of a table
        specs.setdefault(ours if word == theirs.partition("(")[0] else word, name)
    columns = dict(asked)
    for folder, results in folders.items():
        shared = {part for cell in results.cells if cell.label.lower() == "rope" for part in cell.spec.split("|")}
        for cell, found in published(results):
            own = [part.partition("(")[0] for part in cell.spec.split("|") if part not in shared]
            if len(own) == 1 and own[0] in specs:
                column = f"{folder}: {cell.table}" if len(results.tasks) > 1 else folder
                column += " (published)" * (column in asked)
                columns[column] = None
                rows[specs[own[0]]].setdefault(column, found)
    return Matrix(tuple(columns), rows)
