"""Scores of the cells of a table, and the file that keeps those of a published table."""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from posenc_jax.config import Ablation, config_hash
from posenc_jax.data.score_kinds import ScoreKind, kind_of
from posenc_jax.files.shapes import Json, problem
from posenc_jax.results.averages import seed_means
from posenc_jax.results.record import Record, ReplicaScores, read_record
from posenc_jax.results.summary import CellSummary
from posenc_jax.results.summation import draws_of, summarise
from posenc_jax.runs.directory import groups_that_count
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.identity import read_environments
from posenc_jax.statistics import select_by_seed
from posenc_jax.verdict.published import Selection

Scores = Mapping[str, Mapping[int, Mapping[int, float]]]  # metric -> length -> seed -> score


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgedCell:
    """One encoding on one table, every seed at the learning rate of its own validation.

    Attributes:
      spec: the encoding.
      config: digest of its config, seeds and learning rates apart.
      seeds: those asked for; one without scores diverged or has not finished.
      learning_rates: seed -> the one chosen for it (`posenc_jax.statistics.select_by_seed`), of those seeds that some
        rate trained.
      tried: learning rate -> seed -> validation score, None where it diverged; without the seeds whose score was not
        kept.
      diverged: the seeds that did at every learning rate.
      by_metric: scores of the seeds, each at its rate; those that are not finite are left out.
      seconds: that all its runs took, in a verdict with compiling; None where its groups do not say, or what they said
        is damaged.
      draws: seed -> which random numbers it drew, as `posenc_jax.results.summary.CellSummary`; empty where all of the
        table drew the same.
    """

    table: str
    label: str
    spec: str
    config: str
    seeds: tuple[int, ...]
    learning_rates: Mapping[int, float]
    tried: Mapping[float, Mapping[int, float | None]]
    diverged: tuple[int, ...]
    by_metric: Scores
    num_parameters: int
    num_posenc_parameters: int
    seconds: float | None
    draws: Mapping[int, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        replicas: Iterable[ReplicaScores],
        *,
        seeds: tuple[int, ...],
        rates: tuple[float, ...],
        metrics: Iterable[str],
        **others: Any,
    ) -> Self:
        """The cell of such replicas, of which those of other seeds and rates are passed over; ``others``: fields that
        they do not tell.
        """
        own = [replica for replica in replicas if replica.seed in seeds and replica.learning_rate in rates]
        tried: dict[float, dict[int, float | None]] = {rate: {} for rate in rates}
        for replica in own:
            tried[replica.learning_rate][replica.seed] = replica.validation
        chosen = select_by_seed(tried)
        if len(rates) == 1:  # no validation is needed
            chosen = {replica.seed: replica.learning_rate for replica in own if replica.diverged_at is None}
        chosen = {seed: chosen[seed] for seed in seeds if seed in chosen}
        by_metric: dict[str, dict[int, dict[int, float]]] = {metric: {} for metric in metrics}
        for replica in own:
            for metric, by_length in by_metric.items():
                if chosen.get(replica.seed) == replica.learning_rate:
                    for length, score in replica.every_score.get(metric, {}).items():
                        by_length.setdefault(length, {})[replica.seed] = score
        frozen = {replica.seed for replica in own if replica.diverged_at is not None}
        return cls(
            seeds=seeds,
            learning_rates=chosen,
            tried=tried,
            diverged=tuple(seed for seed in seeds if seed in frozen and seed not in chosen),
            by_metric=by_metric,
            **others,
        )


@dataclasses.dataclass(frozen=True)
class TaskFacts:
    """Properties of all cells of a table: its own metric, the score of guessing, and the range of each length."""

    metric: str
    chance: float | None
    ranges: Mapping[int, str]


@dataclasses.dataclass(frozen=True)
class Results:
    """The results of a table. ``code``: every code that computed a part of them; ``machine``: that of the first
    group, in ``others`` of it those of groups that ran elsewhere; empty where nobody knows. ``notes``: what was
    computed in another environment than the rest, in words.
    """

    tasks: Mapping[str, TaskFacts]
    cells: tuple[JudgedCell, ...]
    code: tuple[Json, ...]
    machine: Json
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds of all runs, without compiling, as far as they are known."""
        return sum(cell.seconds or 0.0 for cell in self.cells)

    @property
    def untimed(self) -> tuple[str, ...]:
        """The cells whose seconds are unknown."""
        return tuple(f"{cell.table} {cell.label}" for cell in self.cells if cell.seconds is None)

    def cell(self, table: str, label: str) -> JudgedCell | None:
        """A cell by its names, or None where it has not been run."""
        return next((cell for cell in self.cells if (cell.table, cell.label) == (table, label)), None)

    def kind(self, selection: Selection) -> ScoreKind:
        """The kind of the scores of a selection."""
        return kind_of(self.metric(selection))

    def metric(self, selection: Selection) -> str:
        """The name of the scores of a selection."""
        return selection.metric or self.tasks[selection.table].metric

    def lengths(self, selection: Selection) -> tuple[int, ...]:
        """Lengths over which the scores of a selection are means; none if it was not measured."""
        task = self.tasks.get(selection.table)
        if task is None:
            return ()
        if isinstance(selection.where, int):
            return (selection.where,) if selection.where in task.ranges else ()
        found = tuple(n for n, own in task.ranges.items() if own == (selection.where or "beyond"))
        return found or (() if selection.where else tuple(n for n, own in task.ranges.items() if own == "within"))

    def scores(self, selection: Selection, label: str) -> dict[int, float]:
        """Seed -> mean over the lengths of a selection, of the seeds that have them all."""
        cell = self.cell(selection.table, label)
        if cell is None:
            return {}
        return seed_means(cell.by_metric.get(self.metric(selection), {}), self.lengths(selection), self.kind(selection))


def collect(directory: Path, selections: Iterable[Selection]) -> Results:
    """The results in an ablation's directory, of every table's own metric and of those that ``selections`` name.

    Raises:
      ValueError: there are none, or they are damaged.
    """
    record = read_record(directory)
    summary = summarise(record)
    asked = {(selection.table, selection.metric) for selection in selections if selection.metric}
    tasks, cells = {}, []
    for task in summary.tasks:
        metrics = (task.metric, *sorted(metric for table, metric in asked if table == task.task_label))
        tasks[task.task_label] = TaskFacts(task.metric, task.chance, dict(task.ranges))
        cells += [
            judged_cell(record, cell, metrics) for cell in task.cells if cell.learning_rate is not None and cell.posenc
        ]
    code: dict[str, Json] = {}
    for entry in (entry for own in record.info["cells"] for entry in own["code"]):
        kept = {name: entry.get(name) for name in ("version", "commit", "dirty", "source", "own")}
        code.setdefault(str(kept), kept)
    notes = tuple(map(str, summary.provenance.elsewhere))
    return Results(tasks, tuple(cells), tuple(code.values()), _machine(directory, record), notes)


def judged_cell(record: Record, cell: CellSummary, metrics: tuple[str, ...]) -> JudgedCell:
    """A cell of a record, with its scores by these metrics."""
    name = cell.task_label, cell.label
    info = next(own for own in record.info["cells"] if (own["task_label"], own["label"]) == name)
    found = JudgedCell.of(
        record.replicas[name],
        seeds=cell.asked,
        rates=tuple(tried.learning_rate for tried in cell.tried),
        metrics=metrics,
        table=cell.task_label,
        label=cell.label,
        spec=cell.posenc,
        config=cell.config_hash,
        num_parameters=cell.num_parameters or 0,
        num_posenc_parameters=cell.num_posenc_parameters or 0,
        seconds=cell.timing and round(sum(phase.seconds for phase in cell.timing.measured.values()), 1),
    )
    drawn = {
        replica.seed: draws_of(record, info, replica.environment)
        for replica in record.replicas[name]
        if found.learning_rates.get(replica.seed) == replica.learning_rate
    }
    return dataclasses.replace(found, by_metric=_rounded(found.by_metric), draws=drawn if any(drawn.values()) else {})


def _rounded(by_metric: Scores) -> Scores:
    """Scores rounded to six digits, as files keep them."""
    return {
        metric: {n: {seed: float(f"{score:.6g}") for seed, score in own.items()} for n, own in by_length.items()}
        for metric, by_length in by_metric.items()
    }


_MACHINE = ("platform", "device_kind", "device_count", "cpu", "threads", "jax", "flax", "python")


def _machine(directory: Path, record: Record) -> Json:
    """The machine of the first group, with ``others`` if groups began or went on elsewhere; empty if unknown."""
    groups = (group for cell in record.info["cells"] for group in groups_that_count(directory / cell["directory"]))
    first, *others = environments_of(groups, _MACHINE) or ({},)
    return first | {"others": others} if others else first


def environments_of(groups: Iterable[Path], names: tuple[str, ...]) -> tuple[Json, ...]:
    """Environments in which groups began and went on, reduced to these names, each once, in order."""
    records = map(read_environments, groups)
    parts = (part for record in records for part in (record["began"], *record["resumed"]) if part)
    return distinct({name: part.get(name) for name in names} for part in parts)


def distinct(environments: Iterable[Json]) -> tuple[Json, ...]:
    """The different environments, in order."""
    return tuple({json.dumps(own, sort_keys=True): own for own in environments}.values())


def device(environment: Json) -> str:
    """Its devices, in words."""
    kind = environment["cpu"] if environment["platform"] == "cpu" else environment["device_kind"]
    return f"{environment['device_count']} x {kind}"


def state(results: Results, config: Ablation) -> str:
    """Progress of a table, in words: cells whose results are of other settings, or how many of the runs of its config
    have a result; a seed that diverged has been run.
    """
    done, changed, asked = 0, [], sum(len(run.seeds) for run in config.runs)
    for run in config.runs:
        cell = results.cell(run.table, run.label)
        if cell is None:
            continue
        if cell.config != config_hash(run) or set(cell.tried) != set(run.learning_rates):
            changed.append(f"{run.table} {run.label}")
            continue
        with_examples = [n for n in run.evaluation.lengths if n in results.tasks[run.table].ranges]
        length = (with_examples or run.evaluation.lengths)[-1]
        finished = {seed for found in cell.by_metric.values() for seed in found.get(length, ())} | set(cell.diverged)
        done += len(finished & set(run.seeds))
    if changed:
        return f"of other settings: {', '.join(changed)}"
    return "done" if done == asked else f"partial, {done} of {asked} runs"


_CELL = {
    **dict.fromkeys(("table", "label", "spec", "config"), str),
    **dict.fromkeys(("num_parameters", "num_posenc_parameters"), int),
    "seeds": [int],
    "diverged": [int],
    "seconds?": float,
    "learning_rates": {str: float},
    "tried": {str: {}},
    "by_metric": {str: {str: {str: float}}},
    "draws": {str: int},
}
_RESULTS = {
    "tasks": {str: {"metric": str, "chance?": float, "ranges": {str: str}}},
    "cells": [_CELL],
    "code": [{}],
    "machine": {},
    "notes": [str],
}


def save_results(results: Results, path: Path) -> None:
    """Writes the results as JSON with a checksum."""
    write_json(path, dataclasses.asdict(results))


def read_results(path: Path) -> Results | None:
    """Reads results of `save_results`, or None without a file; DamagedFileError or ValueError for a wrong file."""
    if not path.exists():
        return None
    data = read_json(path, "restore it, or remove it and run the table again, which writes it anew")
    if wrong := problem(data, _RESULTS, strict=True):
        raise ValueError(f"{path} holds no results of a table ({wrong}): remove it and run the table again")
    tasks = {name: TaskFacts(**own | {"ranges": numbered(own["ranges"])}) for name, own in data["tasks"].items()}
    cells = tuple(JudgedCell(**{name: numbered(value) for name, value in cell.items()}) for cell in data["cells"])
    return Results(tasks, cells, tuple(data["code"]), data["machine"], tuple(data["notes"]))


def numbered(value: Any) -> Any:
    """A value of JSON as it was written: names that are numbers are numbers again, and lists tuples."""
    if isinstance(value, dict):
        return {_number(name): numbered(member) for name, member in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _number(name: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(name)
    return name
