"""Runs that differ in the values of some fields."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from posenc_jax.config.run import Run, automatic_names
from posenc_jax.config.stored import to_json, type_name
from posenc_jax.encodings import parse, spec
from posenc_jax.files.fields import SLOTS, training_fields, value_text
from posenc_jax.refusals import did_you_mean, refuse_twice

_RATE = "learning_rate"


def sweep(run: Run | Iterable[Run], fields: Mapping[str, Iterable[Any]]) -> tuple[Run, ...]:
    """A run for each combination of values, named by them: the cells of an ablation that sweeps fields.

    Args:
      run: the fields that all share; of several runs, each that has a field has all its values.
      fields: ``{"posenc": ("rope", "alibi"), "model.d_model": (16, 32), "rope.base": (1e2, 1e4)}``: a field of an
        encoding is called by the encoding's name, and runs without it stay as they are. The values of
        ``"learning_rate"`` are those of every run, whose program trains them all.

    Raises:
      ValueError: no run has the field, a field has fewer than two values or one twice, or a run cannot have a value.
    """
    given_runs = (run,) if isinstance(run, Run) else tuple(run)
    automatic = {name for own in given_runs for name in automatic_names(own)}
    runs = [(own, own.table, own.label) for own in given_runs]
    # Encodings first, since fields may be theirs.
    for name, given in sorted(fields.items(), key=lambda pair: pair[0] not in SLOTS):
        values = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
        if name in SLOTS:
            values = tuple(parse(value) if isinstance(value, str) else value for value in values)
        if len(values) < 2:
            raise ValueError(f"{name} = {given!r} is no sweep: give two values at least, or set it in the run")
        refuse_twice(name, values, value_text)
        if name == _RATE:
            runs = [(dataclasses.replace(own, learning_rates=values), table, label) for own, table, label in runs]
            continue
        having = [_has(own, name) for own, *_ in runs]
        if not any(having):
            known = [_RATE, *(field for own, *_ in runs for field in training_fields(to_json(own)))]
            hint = did_you_mean(name, known, "name it as in model.d_model, rope.base or learning_rate")
            raise ValueError(f"no run of the sweep has a field {name!r}: {hint}")
        found = []
        for (own, table, label), has_it in zip(runs, having):
            for value in values if has_it else ():
                changed, word = _with(own, name, value), f"{name.rpartition('.')[2]}={value_text(value)}"
                if name.startswith("task."):
                    found.append((changed, f"{table}, {word}", label))
                elif name == "posenc" and "label" in automatic:
                    found.append((changed, table, spec(value)))
                else:
                    word = f"{name}={spec(value)}" if name in SLOTS else word
                    found.append((changed, table, f"{label}, {word}"))
            found += [] if has_it else [(own, table, label)]
        runs = found
    return tuple(dataclasses.replace(own, table=table, label=label) for own, table, label in runs)


def _has(run: Run, name: str) -> bool:
    return name in SLOTS or ("[" not in name and name in training_fields(to_json(run)))


def _with(run: Run, name: str, new: Any) -> Run:
    if name.partition(".")[0] in {field.name for field in dataclasses.fields(run)}:
        return _replaced(run, name, new)
    slots = {slot: _in_slot(getattr(run, slot), name, new) for slot in SLOTS}
    return dataclasses.replace(run, **slots)


def _replaced(value: Any, path: str, new: Any) -> Any:
    field, _, rest = path.partition(".")
    return dataclasses.replace(value, **{field: _replaced(getattr(value, field), rest, new) if rest else new})


def _in_slot(slot: Any, name: str, new: Any) -> Any:
    """A slot, or an encoding of it, with another value of a field of all encodings that ``name`` begins with."""
    if isinstance(slot, tuple):
        return tuple(_in_slot(member, name, new) for member in slot)
    path = None if slot is None else name.removeprefix(f"{type_name(type(slot))}.")
    return slot if path in (None, name) else _replaced(slot, path, new)
