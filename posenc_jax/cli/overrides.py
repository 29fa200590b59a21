"""Typed overrides of a config on the command line: tyro over its dataclasses, with encodings written as strings."""

import ast
import copy
import dataclasses
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from posenc_jax.cli.errors import Parser, UsageError, given_twice, refusing
from posenc_jax.cli.own_files import read_mask, read_metrics, read_slot, read_task
from posenc_jax.config import Ablation, Run, automatic_names, sweep
from posenc_jax.data.metric import Metric
from posenc_jax.encodings import spec
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.encodings.interface.structure import StructureMask
from posenc_jax.encodings.interface.value import Value


def override(run: Run, arguments: Sequence[str], command: str, config_file: str) -> Run:
    """The run of a config file with the overrides in ``arguments``; with ``--task``, its settings are those that can be
    overridden.

    UsageError for values that cannot be, SystemExit when tyro has said what is wrong itself.
    """
    if not arguments:
        return run
    options = _options(arguments)
    if twice := next((option for i, option in enumerate(options) if option in options[:i]), None):
        raise UsageError(given_twice(f"--{twice.replace('_', '-')}"))
    parser = Parser(prog="posenc train", add_help=False, allow_abbrev=False)
    parser.add_argument("--task")
    found, words = parser.parse_known_args(arguments)
    default = copy.copy(run)  # what follows from a setting follows from its override, and is checked with it
    changed = automatic_names(run) | ({} if found.task is None else {"task": read_task(found.task)})
    for name, value in changed.items():
        object.__setattr__(default, name, value)
    registry = ConstructorRegistry()
    registry.struct_rule(_value_rule)
    words, program = [_in_full(word) for word in words], f"posenc {command} {config_file or 'CONFIG'}"
    own = config_file or "a run of the task copying; with a CONFIG, those of CONFIG"
    return tyro.cli(Run, default=default, args=words, prog=program, description=_ABOUT + own, registry=registry)


_ABOUT = (
    'Your own classes: --task "mine.py:Mine(max_length=8)" --metrics mine.py:TopK.\n\n'  # tyro wraps no line of it
    "Defaults: those of "
)


def _options(arguments: Sequence[str]) -> list[str]:
    """The options among arguments as paths of fields; --a.no-b is of the same field as --a.b."""
    names = (word[2:].partition("=")[0].replace("-", "_") for word in map(_in_full, arguments) if re.match("--.", word))
    return [re.sub(r"(^|\.)no_", r"\1", name) for name in names]


def _word(
    metavar: str, kind: type, read: Callable[[str], Any], written: Callable[[Any], str], *, optional: bool = False
) -> Any:
    """Tells tyro of values that are one word; of ``optional`` ones None is another."""

    def from_words(words: Sequence[str]) -> Any:
        with refusing():
            return None if optional and words[0] == "None" else read(words[0])

    spec = PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=from_words,
        is_instance=lambda value: isinstance(value, kind) or (optional and value is None),
        str_from_instance=lambda value: ["None" if value is None else written(value)],
    )
    return Annotated[Any, spec]


_WORDS = {
    Slot: _word("ENCODINGS", tuple, read_slot, spec),
    Slot | None: _word("ENCODINGS", tuple, read_slot, spec, optional=True),
    tuple[Metric, ...]: _word("METRICS", tuple, read_metrics, lambda metrics: "|".join(map(spec, metrics))),
    StructureMask | None: _word("MASK", StructureMask, read_mask, spec, optional=True),
}
"""Types whose values are one word."""


def override_run(run: Run, arguments: Sequence[str], command: str, config_file: str) -> Run:
    """The run of a config file with its overrides, without a name of the config file that is of what was before."""
    return named_anew(run, override(run, arguments, command, config_file), arguments)


def override_all(ablation: Ablation, arguments: Sequence[str], command: str, config_file: str) -> Ablation:
    """The ablation with the overrides in every run; UsageError if one does not fit."""
    if not arguments:
        return ablation
    runs: list[Run] = []
    names = ("table",) * (len({run.table for run in ablation.runs}) == 1)  # of several, the file says what differs
    starts: dict[str | None, str] = {}
    for run, changed in zip(ablation.runs, _override_each(ablation.runs, arguments, command, config_file), strict=True):
        start = starts.get(run.init_from)  # the cell that this one starts from has changed too
        changed = named_anew(run, changed, arguments, names)
        runs.append(changed if start is None else dataclasses.replace(changed, init_from=start))
        starts[run.as_start] = runs[-1].as_start
    before, after = ({dataclasses.replace(run, label="", table="") for run in some} for some in (ablation.runs, runs))
    if len(after) < len(before):
        raise UsageError(
            "with these overrides two cells of this ablation are one run: leave out what the cells differ in, change "
            "the config file, or use posenc train for a single run"
        )
    with refusing():
        return dataclasses.replace(ablation, runs=tuple(runs))


def swept(ablation: Ablation, words: Sequence[str]) -> Ablation:
    """The ablation with a run for each combination of the values in ``words``, ``FIELD=A,B`` each; without a baseline
    whose label the sweep has changed.
    """
    if not words:
        return ablation
    fields = {}
    for word in words:
        name, is_given, values = word.partition("=")
        if not is_given:
            raise UsageError(f"--sweep {word} has no values: write {word}=A,B")
        fields[name] = tuple(map(_value, re.split(r",(?![^(]*\))", values)))
    with refusing("--sweep: "):
        runs = sweep(ablation.runs, fields)
        kept = ablation.baseline if any(run.label == ablation.baseline for run in runs) else ""
        return dataclasses.replace(ablation, runs=runs, baseline=kept)


def _value(word: str) -> Any:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def _override_each(runs: Sequence[Run], arguments: Sequence[str], command: str, config_file: str) -> list[Run]:
    """Several runs with their overrides. The command line is parsed for the first, and what its options say is put into
    the others: parsing takes as long as reading hundreds of results.

    UsageError where one of the others has no such field; otherwise as `override`.
    """
    first = override(runs[0], arguments, command, config_file)
    given = {path: functools.reduce(getattr, path.split("."), first) for path in _options(arguments)}
    if "task" in given:  # it has its own overrides already
        given = {path: value for path, value in given.items() if not path.startswith("task.")}
    return [first, *(_put(run, {**automatic_names(run), **given}, f"{run.table} {run.label}") for run in runs[1:])]


def _put(value: Any, given: Mapping[str, Any], name: str) -> Any:
    """A value of the run ``name`` with other ones at the paths of its fields; UsageError for one that cannot be."""
    inner: dict[str, dict[str, Any]] = {}
    for path, new in given.items():
        field, _, rest = path.partition(".")
        inner.setdefault(field, {})[rest] = new
    if lacking := inner.keys() - {field.name for field in dataclasses.fields(value)}:
        raise UsageError(f"an override applies to every cell, and {name} has no {min(lacking)}: change the config file")
    old = {field: getattr(value, field) for field in inner}
    with refusing():
        new = {field: own[""] if "" in own else _put(old[field], own, name) for field, own in inner.items()}
        return dataclasses.replace(value, **new)


def _in_full(word: str) -> str:
    """An argument with the long name of an option that has a short one: what people change most often."""
    if word.startswith("--data."):
        return f"--task.{word[2:]}"
    return f"--evaluation.{word[2:]}" if word.partition("=")[0] == "--metrics" else word


def field_help(cls: Any) -> dict[str, str]:
    """Descriptions of the fields in the docstring of a config: the text after ``name:`` or ``name, other:``."""
    names = "|".join(field.name for field in dataclasses.fields(cls))
    found: dict[str, str] = {}
    docstrings = [inspect.cleandoc(base.__doc__ or "") for base in reversed(cls.__mro__)]
    for paragraph in "\n\n".join(docstrings).split("\n\n"):
        parts = re.split(rf"(?<!\S)((?:{names})(?:, (?:{names}))*): ", " ".join(paragraph.split()))
        for listed, text in zip(parts[1::2], parts[2::2], strict=True):
            found |= dict.fromkeys(listed.split(", "), text.strip())
    return found


def named_anew(before: Run, after: Run, arguments: Sequence[str], names: Sequence[str] = ("label", "table")) -> Run:
    """The overridden run, without a label of the config file that is of the encodings before, and without a table that
    is of the task or the corpus before.
    """
    stale = {"label": after.slots != before.slots, "table": _subject(after) != _subject(before)}
    given = {word.partition("=")[0].removeprefix("--") for word in arguments}
    anew: dict[str, Any] = {name: "" for name in names if stale[name] and name not in given}
    return dataclasses.replace(after, **anew)


def _subject(run: Run) -> tuple[str, str]:
    """The automatic name of a run's table, and its corpus."""
    return dataclasses.replace(run, table="").table, getattr(getattr(run.task, "data", None), "name", "")


def _value_rule(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Every config class: its checks raise UsageError, its docstring documents its fields, its slots are strings."""
    if not (isinstance(info.type, type) and issubclass(info.type, Value)):
        return None
    cls: Any = info.type
    hints, texts = typing.get_type_hints(cls), field_help(cls)

    def field_of(field: dataclasses.Field[Any]) -> StructFieldSpec:
        default, kind = getattr(info.default, field.name), hints[field.name]
        if isinstance(default, Value) and kind not in _WORDS:
            # Of several classes, that of the config file: another one is chosen there.
            summary = " ".join((inspect.getdoc(default) or "").partition("\n\n")[0].split())
            return StructFieldSpec(field.name, type(default), default, summary)
        return StructFieldSpec(field.name, _WORDS.get(kind, kind), default, texts.get(field.name))

    def instantiate(**values: Any) -> Any:
        with refusing():
            return cls(**values)

    return StructConstructorSpec(instantiate, tuple(map(field_of, dataclasses.fields(cls))))
