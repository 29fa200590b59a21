"""What a report says: per task and cell the score over unseen lengths, its interval and its paired difference.

The score of a seed is the mean of the headline metric over the unseen lengths (over all, if training had them
all), each length counting once. The learning rate of a cell is chosen by in-range validation
(`posenc_jax.statistics.select_learning_rate`), never by these scores.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

from posenc_jax.data.score_kinds import Kind, kind_of
from posenc_jax.report import others
from posenc_jax.report.averages import difference_of, interval_of
from posenc_jax.report.positions import PositionRange, read_positions
from posenc_jax.report.published import Published, published_notes, read_published
from posenc_jax.report.results import Ablation, Run, asked_learning_rates, asked_seeds, of_task
from posenc_jax.statistics import Interval, PairedDifference, mean_interval, select_learning_rate


@dataclasses.dataclass(frozen=True)
class Tried:
    """One learning rate of a cell: mean in-range validation over its seeds, and which of them diverged."""

    learning_rate: float
    validation: Interval
    diverged: tuple[int, ...]
    chosen: bool


@dataclasses.dataclass(frozen=True)
class Point:
    """One length: the metric of every seed that has it, and their mean with its interval."""

    length: int
    in_range: bool
    scores: dict[int, float]
    interval: Interval


@dataclasses.dataclass(frozen=True)
class CellSummary:
    """One encoding on one task, at its chosen learning rate.

    Attributes:
      scores: seed -> mean over the task's ``score_lengths``, for the seeds that have one; score: their mean over seeds.
      in_range_scores, in_range: the same over the training lengths.
      difference: to the baseline, paired by seed (a ratio for a logarithmic metric); None for the baseline itself and
        where there is no baseline.
      others: what else its rows have, over training and unseen lengths. positions: perplexity by position.
      asked: all seeds that the ablation asks for. diverged: seed -> step. unfinished: seeds without a usable run.
    """

    task_label: str
    label: str
    posenc: str
    directory: str
    config_hash: str
    num_parameters: int | None
    num_posenc_parameters: int | None
    citations: tuple[str, ...]
    note: str
    is_baseline: bool
    learning_rate: float | None
    tried: tuple[Tried, ...]
    asked: tuple[int, ...]
    diverged: dict[int, int]
    unfinished: tuple[int, ...]
    scores: dict[int, float]
    score: Interval
    in_range_scores: dict[int, float]
    in_range: Interval
    difference: PairedDifference | None
    curve: tuple[Point, ...]
    published: tuple[Published, ...]
    others: others.Others
    positions: tuple[PositionRange, ...]


@dataclasses.dataclass(frozen=True)
class TaskSummary:
    """All cells of one task, in the order of the ablation; ``notes`` must stand beside every table of it.

    Attributes:
      slug: its name in files and anchors. kind, validation_kind: of its metric, and of what learning rates are chosen
        by.
      unseen_lengths, in_range_lengths: those that all cells have. score_lengths: those that scores average.
      length_unit: what lengths count, for tasks on text. length_names: of the lengths that stand for several.
      signatures: score -> how it is computed. position_length: the window of `CellSummary.positions`, or None.
    """

    task_label: str
    slug: str
    metric: str
    chance: float | None
    train_lengths: tuple[int, int] | None
    unseen_lengths: tuple[int, ...]
    in_range_lengths: tuple[int, ...]
    baseline: str
    cells: tuple[CellSummary, ...]
    notes: tuple[str, ...]
    kind: Kind
    validation_kind: Kind
    writes_text: bool
    length_unit: str
    length_names: dict[int, str]
    signatures: dict[str, str]
    position_length: int | None

    @property
    def score_lengths(self) -> tuple[int, ...]:
        """The unseen lengths; all of them where none is unseen."""
        return self.unseen_lengths or self.in_range_lengths

    @property
    def score_name(self) -> str:
        """What scores are means over."""
        return "unseen lengths" if self.unseen_lengths or not self.in_range_lengths else "all lengths"

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
    """The whole ablation. ``labels``: every encoding once, in order of appearance, which fixes its colour."""

    name: str
    title: str
    description: str
    size_note: str
    labels: tuple[str, ...]
    tasks: tuple[TaskSummary, ...]
    skipped: tuple[str, ...]
    info: dict[str, Any]


def summarise(ablation: Ablation) -> Summary:
    """Scores, intervals, paired differences and what is missing, for every task of the ablation."""
    info = ablation.info
    task_labels = list(dict.fromkeys(cell["task_label"] for cell in info["cells"]))
    return Summary(
        name=info["name"],
        title=info.get("title") or info["name"],
        description=info.get("description") or "",
        size_note=info.get("size_note") or "",
        labels=tuple(dict.fromkeys(cell["label"] for cell in info["cells"])),
        tasks=tuple(_summarise_task(ablation, task, slug) for task, slug in zip(task_labels, _slugs(task_labels))),
        skipped=tuple(ablation.skipped),
        info=info,
    )


def _summarise_task(ablation: Ablation, task_label: str, slug: str) -> TaskSummary:
    info = ablation.info
    metric = info["metric"][task_label]
    cells = [cell for cell in info["cells"] if cell["task_label"] == task_label]
    known: dict[int, bool] = {}
    for cell in cells:
        known |= ablation.lengths[task_label, cell["label"]]
    shared, notes = _shared_lengths(ablation, task_label)
    unseen = tuple(length for length in sorted(shared) if not known[length])
    in_range = tuple(length for length in sorted(shared) if known[length])

    writes_text = of_task(info, "writes_text", task_label, False)
    kind = kind_of(metric, writes_text)
    position_length = max((row["length"] for cell in cells for row in cell.get("by_position") or ()), default=None)
    measured = [_measure(ablation, cell, kind, unseen, in_range, known, position_length) for cell in cells]
    baseline = next((cell for cell in measured if cell.label == info.get("baseline")), None)
    summaries = []
    for cell in measured:
        if baseline is not None and cell is not baseline:
            ours = {seed: cell.scores.get(seed) for seed in cell.asked}
            theirs = {seed: baseline.scores.get(seed) for seed in baseline.asked}
            cell = dataclasses.replace(cell, difference=difference_of(ours, theirs, kind))
        summaries.append(dataclasses.replace(cell, is_baseline=cell.label == info.get("baseline")))

    notes += [note for cell in summaries for note in _cell_notes(cell)]
    if baseline is not None and not baseline.scores:
        notes.append(f"The baseline {baseline.label} has no finished seed: there are no differences to it.")
    notes += published_notes(info, task_label, [cell["label"] for cell in cells])
    settings = ablation.settings.get(task_label, [])
    if len(settings) > 1:
        listed = "; ".join(f"mode {m}, group of {g}, {d}, {t} threads" for m, g, d, t in settings)
        notes.append(f"The rows come from several settings, between which results differ by rounding: {listed}.")
    if note := of_task(info, "task_notes", task_label, ""):
        notes.append(note)
    chance = of_task(info, "chance", task_label, None)
    trained = of_task(info, "train_lengths", task_label, None)
    chosen_by = of_task(info, "validation_metric", task_label, metric)
    length_names = of_task(info, "length_names", task_label, {})
    return TaskSummary(
        task_label=task_label,
        slug=slug,
        metric=metric,
        chance=chance,
        train_lengths=(min(trained), max(trained)) if trained else None,
        unseen_lengths=unseen,
        in_range_lengths=in_range,
        baseline=baseline.label if baseline is not None else "",
        cells=tuple(summaries),
        notes=tuple(notes),
        kind=kind,
        validation_kind=kind_of(chosen_by, writes_text),
        writes_text=writes_text,
        length_unit=of_task(info, "length_unit", task_label, ""),
        length_names={int(length): name for length, name in length_names.items()},
        signatures=of_task(info, "signatures", task_label, {}),
        position_length=position_length,
    )


def _shared_lengths(ablation: Ablation, task_label: str) -> tuple[set[int], list[str]]:
    """The lengths that all cells with results have: scores over different lengths would not be comparable."""
    per_cell = {
        cell[1]: set(ablation.lengths[cell])
        for cell, runs in ablation.runs.items()
        if cell[0] == task_label and any(run.scores for run in runs)
    }
    if not per_cell:
        return set(), []
    shared = set.intersection(*per_cell.values())
    notes = [
        f"{label} was also measured at lengths {compact(lengths - shared)}; scores use the lengths that all cells have."
        for label, lengths in per_cell.items()
        if lengths != shared
    ]
    return shared, notes


def _measure(
    ablation: Ablation,
    cell: dict,
    kind: Kind,
    unseen: tuple[int, ...],
    in_range: tuple[int, ...],
    known: dict[int, bool],
    position_length: int | None,
) -> CellSummary:
    runs = ablation.runs[cell["task_label"], cell["label"]]
    asked = asked_seeds(ablation.info, cell)
    rates = sorted(set(asked_learning_rates(ablation.info, cell)) | {run.learning_rate for run in runs})
    chosen = _choose(runs, rates, asked)
    at_chosen = {run.seed: run for run in runs if run.learning_rate == chosen}
    finished = {seed: run for seed, run in sorted(at_chosen.items()) if run.diverged_at is None}
    scores, trained = (
        {seed: kind.mean(run.scores[length] for length in lengths) for seed, run in finished.items()} if lengths else {}
        for lengths in (unseen or in_range, in_range)
    )
    curve = []
    for length in sorted(ablation.lengths[cell["task_label"], cell["label"]]):
        values = {seed: run.scores[length] for seed, run in finished.items()}
        if values:
            interval = interval_of((values.get(seed) for seed in asked), kind)
            curve.append(Point(length, known[length], values, interval))
    return CellSummary(
        task_label=cell["task_label"],
        label=cell["label"],
        posenc=cell.get("posenc") or "",
        directory=cell.get("directory") or "",
        config_hash=cell["config_hash"],
        num_parameters=cell.get("num_parameters"),
        num_posenc_parameters=cell.get("num_posenc_parameters"),
        citations=tuple(cell.get("citations") or ()),
        note=cell.get("note") or "",
        is_baseline=False,
        learning_rate=chosen,
        tried=tuple(_tried(runs, rate, asked, rate == chosen) for rate in rates),
        asked=asked,
        diverged={seed: run.diverged_at for seed, run in sorted(at_chosen.items()) if run.diverged_at is not None},
        unfinished=tuple(seed for seed in asked if seed not in at_chosen),
        scores=scores,
        score=interval_of((scores.get(seed) for seed in asked), kind),
        in_range_scores=trained,
        in_range=interval_of((trained.get(seed) for seed in asked), kind),
        difference=None,
        curve=tuple(curve),
        published=read_published(ablation.info, cell["task_label"], cell["label"]),
        others=others.summarise({seed: run.others for seed, run in finished.items()}, asked, in_range, unseen),
        positions=read_positions(cell, chosen, position_length, asked, set(finished)),
    )


def _choose(runs: list[Run], rates: list[float], asked: tuple[int, ...]) -> float | None:
    """The learning rate that is reported; a single one needs no validation score."""
    if len(rates) == 1:
        return rates[0]
    validation: dict[float, dict[int, float | None]] = {rate: dict.fromkeys(asked) for rate in rates}
    for run in runs:
        validation[run.learning_rate][run.seed] = run.validation
    chosen = select_learning_rate(validation)
    if chosen is None and runs:  # nothing to choose by: the rate with the most finished seeds, then the smallest
        finished = {rate: sum(bool(run.scores) for run in runs if run.learning_rate == rate) for rate in rates}
        return min(rates, key=lambda rate: (-finished[rate], rate))
    return chosen


def _tried(runs: list[Run], rate: float, asked: tuple[int, ...], chosen: bool) -> Tried:
    here = {run.seed: run for run in runs if run.learning_rate == rate}
    validation = mean_interval(here[seed].validation if seed in here else None for seed in asked)
    diverged = tuple(seed for seed, run in sorted(here.items()) if run.diverged_at is not None)
    return Tried(rate, validation, diverged, chosen)


def _cell_notes(cell: CellSummary) -> list[str]:
    """What a reader must know of a cell: missing seeds, a rate that lost by the rule, the config's note."""
    notes = []
    n, asked = len(cell.asked) - len(cell.diverged) - len(cell.unfinished), len(cell.asked)
    if n < asked:
        why = [f"seed {seed} diverged at step {step}" for seed, step in cell.diverged.items()]
        if cell.unfinished:
            word = "seed" if len(cell.unfinished) == 1 else "seeds"
            why.append(f"{word} {', '.join(map(str, cell.unfinished))} not finished")
        notes.append(f"{cell.label}: {n} of {asked} seeds ({'; '.join(why)}); means are over the others.")
        if n == 0:
            notes[-1] = f"{cell.label}: no result, 0 of {asked} seeds ({'; '.join(why)})."
    chosen = next((tried for tried in cell.tried if tried.chosen), None)
    if len(cell.tried) > 1 and n > 0 and (chosen is None or chosen.validation.mean is None):
        notes.append(
            f"{cell.label}: no validation scores to choose a learning rate by; shown is {cell.learning_rate:g}."
        )
    unchosen = [tried for tried in cell.tried if not tried.chosen]
    open_rates = [f"{t.learning_rate:g}" for t in unchosen if t.validation.n + len(t.diverged) < asked]
    if open_rates and chosen is not None and chosen.validation.mean is not None:
        notes.append(f"{cell.label}: learning rate {', '.join(open_rates)} not finished; the choice may change.")
    for tried in cell.tried:
        if chosen is None or tried.validation.mean is None or chosen.validation.mean is None:
            continue
        if tried.validation.mean > chosen.validation.mean:
            notes.append(
                f"{cell.label}: learning rate {tried.learning_rate:g} has the higher validation mean, but for only "
                f"{tried.validation.n} of {asked} seeds; shown is {chosen.learning_rate:g}, with {chosen.validation.n}."
            )
    if cell.note:
        notes.append(f"{cell.label}: {cell.note}")
    return notes


def compact(lengths: Iterable[int]) -> str:
    """Lengths in few words: ``9..16``, or ``20, 40, 80``."""
    ordered = sorted(lengths)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}..{ordered[-1]}"
    if len(ordered) > 8:
        return f"{ordered[0]}..{ordered[-1]} ({len(ordered)} lengths)"
    return ", ".join(map(str, ordered))


def _slugs(names: list[str]) -> list[str]:
    """Lower-case letters, digits and hyphens, each different."""
    slugs: list[str] = []
    for name in names:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"
        slugs.append(slug if slug not in slugs else f"{slug}-{len(slugs) + 1}")
    return slugs
