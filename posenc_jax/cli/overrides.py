"""Typed overrides of a config on the command line: tyro over its dataclasses, with encodings written as strings."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from posenc_jax.cli.errors import UsageError, as_path, given_twice
from posenc_jax.cli.own_files import read_mask, read_metrics, read_slot, read_task
from posenc_jax.config import Run
from posenc_jax.data.metric import Metric
from posenc_jax.drawing.plain import short
from posenc_jax.encodings import spec
from posenc_jax.encodings.parsing import MOST_CHARACTERS
from posenc_jax.encodings.slots import Slot
from posenc_jax.encodings.structure import StructureMask
from posenc_jax.encodings.value import Value
from posenc_jax.runs.trackers import TrackerName


def override(
    kind: Any,
    default: Any,
    arguments: list[str],
    program: str,
    description: str,
    hidden: Sequence[str] = (),
    replaced: Mapping[str, Value] | None = None,
) -> Any:
    """``default`` with the overrides in ``arguments``; the fields of configs that are ``hidden`` have no options.

    ``replaced``: fields of the run that have another default, whose settings are then those that can be overridden.

    UsageError for values that cannot be, SystemExit when tyro has said what is wrong itself.
    """
    for word in arguments:
        if len(word) > MOST_CHARACTERS:
            raise UsageError(f"{short(word)} has more than {MOST_CHARACTERS:,} characters: shorten it")
    options = [word.partition("=")[0].replace("_", "-") for word in arguments if word.startswith("--")]
    options = [re.sub(r"(^--|\.)no-", r"\1", option) for option in options]  # --no-x is of the same field as --x
    if twice := next((option for i, option in enumerate(options) if option in options[:i]), None):
        raise UsageError(given_twice(twice))
    registry = ConstructorRegistry()
    registry.struct_rule(functools.partial(_value_rule, hidden=hidden, replaced=replaced or {}))
    return tyro.cli(kind, default=default, args=arguments, prog=program, description=description, registry=registry)


def _path(words: list[str]) -> Path:
    try:
        return as_path(words[0])
    except UsageError as error:
        raise UsageError(f"--directory: {error}") from None


_PATH = PrimitiveConstructorSpec(
    nargs=1,
    metavar="DIR",
    instance_from_str=_path,
    is_instance=lambda value: value is None or isinstance(value, Path),
    str_from_instance=lambda value: [str(value)],
)


@dataclasses.dataclass(frozen=True)
class RunArguments:
    """The overrides of a run, and options about directories."""

    run: Annotated[Run, tyro.conf.arg(name="")]
    directory: Annotated[Path | None, _PATH] = None
    """Where the results are kept (None: a folder of runs/ that is called like the config)."""
    track: tuple[TrackerName, ...] = ()
    """Trackers that hear of metrics as they are written: tensorboard, wandb, jsonl; in the folder tracking."""
    trust: tuple[Path, ...] = ()
    """Runs named by init_from whose own Python files may be run: they are not run unasked."""
    accept_changed_code: bool = False
    """Whether to go on where an encoding, task or metric of your own has changed since; what it computes is marked."""


def override_run(
    run: Run, arguments: list[str], program: str, description: str, hidden: Sequence[str] = ()
) -> RunArguments:
    """The run with its overrides, and the options about directories; ``hidden`` fields keep what the run has."""
    words, task = _without_task(arguments)
    replaced = {} if task is None else {"task": read_task(task)}
    chosen: RunArguments = override(
        RunArguments, RunArguments(run), [_in_full(word) for word in words], program, description, hidden, replaced
    )
    return chosen


def override_each(runs: Sequence[Run], arguments: list[str], program: str, description: str) -> list[RunArguments]:
    """`override_run` of several runs. The command line is parsed once for those that are made of the same classes, and
    what its options say is put into the others: parsing takes as long as reading hundreds of results.

    Raises:
      CannotTakeError: one of the runs but the first cannot take the options; UsageError, SystemExit: as `override`.
    """
    done: list[RunArguments] = []
    parsed: dict[Any, tuple[RunArguments, dict[str, Any] | None]] = {}
    for number, run in enumerate(runs):
        kinds = _classes(run)
        first, given = parsed.get(kinds, (None, None))
        if first is not None and given is not None:
            changed = _put(run, {**automatic_names(run), **given}) if given else run
            done.append(dataclasses.replace(first, run=changed))
            continue
        try:
            done.append(override_run(run, arguments, program, description))
        except SystemExit:  # tyro has said it
            if number == 0:
                raise
            raise CannotTakeError(f"{run.table} {run.label}") from None
        parsed[kinds] = done[-1], _given(done[-1].run, arguments)
    return done


class CannotTakeError(Exception):
    """A run lacks what an option names; the message is which."""


def _classes(value: Value) -> tuple[Any, ...]:
    """The class of a value and, by field, those of the values in it: they decide which options there are."""
    inner = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))  # type: ignore[arg-type]
    return type(value), tuple((name, _classes(own)) for name, own in inner if isinstance(own, Value))


def _given(run: Run, arguments: list[str]) -> dict[str, Any] | None:
    """Values of options by the paths of a run's fields; None if an option is not the path of a field."""
    about_directories = {field.name for field in dataclasses.fields(RunArguments)} - {"run"}
    found: dict[str, Any] = {}
    for word in map(_in_full, arguments):
        path = word.partition("=")[0].removeprefix("--").replace("-", "_")
        if not word.startswith("--") or path.removeprefix("no_") in about_directories:
            continue
        value: Any = run
        for name in path.split("."):
            if not (isinstance(value, Value) and name in {field.name for field in dataclasses.fields(value)}):  # type: ignore[arg-type]
                return None
            value = getattr(value, name)
        if isinstance(value, Value) and not isinstance(value, StructureMask):  # another class, as --task may name
            return None
        found[path] = value
    return found


def _put(value: Any, given: Mapping[str, Any]) -> Any:
    """A value with other ones at the paths of its fields; UsageError for one that cannot be."""
    inner: dict[str, dict[str, Any]] = {}
    own: dict[str, Any] = {}
    for path, new in given.items():
        name, _, rest = path.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = new
        else:
            own[name] = new
    own |= {name: _put(getattr(value, name), new) for name, new in inner.items()}
    try:
        return dataclasses.replace(value, **own) if own else value
    except ValueError as error:
        raise UsageError(_named(type(value), str(error))) from None


def _without_task(arguments: list[str]) -> tuple[list[str], str | None]:
    """The other arguments, and what ``--task`` says: that decides which options there are, so it is read first."""
    words, task = [], None
    rest = iter(arguments)
    for word in rest:
        if word != "--task" and not word.startswith("--task="):
            words.append(word)
        elif task is not None:
            raise UsageError("--task is given twice: a run has one task")
        elif (task := next(rest, None) if word == "--task" else word.removeprefix("--task=")) is None:
            raise UsageError("--task needs a task, as in --task mine.py:Mine(max_length=8)")
    return words, task


def _in_full(word: str) -> str:
    """An argument with the long name of an option that has a short one: what people change most often."""
    if word.startswith("--data."):
        return f"--task.{word[2:]}"
    return f"--evaluation.{word[2:]}" if word.partition("=")[0] == "--metrics" else word


def field_help(cls: Any) -> dict[str, str]:
    """Descriptions of the fields in the docstring of a config: the text after ``name: `` or ``name, other: ``."""
    names = "|".join(field.name for field in dataclasses.fields(cls))
    found: dict[str, str] = {}
    docstrings = [inspect.cleandoc(base.__doc__ or "") for base in reversed(cls.__mro__)]
    for paragraph in "\n\n".join(docstrings).split("\n\n"):
        parts = re.split(rf"(?<!\S)((?:{names})(?:, (?:{names}))*): ", " ".join(paragraph.split()))
        for listed, text in zip(parts[1::2], parts[2::2], strict=True):
            found |= dict.fromkeys(listed.split(", "), text.strip())
    return found


def named_anew(before: Run, after: Run, arguments: Sequence[str]) -> Run:
    """The overridden run, without a label of the config file that is of the encodings before."""
    given = any(word.partition("=")[0] == "--label" for word in arguments)
    stale = after.slots != before.slots and not given
    return dataclasses.replace(after, label="") if stale else after


def automatic_names(run: Run) -> dict[str, str]:
    """The names of a run that follow from its settings, emptied, so that they follow again when settings change."""
    automatic = dataclasses.replace(run, label="", table="")
    return {name: "" for name in ("label", "table") if getattr(run, name) == getattr(automatic, name)}


def _value_rule(
    info: StructTypeInfo, hidden: Sequence[str], replaced: Mapping[str, Value]
) -> StructConstructorSpec | None:
    """Every config class: its checks raise UsageError, its docstring documents its fields, its slots are strings."""
    if not (isinstance(info.type, type) and issubclass(info.type, Value)):
        return None
    cls: Any = info.type
    hints, texts = typing.get_type_hints(cls), field_help(cls)
    own_hidden = [field.name for field in dataclasses.fields(cls) if field.name in hidden]
    names = automatic_names(info.default) if isinstance(info.default, Run) else {}

    def field_of(field: dataclasses.Field[Any]) -> StructFieldSpec:
        default = names.get(field.name, getattr(info.default, field.name))
        default = replaced.get(field.name, default) if cls is Run else default
        kind = hints[field.name]
        if isinstance(default, Value) and kind != StructureMask | None:
            # Of several classes, that of the config file: another one is chosen there.
            return StructFieldSpec(field.name, type(default), default, _summary(type(default)))
        if kind in (Slot, Slot | None):
            kind = Annotated[Any, _slot(f"--{field.name.replace('_', '-')}", optional=kind != Slot)]
        elif kind == StructureMask | None:
            kind = Annotated[Any, _MASK]
        elif kind == tuple[Metric, ...]:
            kind = Annotated[Any, _METRICS]
        return StructFieldSpec(field.name, kind, default, texts.get(field.name))

    def instantiate(**values: Any) -> Any:
        try:
            return cls(**values, **{name: getattr(info.default, name) for name in own_hidden})
        except ValueError as error:
            raise UsageError(_named(cls, str(error))) from None

    fields = [field for field in dataclasses.fields(cls) if field.name not in own_hidden]
    return StructConstructorSpec(instantiate, tuple(map(field_of, fields)))


def _slot(option: str, *, optional: bool) -> PrimitiveConstructorSpec[Any]:
    def read(words: list[str]) -> Any:
        if optional and words[0] == "None":
            return None
        try:
            return read_slot(words[0])
        except ValueError as error:
            raise UsageError(f"{option}: {error}") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="ENCODINGS",
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, tuple) or (optional and value is None),
        str_from_instance=lambda value: ["None" if value is None else spec(value)],
    )


_METRICS: PrimitiveConstructorSpec[Any] = PrimitiveConstructorSpec(
    nargs=1,
    metavar="METRICS",
    instance_from_str=lambda words: read_metrics(words[0]),
    is_instance=lambda value: isinstance(value, tuple),
    str_from_instance=lambda value: ["|".join(map(spec, value))],
)


_MASK: PrimitiveConstructorSpec[Any] = PrimitiveConstructorSpec(
    nargs=1,
    metavar="MASK",
    instance_from_str=lambda words: read_mask(words[0]),
    is_instance=lambda value: value is None or isinstance(value, StructureMask),
    str_from_instance=lambda value: ["None" if value is None else spec(value)],
)


def _named(cls: type, message: str) -> str:
    """The message with the group of options that it is about, unless it begins with it."""
    groups = {name: hint for name, hint in typing.get_type_hints(Run).items() if isinstance(hint, type)}
    group = next((name for name, hint in groups.items() if issubclass(cls, hint)), None)
    return message if group is None or message.startswith(f"{group}.") else f"--{group}: {message}"


def _summary(cls: type) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())
