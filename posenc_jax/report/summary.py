"""What a report says: per task and cell the score over unseen lengths, its interval and its paired difference.

The score of a seed is the mean of the headline metric over the unseen lengths, each length counting once. The learning
rate of a cell is chosen by in-range validation (`posenc_jax.statistics.select_learning_rate`), never by these scores.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from typing import Any

from posenc_jax.report.results import Ablation, Run, asked_learning_rates, asked_seeds
from posenc_jax.statistics import Interval, PairedDifference, mean_interval, paired_difference, select_learning_rate


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
class Published:
    """A published result: a verified value, or only a direction in words."""

    value: float | None
    direction: str
    metric: str
    lengths: str
    source: str


@dataclasses.dataclass(frozen=True)
class CellSummary:
    """One encoding on one task, at its chosen learning rate.

    Attributes:
      scores: seed -> mean over the unseen lengths, for the seeds that have one; unseen: their mean over seeds.
      in_range_scores, in_range: the same over the training lengths.
      difference: to the baseline, paired by seed; None for the baseline itself and where there is no baseline.
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
    unseen: Interval
    in_range_scores: dict[int, float]
    in_range: Interval
    difference: PairedDifference | None
    curve: tuple[Point, ...]
    published: tuple[Published, ...]


@dataclasses.dataclass(frozen=True)
class TaskSummary:
    """All cells of one task, in the order of the ablation; ``notes`` must stand beside every table of it.

    ``slug``: its name in files and anchors; ``unseen_lengths``, ``in_range_lengths``: those that scores average.
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

    measured = [_measure(ablation, cell, unseen, in_range, known) for cell in cells]
    baseline = next((cell for cell in measured if cell.label == info.get("baseline")), None)
    summaries = []
    for cell in measured:
        if baseline is not None and cell is not baseline:
            ours = {seed: cell.scores.get(seed) for seed in cell.asked}
            theirs = {seed: baseline.scores.get(seed) for seed in baseline.asked}
            cell = dataclasses.replace(cell, difference=paired_difference(ours, theirs))
        summaries.append(dataclasses.replace(cell, is_baseline=cell.label == info.get("baseline")))

    notes += [note for cell in summaries for note in _cell_notes(cell)]
    if baseline is not None and not baseline.scores:
        notes.append(f"The baseline {baseline.label} has no finished seed: there are no differences to it.")
    notes += _published_notes(info, task_label, [cell["label"] for cell in cells])
    settings = ablation.settings.get(task_label, [])
    if len(settings) > 1:
        listed = "; ".join(f"mode {m}, group of {g}, {d}, {t} threads" for m, g, d, t in settings)
        notes.append(f"The rows come from several settings, between which results differ by rounding: {listed}.")
    chance = (info.get("chance") or {}).get(task_label)
    trained = (info.get("train_lengths") or {}).get(task_label)
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
    ablation: Ablation, cell: dict, unseen: Iterable[int], in_range: Iterable[int], known: dict[int, bool]
) -> CellSummary:
    runs = ablation.runs[cell["task_label"], cell["label"]]
    asked = asked_seeds(ablation.info, cell)
    rates = sorted(set(asked_learning_rates(ablation.info, cell)) | {run.learning_rate for run in runs})
    chosen = _choose(runs, rates, asked)
    at_chosen = {run.seed: run for run in runs if run.learning_rate == chosen}
    finished = {seed: run for seed, run in sorted(at_chosen.items()) if run.diverged_at is None}
    scores = {}
    if unseen:
        scores = {seed: _mean(run.scores[length] for length in unseen) for seed, run in finished.items()}
    trained = {}
    if in_range:
        trained = {seed: _mean(run.scores[length] for length in in_range) for seed, run in finished.items()}
    curve = []
    for length in sorted(ablation.lengths[cell["task_label"], cell["label"]]):
        values = {seed: run.scores[length] for seed, run in finished.items()}
        if values:
            interval = mean_interval(values.get(seed) for seed in asked)
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
        unseen=mean_interval(scores.get(seed) for seed in asked),
        in_range_scores=trained,
        in_range=mean_interval(trained.get(seed) for seed in asked),
        difference=None,
        curve=tuple(curve),
        published=_published(ablation.info, cell["task_label"], cell["label"]),
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


def _published(info: dict, task_label: str, label: str) -> tuple[Published, ...]:
    return tuple(
        Published(row.get("value"), *(row.get(field) or "" for field in ("direction", "metric", "lengths", "source")))
        for row in info.get("published") or ()
        if (row["task_label"], row["label"]) == (task_label, label)
        and (row.get("value") is not None or row.get("direction"))
    )


def _published_notes(info: dict, task_label: str, labels: list[str]) -> list[str]:
    """Where the published column comes from, each source once."""
    notes = []
    sources: dict[str, list[str]] = {}
    for label in labels:
        for row in _published(info, task_label, label):
            sources.setdefault(" ".join(filter(None, (row.source, row.metric and f"({row.metric})"))), []).append(label)
    for source, cited in sources.items():
        whose = "" if len(sources) == 1 else f" for {', '.join(dict.fromkeys(cited))}"
        notes.append(f"Published{whose}: {source}.")
    if any(row.value is None for label in labels for row in _published(info, task_label, label)):
        notes.append("Where the published column has words, only the direction is verified, not a number.")
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


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return math.fsum(values) / len(values)
