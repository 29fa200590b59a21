"""The search for the setting that is too large for a memory, and for the largest value of it that fits."""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from posenc_jax.config import Run, type_name
from posenc_jax.encodings.value import Value

# Counts of time or of names, not of memory.
_NO_MEMORY = {"steps", "warmup_steps", "steps_per_call", "log_every", "checkpoint_every", "validate_every", "seeds"}
# Lowered first: no result changes with them.
_FREE = {"execution.group_size", "evaluation.memory_budget_mb"}

FieldPath = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True)
class TooLarge:
    """A setting, its value, and the largest value with which the run fits, all else as it is."""

    field: str
    value: int
    largest: int


def too_large(run: Run, fits: Callable[[Run], bool]) -> TooLarge | None:
    """The setting to lower so that the run fits: one that changes no result, or else the one that needs to change by
    the smallest factor. None where no single one is enough.
    """
    found = []
    for path, value in _counts(run):
        unit = _unit(run, path)
        allowed = functools.partial(_fits, run, path, unit, fits)
        if allowed(1, invalid=True) and (largest := unit * _largest(allowed, value // unit)):
            found.append(TooLarge(_named(run, path), value, largest))
    return max(found, key=lambda one: (one.field in _FREE, one.largest / one.value), default=None)


def _counts(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, int]]:
    """Every whole number above 1 that memory may depend on; of lengths the largest, for all of them."""
    if path == ("evaluation", "lengths"):
        if value:
            yield path, max(value)
    elif isinstance(value, Value):
        for field in dataclasses.fields(value):  # type: ignore[arg-type]
            if field.name not in _NO_MEMORY:
                yield from _counts(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, tuple):
        for index, member in enumerate(value):
            yield from _counts(member, (*path, index))
    elif isinstance(value, int) and value > 1:
        yield path, value


def _unit(run: Run, path: FieldPath) -> int:
    units: dict[FieldPath, int] = {
        ("model", "d_model"): run.model.num_heads if run.model.head_dim is None else 1,
        ("model", "mlp_dim"): run.execution.model,
        ("training", "batch_size"): run.training.microbatches * run.execution.data,
    }
    return units.get(path, 1)


def _largest(allowed: Callable[[int], bool], value: int) -> int:
    """The largest of the numbers 1 .. 127, 128, 130 .. 254, 256, 260 .. below ``value`` that is allowed, else 0."""
    above, below = value, _rounded(value // 2)
    while below and not allowed(below):
        above, below = below, _rounded(below // 2)
    while below < (between := _rounded((above + below) // 2)) < above:
        if allowed(between):
            below = between
        else:
            above = between
    return below


def _rounded(number: int) -> int:
    """``number`` with seven binary digits, rounded down: sizes are round numbers, and the estimate is no exact one."""
    shift = max(number.bit_length() - 7, 0)
    return number >> shift << shift


def _fits(
    run: Run, path: FieldPath, unit: int, fits: Callable[[Run], bool], number: int, *, invalid: bool = False
) -> bool:
    """True if the run with ``number`` units of a count fits; ``invalid`` if it is no valid run."""
    try:
        changed: Run = _changed(run, path, unit * number)
    except ValueError:
        return invalid
    return fits(changed)


def _changed(value: Any, path: FieldPath, count: int) -> Any:
    if not path:
        return tuple(sorted({min(length, count) for length in value})) if isinstance(value, tuple) else count
    first, *rest = path
    if isinstance(value, tuple):
        return tuple(_changed(member, tuple(rest), count) if i == first else member for i, member in enumerate(value))
    return dataclasses.replace(value, **{str(first): _changed(getattr(value, str(first)), tuple(rest), count)})


def _named(run: Run, path: FieldPath) -> str:
    """``training.batch_size``; of an encoding ``learned.max_len``, wherever it stands."""
    value: Any = run
    for step in path[:-1]:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    if any(isinstance(step, int) for step in path) and isinstance(value, Value):
        return f"{type_name(type(value))}.{path[-1]}"
    return ".".join(str(step) for step in path)
