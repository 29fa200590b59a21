"""Sweeps: ablations whose cells differ in numbers of the model, the encoding, the task or the training."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.files.fields import SLOTS, training_fields, value_text
from posenc_jax.results.summary import CellSummary, Summary, TaskSummary, Tried
from posenc_jax.statistics import select_learning_rate

RATE = "learning_rate"
# Of fields that change together the first of these gives its name, then the first in the alphabet.
_FIRST = ("model.d_model", "model.num_layers", "model.num_heads", "task.max_length", "training.steps")


@dataclasses.dataclass(frozen=True)
class SweptField:
    """A field of the config that changes. along: fields that it determines, which change with it."""

    name: str
    along: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SweepPoint:
    """A cell at one learning rate, and the values of the swept fields that it has."""

    values: Mapping[str, float]
    cell: CellSummary
    tried: Tried


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Cells that differ in numbers.

    Attributes:
      tasks: of the cells, of one kind of score.
      fields: those that change independently.
      arms: a name -> its points; an arm has encodings of the same names, and is otherwise alike but for ``fields``.
    """

    tasks: tuple[TaskSummary, ...]
    fields: tuple[SweptField, ...]
    arms: Mapping[str, tuple[SweepPoint, ...]]

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of its tasks."""
        return tuple(task.task_label for task in self.tasks)

    @property
    def kind(self) -> ScoreKind:
        """The kind of its scores."""
        return self.tasks[0].kind

    @property
    def of_task(self) -> bool:
        """True if the task itself changes, so that validation scores cannot be compared."""
        return any(field.name.startswith("task.") for field in self.fields)

    @property
    def of_cells(self) -> bool:
        """True if each arm is one cell at its learning rates."""
        return all(len({point.cell.label for point in own}) == 1 for own in self.arms.values())

    def values(self, field: str) -> tuple[float, ...]:
        """All values of a field, ascending."""
        return tuple(sorted({p.values[field] for own in self.arms.values() for p in own if field in p.values}))

    def along(self, arm: str, *fields: str) -> dict[tuple[float, ...], SweepPoint]:
        """Values of some fields -> the point of an arm with these values, chosen by validation among several."""
        groups: dict[tuple[float, ...], list[SweepPoint]] = {}
        for point in self.arms[arm]:
            if all(field in point.values for field in fields):
                groups.setdefault(tuple(point.values[field] for field in fields), []).append(point)
        chosen = ((where, self._chosen(points)) for where, points in sorted(groups.items()))
        return {where: point for where, point in chosen if point is not None}

    def best(self, arm: str) -> SweepPoint | None:
        """The point of an arm that validation chooses; None where it cannot choose."""
        return None if self.of_task else self._chosen(self.arms[arm])

    def _chosen(self, points: Sequence[SweepPoint]) -> SweepPoint | None:
        if len(points) == 1:
            return points[0]
        by_setting = {tuple(point.values.get(field.name, 0.0) for field in self.fields): point for point in points}
        setting = select_learning_rate({setting: point.tried.by_seed for setting, point in by_setting.items()})
        return None if setting is None else by_setting[setting]


def sweeps_of(summary: Summary) -> tuple[Sweep, ...]:
    """The sweeps of an ablation: one for each task, over the tables with this task alone; one for each other table."""
    runs = summary.info["config"]["runs"]
    known = {(run["table"], run["label"]): training_fields(run) for run in runs}
    families: dict[Any, list[_Part]] = {}
    for task in summary.tasks:
        fields = {cell.label: known.get((task.task_label, cell.label), {"label": cell.label}) for cell in task.cells}
        parts = [_Part(task, cell, fields[cell.label]) for cell in task.cells]
        of_task = {tuple(pair for pair in part.words if pair[0].partition(".")[0] == "task") for part in parts}
        same = of_task.pop() if len(of_task) == 1 else ()
        families.setdefault((task.kind, same or task.task_label), []).extend(parts)
    found = map(_sweep_of, families.values())
    return tuple(sweep for sweep in found if sweep is not None)


@dataclasses.dataclass(frozen=True)
class _Part:
    """A cell, its task, and the fields of its config."""

    task: TaskSummary
    cell: CellSummary
    fields: Mapping[str, Any]

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((name, value_text(v)) for name, v in self.fields.items() if not _is_number(v)))

    def points(self) -> list[SweepPoint]:
        """One for each learning rate that has a score."""
        numbers = {name: float(value) for name, value in self.fields.items() if _is_number(value)}
        tried = [own for own in self.cell.tried if own.scores]
        return [SweepPoint({**numbers, RATE: own.learning_rate}, self.cell, own) for own in tried]


def _sweep_of(parts: list[_Part], apart: tuple[str, ...] = ()) -> Sweep | None:
    """The sweep of cells, in which fields that stand ``apart`` make arms of their own."""
    groups: dict[Any, list[tuple[_Part, SweepPoint]]] = {}
    for part in parts:
        key = part.words, tuple(part.fields.get(name) for name in apart)
        for point in part.points():
            groups.setdefault(key, []).append((part, point))
    arms = [[point for _, point in members] for members in groups.values()]
    fields = _fields(arms)
    names = {field.name for field in fields}
    of_task = tuple(sorted(name for name in names if name.startswith("task.")))
    if of_task and len(of_task) < len(names) and not apart:
        return _sweep_of(parts, (*of_task, *(name for f in fields if f.name in of_task for name in f.along)))
    if not fields:
        return None
    named = dict(zip(_names([[part for part, _ in members] for members in groups.values()], apart), arms))
    if len(named) < len(arms):
        return None  # two arms of one name
    kept = {
        name: tuple(
            dataclasses.replace(point, values={f: v for f, v in point.values.items() if f in names}) for point in own
        )
        for name, own in named.items()
    }
    if any(len({tuple(sorted(p.values.items())) for p in own}) < len(own) for own in kept.values()):
        return None  # two cells that no number tells apart
    return Sweep(tuple({part.task.task_label: part.task for part in parts}.values()), fields, kept)


def _fields(arms: list[list[SweepPoint]]) -> tuple[SweptField, ...]:
    """The fields that change within an arm, each with those that it decides."""
    several = [[point.values for point in own] for own in arms if len(own) > 1]
    varying = {
        name for own in several for name in own[0] if len({values.get(name) for values in own}) > 1
    }  # within an arm all points have the same fields
    in_order = sorted(varying, key=lambda name: (name == RATE, _place(name), name))

    def decides(one: str, other: str) -> bool:
        pairs = [{(values.get(one), values.get(other)) for values in own} for own in several]
        return all(len(found) == len({first for first, _ in found}) for found in pairs)

    def is_led(name: str) -> bool:
        others = (other for other in in_order if other != name and decides(other, name))
        return any(in_order.index(other) < in_order.index(name) or not decides(name, other) for other in others)

    leading = [name for name in in_order if not is_led(name)]
    return tuple(
        SweptField(name, tuple(other for other in in_order if other not in leading and decides(name, other)))
        for name in leading
    )


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _names(arms: list[list[_Part]], apart: Iterable[str]) -> list[str]:
    """A name for each arm: its label or its encodings, and what tells it from arms of the same name."""
    words = [dict(own[0].words) | {name: value_text(own[0].fields.get(name)) for name in apart} for own in arms]
    short = []
    for own, said in zip(arms, words):
        labels = {part.cell.label for part in own}
        slots = dict.fromkeys(said[slot] for slot in SLOTS if said.get(slot) not in (None, "none", "nope"))
        short.append(labels.pop() if len(labels) == 1 else "; ".join(slots) or "nope")
    found = []
    for name, said in zip(short, words):
        alike = [other for other, its in zip(words, short) if its == name]
        telling = [field for field in said if len({other.get(field) for other in alike}) > 1]
        found.append(", ".join([name, *(f"{field}={said[field]}" for field in telling)]))
    return found


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)
