"""Configs as JSON: names that outlive the modules, the hash that says which results belong to a config, differences.

A value of this package is stored under the word that strings have for it (``"rope"``, ``"copying"``), one of the user's
own under ``"file.py:Class"``; where the modules lie is no part of it.
"""

import dataclasses
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posenc_jax.encodings.interface.value import Value
from posenc_jax.files.checksums import sha256_of
from posenc_jax.files.shapes import Json

# Corpora that this package made itself: results on them keep their hash under the name that the corpora have now.
_FORMER = {
    f"own/{name.replace('/', '-').replace('_', '-')}": name
    for name in (
        *("help/en-de", "help/en-fr", "help/en-ja", "help/modules", "python_docs"),
        *("descriptions/en-de", "descriptions/en-fr", "descriptions/summaries", "descriptions/sections"),
    )
}
# Fields that say which replicas exist, how a cell is called or where it is computed, not what a replica computes.
_NOT_IDENTITY = ("seeds", "learning_rates", "label", "table", "note", "execution")


def is_own(cls: type) -> bool:
    """True for a class that is not of this package: its source belongs to what a result stands on."""
    return cls.__module__.partition(".")[0] != "posenc_jax"


def type_name(cls: type) -> str:
    """The name of a class in files: its registered name, or ``"file.py:Class"`` for one of the user's own."""
    if is_own(cls):
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        return f"{Path(file).name if file else cls.__module__}:{cls.__qualname__}"
    named = any(name == "name" for name, _ in _defaults(cls))  # each by itself: its class has no name then
    return cls.__name__.lower() if named else getattr(cls, "name", cls.__name__.lower())


def values_in(value: Any) -> Iterator[Value]:
    """A config and all values in it, at any depth."""
    if isinstance(value, tuple):
        for member in value:
            yield from values_in(member)
    elif isinstance(value, Value):
        yield value
        for name, _ in _defaults(type(value)):  # type: ignore[arg-type]
            yield from values_in(getattr(value, name))


def to_json(value: Any, *, defaults: bool = True) -> Any:
    """A config as JSON values; a value carries its class as ``"type"`` (see `type_name`).

    Args:
      defaults: whether fields at their default are written too.
    """
    if isinstance(value, Value):
        fields = {
            name: to_json(own, defaults=defaults)
            for name, default in _defaults(type(value))  # type: ignore[arg-type]
            for own in (getattr(value, name),)
            if defaults or own != default
        }
        return {"type": type_name(type(value)), **fields}
    if isinstance(value, tuple):
        return [to_json(member, defaults=defaults) for member in value]
    return value


@functools.cache
def _defaults(cls: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in dataclasses.fields(cls))


def config_hash(run: Value) -> str:
    """8 hex digits of the SHA-256 of what a replica of the run computes: its config without seeds, learning rates,
    names and execution.

    Fields at their default are left out, so that a new field, whose default is what was done before, changes no hash.
    """
    data = identity(to_json(run, defaults=False))
    corpus = data.get("task", {}).get("data", {})
    corpus |= {"name": _FORMER.get(corpus["name"], corpus["name"])} if "name" in corpus else {}
    return sha256_of(data)[:8]


def identity(data: Json) -> Json:
    """The part of a run's JSON that decides what a replica computes."""
    return {name: value for name, value in data.items() if name not in _NOT_IDENTITY}


def difference(old: Any, new: Any, path: str = "") -> list[str]:
    """The fields in which two JSON configs differ, one line each: ``path: old -> new``."""
    if isinstance(old, dict) and isinstance(new, dict) and old.get("type") == new.get("type"):
        lines = []
        for field in [*old, *(name for name in new if name not in old)]:
            lines += difference(old.get(field), new.get(field), f"{path}.{field}" if path else field)
        return lines
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for i, pair in enumerate(zip(old, new)) for line in difference(*pair, f"{path}[{i}]")]
    return [] if old == new else [f"{path}: {in_words(old)} -> {in_words(new)}"]


def in_words(data: Any) -> str:
    """A config in JSON as a call, anything else as Python writes it.

    >>> in_words({"type": "mine.py:Mine", "base": 2.0, "axes": [1, "x"]})
    "mine.py:Mine(base=2.0, axes=(1, 'x'))"
    """
    if isinstance(data, dict) and "type" in data:
        fields = ", ".join(f"{name}={in_words(value)}" for name, value in data.items() if name != "type")
        return f"{data['type']}({fields})"
    return f"({', '.join(map(in_words, data))})" if isinstance(data, list) else repr(data)
