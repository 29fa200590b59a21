"""The results of a published table, and the file that keeps them."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from posenc_jax.config import Ablation, config_hash
from posenc_jax.data.score_kinds import ScoreKind, kind_of
from posenc_jax.files.shapes import Json
from posenc_jax.results.averages import seed_means
from posenc_jax.results.record import Record, read_record
from posenc_jax.results.summation import summarise
from posenc_jax.runs.directory import groups_that_count
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.verdict.cells import JudgedCell, environments_of, judged_cell, numbered
from posenc_jax.verdict.question import KeptQuestion

Where = Literal["beyond", "within"] | int | None
"""Of a table's lengths: those never trained, those of training, a single one, or (None) what its scores are means over:
those never trained, and where there are none those of training.
"""


@dataclasses.dataclass(frozen=True)
class Selection:
    """A selection of our scores: a ``table`` of the ablation, a ``metric`` ("": its own) and lengths."""

    table: str
    metric: str = ""
    where: Where = None


@dataclasses.dataclass(frozen=True)
class TaskFacts:
    """Properties of all cells of a table: its own metric, the score of guessing, and the range of each length; floors
    and shortcut as of `posenc_jax.verdict.question.KeptQuestion`.
    """

    metric: str
    chance: float | None
    ranges: Mapping[int, str]
    floors: Mapping[int, float] = dataclasses.field(default_factory=dict)
    shortcut: str = ""
    shortcut_score: float | None = None


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

    def question(self, selection: Selection) -> KeptQuestion:
        """What the scores of a selection answer, with their floors; these are known of a table's own metric only."""
        facts, lengths = self.tasks[selection.table], self.lengths(selection)
        within = self.lengths(Selection(selection.table, where="within"))
        found = KeptQuestion("", "", self.metric(selection), None, within, lengths)
        if self.metric(selection) != facts.metric:
            return found
        found = dataclasses.replace(found, chance=facts.chance, floors=facts.floors)
        if lengths != self.lengths(Selection(selection.table)):
            return found
        return dataclasses.replace(found, shortcut=facts.shortcut, shortcut_score=facts.shortcut_score)

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
        known = dict(task.ranges), task.floors, task.shortcut, task.shortcut_score
        tasks[task.task_label] = TaskFacts(task.metric, task.chance, *known)
        cells += [
            judged_cell(record, cell, metrics)
            for cell in task.cells
            if cell.learning_rate is not None and cell.info["posenc"]
        ]
    code: dict[str, Json] = {}
    for entry in (entry for own in record.info["cells"] for entry in own["code"]):
        kept = {name: entry.get(name) for name in ("version", "commit", "dirty", "source", "own")}
        code.setdefault(str(kept), kept)
    notes = tuple(map(str, summary.provenance.elsewhere))
    return Results(tasks, tuple(cells), tuple(code.values()), _machine(directory, record), notes)


_MACHINE = ("platform", "device_kind", "device_count", "cpu", "threads", "jax", "flax", "python")


def _machine(directory: Path, record: Record) -> Json:
    """The machine of the first group, with ``others`` if groups began or went on elsewhere; empty if unknown."""
    groups = (group for cell in record.info["cells"] for group in groups_that_count(directory / cell["directory"]))
    first, *others = environments_of(groups, _MACHINE) or ({},)
    return first | {"others": others} if others else first


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


def save_results(results: Results, path: Path) -> None:
    """Writes the results as JSON with a checksum."""
    write_json(path, dataclasses.asdict(results))


def read_results(path: Path) -> Results | None:
    """Reads results of `save_results`, or None without a file; DamagedFileError for a damaged one."""
    if not path.exists():
        return None
    data = read_json(path, "restore it, or remove it and run the table again, which writes it anew")
    tasks = {
        name: TaskFacts(**own | {part: numbered(own[part]) for part in ("ranges", "floors")})
        for name, own in data["tasks"].items()
    }
    cells = tuple(JudgedCell(**{name: numbered(value) for name, value in cell.items()}) for cell in data["cells"])
    return Results(tasks, cells, tuple(data["code"]), data["machine"], tuple(data["notes"]))
