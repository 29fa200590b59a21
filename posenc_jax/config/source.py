"""Writes a config as the Python file that defines it."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from posenc_jax.config.run import Ablation, Run, automatic_names
from posenc_jax.config.stored import is_own, values_in
from posenc_jax.encodings.interface.value import Value

_WIDTH = 120


def source_of(config: Run | Ablation, about: str) -> str:
    """The text of a Python file whose variable ``config`` is equal to a config; ``about`` is its docstring.

    Fields at their default are left out. Runs of an ablation are written as the first with what is changed.
    """
    names = _names(config)
    if isinstance(config, Run):
        body = f"config = {_call(config, names, 9)}"
    else:
        base = config.runs[0]
        runs = ["base", *(_changed(base, run, names) for run in config.runs[1:])]
        fields = {**_fields(config), "runs": _joined("(", runs, ",)" if len(runs) == 1 else ")", 9, 4)}
        named = [f"{name}={text if name == 'runs' else _text(text, names, 4)}" for name, text in fields.items()]
        body = f"base = {_call(base, names, 7)}\n\nconfig = {_joined('Ablation(', named, ')', _WIDTH, 0)}"
    imported: dict[str, list[str]] = {}
    for cls, name in names.items():
        if f"{name}(" in body:
            known = cls.__name__ if name == cls.__name__ else f"{cls.__name__} as {name}"
            imported.setdefault(_module(cls), []).append(known)
    lines = ["import dataclasses", ""] * ("dataclasses.replace(" in body)
    lines += [f"from {module} import {', '.join(sorted(found))}" for module, found in sorted(imported.items())]
    text = "\n".join([f'"""{about.strip()}', '"""', "", *lines, "", body])
    return f"{text}\n"


def _names(config: Value) -> dict[type, str]:
    """Each class in a config -> its name in the file, with the module before it where an own class shares its name."""
    names = {cls: cls.__name__ for cls in sorted({type(value) for value in values_in(config)}, key=str)}
    counts = Counter(names.values())
    for cls, name in names.items():
        if counts[name] > 1 and is_own(cls):
            names[cls] = f"{cls.__module__.replace('.', '_')}_{name}"
    return names


def _module(cls: type) -> str:
    """The shortest module that has a class by its name."""
    parts = cls.__module__.split(".")
    modules = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next(name for name in modules if getattr(sys.modules.get(name), cls.__name__, None) is cls)


def _fields(value: Value) -> dict[str, Any]:
    own: Any = value
    found = {field.name: (getattr(value, field.name), field.default) for field in dataclasses.fields(own)}
    automatic = automatic_names(value) if isinstance(value, Run) else {}
    return {name: now for name, (now, default) in found.items() if now != default and name not in automatic}


def _changed(base: Run, run: Run, names: Mapping[type, str]) -> str:
    before, after = ({**vars(one), **automatic_names(one)} for one in (base, run))
    fields = {name: now for name, now in after.items() if now != before[name]}
    for name in ("label", "table"):  # which would stay those of the other run
        if getattr(run, name) != getattr(base, name):
            fields[name] = after[name]
    return f"dataclasses.replace(base, {', '.join(f'{name}={_text(now, names, 0)}' for name, now in fields.items())})"


def _call(value: Value, names: Mapping[type, str], column: int, indent: int = 0) -> str:
    fields = [f"{name}={_text(now, names, indent + 4, len(name) + 1)}" for name, now in _fields(value).items()]
    return _joined(f"{names[type(value)]}(", fields, ")", column, indent)


def _text(value: Any, names: Mapping[type, str], indent: int, before: int = 0) -> str:
    if isinstance(value, Value):
        return _call(value, names, indent + before, indent)
    if isinstance(value, tuple):
        parts = [_text(one, names, indent + 4) for one in value]
        return _joined("(", parts, ",)" if len(parts) == 1 else ")", indent, indent)
    if isinstance(value, str) and '"' not in value:
        return f'"{repr(value)[1:-1]}"'.replace("\\'", "'")
    return repr(value)


def _joined(start: str, parts: list[str], end: str, column: int, indent: int) -> str:
    """The parts on the line that begins at a column, or, where they do not fit, on one each."""
    line = f"{start}{', '.join(parts)}{end}"
    if column + indent + len(line) < _WIDTH and "\n" not in line:
        return line
    inner = "".join(f"{' ' * (indent + 4)}{part},\n" for part in parts)
    return f"{start}\n{inner}{' ' * indent}{end.removeprefix(',')}"
