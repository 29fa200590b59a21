"""The numbers of a report: scores, intervals and paired differences by task and cell, and what is missing.

The score of a seed is the mean of the headline metric over the unseen lengths (over those of training, if none is
unseen), each length counting once; lengths with both trained and unseen examples have no part in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.results.ablation_info import AblationInfo, CellInfo, PublishedInfo
from posenc_jax.results.averages import alike, difference_of
from posenc_jax.results.provenance import Provenance
from posenc_jax.results.record import Range
from posenc_jax.results.timing import Timing
from posenc_jax.statistics import Interval, PairedDifference


@dataclasses.dataclass(frozen=True)
class EveryScore:
    """All scores of one cell.

    Attributes:
      training, unseen: score -> the mean over seeds of its means over those lengths.
      at_length: length -> score -> the mean over seeds.
      counts: length -> how many examples were scored, of how many outputs were decoded.
      columns: score -> its values at every seed and length, in a fixed order.
    """

    training: dict[str, Interval]
    unseen: dict[str, Interval]
    at_length: dict[int, dict[str, Interval]]
    counts: dict[int, tuple[int, int]]
    columns: dict[str, tuple[float, ...]]


@dataclasses.dataclass(frozen=True)
class Tried:
    """One learning rate of a cell: in-range validation of its seeds and their mean, which of them diverged, and the
    scores of the finished ones over the task's ``score_lengths``.
    """

    learning_rate: float
    by_seed: Mapping[int, float | None]
    validation: Interval
    diverged: tuple[int, ...]
    chosen: bool
    scores: dict[int, float]
    score: Interval


@dataclasses.dataclass(frozen=True)
class Point:
    """One length: the metric of every seed that has it, and their mean with its interval."""

    length: int
    scores: dict[int, float]
    interval: Interval


@dataclasses.dataclass(frozen=True)
class PositionRange:
    """Positions ``first .. last`` of a window, from 0: the perplexity of every seed, and their mean."""

    first: int
    last: int
    scores: dict[int, float]
    interval: Interval

    @property
    def name(self) -> str:
        """``4-7``."""
        return f"{self.first}-{self.last}" if self.last > self.first else str(self.first)


@dataclasses.dataclass(frozen=True)
class CellSummary:
    """One encoding on one task, at its chosen learning rate.

    Attributes:
      info: of the record.
      scores: seed -> mean over the task's ``score_lengths``, for the seeds that have one; score: their mean over seeds.
      not_finite: seed -> the lengths at which its score is not finite, where it counts as missing.
      in_range_scores, in_range: the same over the training lengths.
      difference: to the baseline, paired by seed (a ratio for a logarithmic metric); None for the baseline itself and
        where there is no baseline.
      draws: seed -> which random numbers it drew: equal where these are.
      every_score: of its rows, over training and unseen lengths.
      positions: perplexity by position.
      timing: what it took beside what was planned, or None.
      losses: seed -> step -> loss while training.
      asked: all seeds that the ablation asks for.
      diverged: seed -> step.
      unfinished: seeds without a usable run.
    """

    task_label: str
    label: str
    info: CellInfo
    is_baseline: bool
    learning_rate: float | None
    tried: tuple[Tried, ...]
    asked: tuple[int, ...]
    diverged: dict[int, int]
    unfinished: tuple[int, ...]
    scores: dict[int, float]
    score: Interval
    not_finite: dict[int, tuple[int, ...]]
    in_range_scores: dict[int, float]
    in_range: Interval
    difference: PairedDifference | None
    draws: Mapping[int, int]
    curve: tuple[Point, ...]
    published: tuple[PublishedInfo, ...]
    every_score: EveryScore
    positions: tuple[PositionRange, ...]
    timing: Timing | None
    losses: Mapping[int, Mapping[int, float]]

    def difference_to(
        self, other: CellSummary, ours: Mapping[int, float], theirs: Mapping[int, float], kind: ScoreKind
    ) -> PairedDifference:
        """The difference of our scores to another cell's, over the seeds that drew the same random numbers in both."""
        pairs = alike({seed: ours.get(seed) for seed in self.asked}, self.draws, other.draws)
        return difference_of(pairs, {seed: theirs.get(seed) for seed in other.asked}, kind)


@dataclasses.dataclass(frozen=True)
class TaskSummary:
    """All cells of one task, in the order of the ablation; ``notes`` must stand beside every table of it.

    Attributes:
      slug: its name in files and anchors.
      asks: what it asks, in words.
      kind, validation_kind: of its metric, and of what learning rates are chosen by.
      floors: length -> the score of the best answer that does not look at the input, where it is not ``chance``.
      shortcut, shortcut_score: an answer that reads everything but what is asked, and its mean over ``score_lengths``.
      ranges: of all lengths.
      unseen_lengths, in_range_lengths, mixed_lengths: those that all cells have, by range.
      score_lengths: those that scores average.
      length_unit: what lengths count, for tasks on text.
      length_names: of the lengths that stand for several.
      signatures: score -> how it is computed.
      position_length: the window of `CellSummary.positions`, or None.
    """

    task_label: str
    slug: str
    asks: str
    metric: str
    chance: float | None
    floors: dict[int, float]
    shortcut: str
    shortcut_score: float | None
    train_lengths: tuple[int, int] | None
    unseen_lengths: tuple[int, ...]
    in_range_lengths: tuple[int, ...]
    mixed_lengths: tuple[int, ...]
    ranges: dict[int, Range]
    baseline: str
    cells: tuple[CellSummary, ...]
    notes: tuple[str, ...]
    kind: ScoreKind
    validation_kind: ScoreKind
    writes_text: bool
    length_unit: str
    length_names: dict[int, str]
    signatures: dict[str, str]
    position_length: int | None

    @property
    def score_lengths(self) -> tuple[int, ...]:
        """The unseen lengths; those of training where none is unseen."""
        return self.unseen_lengths or self.in_range_lengths

    @property
    def floor(self) -> float:
        """The mean over `score_lengths` of what the best answer gets that does not look at the input."""
        chance = self.chance or 0.0
        lengths = self.score_lengths if self.floors else ()
        return self.kind.mean(self.floors.get(n, chance) for n in lengths) if lengths else chance

    @property
    def score_name(self) -> str:
        """The lengths over which scores are means, in words."""
        if self.unseen_lengths or not self.in_range_lengths:
            return "unseen lengths"
        return "training lengths" if self.mixed_lengths else "all lengths"

    def length_name(self, length: int) -> str:
        """A length in words."""
        return self.length_names.get(length, str(length))

    def length_words(self, lengths: Iterable[int]) -> str:
        """Several lengths in few words."""
        ordered = sorted(lengths)
        if not any(length in self.length_names for length in ordered):
            return compact(ordered)
        names = [self.length_name(length) for length in ordered]
        return ", ".join(names) if len(names) <= 8 else f"{names[0]} to {names[-1]} ({len(names)} buckets)"


@dataclasses.dataclass(frozen=True)
class Summary:
    """The whole ablation. ``labels``: every encoding once, in order of appearance, which fixes its colour.
    ``commands``: those that computed it, as far as they were written down.
    """

    labels: tuple[str, ...]
    tasks: tuple[TaskSummary, ...]
    skipped: tuple[str, ...]
    provenance: Provenance
    commands: tuple[str, ...]
    info: AblationInfo


def compact(lengths: Iterable[int]) -> str:
    """Lengths in few words: ``9..16``, or ``20, 40, 80``."""
    ordered = sorted(lengths)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}..{ordered[-1]}"
    if len(ordered) > 8:
        return f"{ordered[0]}..{ordered[-1]} ({len(ordered)} lengths)"
    return ", ".join(map(str, ordered))
