"""What our runs of a table scored, as one small file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from posenc_jax.config import Ablation, config_hash
from posenc_jax.data.score_kinds import Kind, kind_of
from posenc_jax.results.record import Record, read_record
from posenc_jax.results.summary import CellSummary
from posenc_jax.results.summation import summarise
from posenc_jax.runs.beginnings import read_environments
from posenc_jax.runs.directory import groups_that_count
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.shapes import Json, problem
from posenc_jax.verdict.published import Place

Scores = Mapping[str, Mapping[int, Mapping[int, float]]]  # metric -> length -> seed -> score


@dataclasses.dataclass(frozen=True)
class Cell:
    """One encoding on one task, at its learning rate.

    Attributes:
      config: digest of its config, seeds and learning rates apart. seeds: those asked for; one without scores diverged
        or has not finished.
      learning_rate: the one that validation in range chose. learning_rates: all that were tried.
      seconds: that all its runs took, compiling apart; None where its groups do not say, or what they said is damaged.
      draws: seed -> which random numbers it drew, as `posenc_jax.results.summary.CellSummary`; empty where all of the
        table drew the same.
    """

    table: str
    label: str
    encoding: str
    config: str
    learning_rate: float
    learning_rates: tuple[float, ...]
    seeds: tuple[int, ...]
    diverged: tuple[int, ...]
    num_parameters: int
    num_posenc_parameters: int
    seconds: float | None
    scores: Scores
    draws: Mapping[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Task:
    """What holds for all cells of a table: its own metric, the score of guessing, and where each length lies."""

    metric: str
    chance: float | None
    ranges: Mapping[int, str]


@dataclasses.dataclass(frozen=True)
class Ours:
    """The results of a table. ``code``: every code that computed a part of them; ``machine``: that of the first
    group, in ``others`` of it those of groups that ran elsewhere; empty where nobody knows. ``notes``: what was
    computed in another environment than the rest, in words.
    """

    tasks: Mapping[str, Task]
    cells: tuple[Cell, ...]
    code: tuple[Json, ...]
    machine: Json
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Of all runs, compiling apart, as far as it is known."""
        return sum(cell.seconds or 0.0 for cell in self.cells)

    @property
    def untimed(self) -> tuple[str, ...]:
        """The cells of which it is not."""
        return tuple(f"{cell.table} {cell.label}" for cell in self.cells if cell.seconds is None)

    def cell(self, table: str, label: str) -> Cell | None:
        """A cell by its names, or None where it has not been run."""
        return next((cell for cell in self.cells if (cell.table, cell.label) == (table, label)), None)

    def kind(self, place: Place) -> Kind:
        """What the scores of a place are."""
        return kind_of(self.metric(place))

    def metric(self, place: Place) -> str:
        """The name of the scores of a place."""
        return place.metric or self.tasks[place.table].metric

    def lengths(self, place: Place) -> tuple[int, ...]:
        """Those that the scores of a place are means over; none where it was not measured."""
        task = self.tasks.get(place.table)
        if task is None:
            return ()
        if isinstance(place.where, int):
            return (place.where,) if place.where in task.ranges else ()
        found = tuple(n for n, own in task.ranges.items() if own == (place.where or "beyond"))
        return found or (() if place.where else tuple(n for n, own in task.ranges.items() if own == "within"))

    def scores(self, place: Place, label: str) -> dict[int, float]:
        """Seed -> mean over the lengths of a place, of the seeds that have them all."""
        cell, lengths = self.cell(place.table, label), self.lengths(place)
        if cell is None or not lengths:
            return {}
        of_length = cell.scores.get(self.metric(place), {})
        if any(length not in of_length for length in lengths):
            return {}
        seeds = set.intersection(*(set(of_length[length]) for length in lengths))
        kind = self.kind(place)
        return {seed: kind.mean(of_length[length][seed] for length in lengths) for seed in sorted(seeds)}


def collect(directory: Path, places: Iterable[Place]) -> Ours:
    """The results in an ablation's directory, of every table's own metric and of those that ``places`` name.

    ValueError: there are none, or they are damaged.
    """
    record = read_record(directory)
    summary = summarise(record)
    asked = {(place.table, place.metric) for place in places if place.metric}
    tasks, cells = {}, []
    for task in summary.tasks:
        metrics = (task.metric, *sorted(metric for table, metric in asked if table == task.task_label))
        tasks[task.task_label] = Task(task.metric, task.chance, dict(task.ranges))
        cells += [_cell(record, cell, metrics) for cell in task.cells if cell.learning_rate is not None and cell.posenc]
    code: dict[str, Json] = {}
    for entry in (entry for own in record.info["cells"] for entry in own.get("code") or ()):
        kept = {name: entry.get(name) for name in ("version", "commit", "dirty", "source", "own")}
        code.setdefault(str(kept), kept)
    notes = tuple(map(str, summary.provenance.elsewhere))
    return Ours(tasks, tuple(cells), tuple(code.values()), _machine(directory, record), notes)


def _cell(record: Record, cell: CellSummary, metrics: tuple[str, ...]) -> Cell:
    replicas = [
        replica
        for replica in record.replicas[cell.task_label, cell.label]
        if replica.learning_rate == cell.learning_rate and replica.finished
    ]
    scores: dict[str, dict[int, dict[int, float]]] = {}
    for metric in metrics:
        for replica in replicas:
            for length, score in replica.every_score.get(metric, {}).items():
                scores.setdefault(metric, {}).setdefault(length, {})[replica.seed] = float(f"{score:.6g}")
    seconds = None
    if cell.timing is not None:
        seconds = round(sum(phase.seconds for phase in cell.timing.measured.values()), 1)
    assert cell.learning_rate is not None
    return Cell(
        table=cell.task_label,
        label=cell.label,
        encoding=cell.posenc,
        config=cell.config_hash,
        learning_rate=cell.learning_rate,
        learning_rates=tuple(tried.learning_rate for tried in cell.tried),
        seeds=cell.asked,
        diverged=tuple(cell.diverged),
        num_parameters=cell.num_parameters or 0,
        num_posenc_parameters=cell.num_posenc_parameters or 0,
        seconds=seconds,
        scores=scores,
        draws=cell.draws if any(cell.draws.values()) else {},
    )


_MACHINE = ("platform", "device_kind", "device_count", "cpu", "threads", "jax", "flax", "python")


def _machine(directory: Path, record: Record) -> Json:
    """That of the first group, with ``others`` where groups began or went on elsewhere; empty where nobody knows."""
    groups = (group for cell in record.info["cells"] for group in groups_that_count(directory / cell["directory"]))
    records = (read_environments(group) for group in groups)
    parts = [part for own in records for part in (own["began"], *own["resumed"]) if part]
    first, *others = dict.fromkeys(tuple(part.get(name) for name in _MACHINE) for part in parts) or [()]
    found: Json = dict(zip(_MACHINE, first, strict=False))
    return found | {"others": [dict(zip(_MACHINE, other, strict=True)) for other in others]} if others else found


@dataclasses.dataclass(frozen=True)
class State:
    """How far a table is: replicas with a result of those that its config asks for, and cells whose results are of
    other settings.
    """

    done: int
    asked: int
    changed: tuple[str, ...]

    @property
    def word(self) -> str:
        """In words."""
        if self.changed:
            return f"of other settings: {', '.join(self.changed)}"
        if not self.done:
            return "no results"
        return "done" if self.done == self.asked else f"partial, {self.done} of {self.asked} runs"


def state(ours: Ours | None, config: Ablation) -> State:
    """How far the results are; a seed that diverged has been run."""
    done, changed = 0, []
    for run in config.runs:
        cell = ours.cell(run.table, run.label) if ours is not None else None
        if ours is None or cell is None:
            continue
        if cell.config != config_hash(run) or set(cell.learning_rates) != set(run.learning_rates):
            changed.append(f"{run.table} {run.label}")
            continue
        with_examples = [n for n in run.evaluation.lengths if n in ours.tasks[run.table].ranges]
        length = (with_examples or run.evaluation.lengths)[-1]
        finished = {seed for found in cell.scores.values() for seed in found.get(length, ())} | set(cell.diverged)
        done += len(finished & set(run.seeds))
    return State(done, sum(len(run.seeds) for run in config.runs), tuple(changed))


_CELL = {
    **dict.fromkeys(("table", "label", "encoding", "config"), str),
    **dict.fromkeys(("learning_rate", "seconds?"), float),
    **dict.fromkeys(("num_parameters", "num_posenc_parameters"), int),
    "learning_rates": [float],
    "seeds": [int],
    "diverged": [int],
    "scores": {str: {str: {str: float}}},
    "draws?": {str: int},
}
_RESULTS = {
    "tasks": {str: {"metric": str, "chance?": float, "ranges": {str: str}}},
    "cells": [_CELL],
    "code": [{}],
    "machine": {},
    "notes?": [str],
}


def write_ours(ours: Ours, path: Path) -> None:
    """As JSON with a checksum."""
    write_json(path, dataclasses.asdict(ours))


def read_ours(path: Path) -> Ours | None:
    """What `write_ours` wrote, or None where there is nothing; DamagedFileError or ValueError where it is not that."""
    if not path.exists():
        return None
    data = read_json(
        path, sealed=True, way_out="restore it, or remove it and run the table again, which writes it anew"
    )
    if wrong := problem(data, _RESULTS):
        raise ValueError(f"{path} holds no results of a table ({wrong}): remove it and run the table again")
    tasks = {
        name: Task(own["metric"], own["chance"], {int(n): where for n, where in own["ranges"].items()})
        for name, own in data["tasks"].items()
    }
    notes = tuple(data.get("notes") or ())
    return Ours(tasks, tuple(map(_read_cell, data["cells"])), tuple(data["code"]), data["machine"], notes)


def _read_cell(data: Json) -> Cell:
    scores = {
        metric: {int(n): {int(seed): score for seed, score in own.items()} for n, own in by_length.items()}
        for metric, by_length in data["scores"].items()
    }
    found: Json = {name: tuple(data[name]) for name in ("learning_rates", "seeds", "diverged")}
    found |= {"scores": scores, "draws": {int(seed): drawn for seed, drawn in (data.get("draws") or {}).items()}}
    given: Json = {field.name: data.get(field.name) for field in dataclasses.fields(Cell)}
    return Cell(**given | found)
