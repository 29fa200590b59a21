"""Ablations that change one number of the model, the task or the training: the score against it."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.results.summary import CellSummary, Summary

LEAST = 3
"""Values of a field that make a sweep."""

_FIRST = ("model.d_model", "model.num_layers", "model.num_heads", "task.max_length", "training.steps")
_APART = ("posenc", "posenc_encoder", "posenc_cross", "table", "label", "note", "seeds", "learning_rates", "evaluation")


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A field of the config that changes, and cells that are otherwise alike.

    Attributes:
      field: its name, ``model.d_model``. along: fields that change with it, each value with one of it.
      kind: of the scores. lines: a name -> value of the field -> cell; a line has one encoding.
    """

    field: str
    along: tuple[str, ...]
    kind: ScoreKind
    lines: Mapping[str, Mapping[float, CellSummary]]

    @property
    def values(self) -> tuple[float, ...]:
        """All values of the field, ascending."""
        return tuple(sorted({value for line in self.lines.values() for value in line}))


def sweep_of(summary: Summary) -> Sweep | None:
    """The field that the ablation sweeps; None where none has `LEAST` values, or several change independently."""
    runs = (summary.info.get("config") or {}).get("runs") or ()
    leaves = {(run.get("table"), run.get("label")): dict(_leaves(run)) for run in runs if isinstance(run, dict)}
    cells = {(task.task_label, cell.label): cell for task in summary.tasks for cell in task.cells if cell.scores}
    kinds = {task.kind for task in summary.tasks if any(cell.scores for cell in task.cells)}
    if len(kinds) != 1 or not cells.keys() <= leaves.keys():
        return None
    groups: dict[Any, list[tuple[str, str]]] = {}
    for key, cell in cells.items():
        words = tuple(sorted((name, repr(leaf)) for name, leaf in leaves[key].items() if not _is_number(leaf)))
        groups.setdefault((cell.posenc, words), []).append(key)
    several = [keys for keys in groups.values() if len(keys) > 1]
    numbers = {key: {n: leaf for n, leaf in leaves[key].items() if _is_number(leaf)} for key in cells}
    varying = {name for keys in several for name in numbers[keys[0]] if len({numbers[p].get(name) for p in keys}) > 1}
    one_to_one = [
        name for name in varying if all(len({numbers[p].get(name) for p in keys}) == len(keys) for keys in several)
    ]
    if not one_to_one:
        return None
    field = min(one_to_one, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    named: dict[str, dict[float, CellSummary]] = {}
    for keys in several:
        labels = [cells[key].label for key in keys]
        name = labels[0] if len(set(labels)) == 1 else cells[keys[0]].posenc or "nope"
        if name in named:
            return None  # two lines of one name, told apart by words of the config
        named[name] = {float(numbers[key][field]): cells[key] for key in keys}
    found = Sweep(field, tuple(sorted(varying - {field})), kinds.pop(), named)
    return found if len(found.values) >= LEAST else None


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if name or key not in _APART:
                yield from _leaves(inner, f"{name}.{key}" if name else key)
    else:
        yield name, value


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)
