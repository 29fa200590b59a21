"""The reference of configs: every class that a run or an ablation holds, with all its fields."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator

from documenting.api import linked_of
from documenting.docstring import markdown, summary


def page() -> str:
    """The page of the classes of a config."""
    parts = [
        "# Configs, all fields",
        "A config is a Python file that ends with a `config`: a "
        "{py:class}`Run <posenc_jax.config.run.Run>` or an {py:class}`Ablation <posenc_jax.config.run.Ablation>`. "
        "Every field can be given on the command line, as in `--training.steps 2000`. The tasks are on "
        "[a page of their own](tasks.md).",
        *(_section(cls) for cls in classes()),
    ]
    return "\n\n".join(parts) + "\n"


def tasks() -> str:
    """The page of all tasks."""
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.data.text import TEXT_TASKS

    lists = []
    for title, found in (("Generated", TASKS), ("On text", TEXT_TASKS)):
        lines = [
            f"- [{cls.__name__}](#{_label(cls)}): {summary(cls.__doc__ or '', linked_of(cls))}"
            for cls in found.values()
        ]
        lists.append(f"**{title}**\n\n" + "\n".join(lines))
    sections = [_section(cls) for cls in [*TASKS.values(), *TEXT_TASKS.values()]]
    about = "The word in a list of `posenc list tasks` is the class's `name`; the docstring says what chance is."
    return "\n\n".join(["# Tasks, all fields", about, *lists, *sections]) + "\n"


def classes() -> list[type]:
    """The classes of a config, in the order in which a reader meets them; tasks and encodings are not among them."""
    from posenc_jax.config import Ablation, Run

    found: dict[type, None] = {}
    for cls in (Ablation, Run):
        _collect(cls, found)
    return list(found)


def _collect(cls: type, found: dict[type, None]) -> None:
    from posenc_jax.data.tasks.base import Task
    from posenc_jax.encodings import PositionalEncoding, RoPEScaling

    if cls in found or issubclass(cls, Task | PositionalEncoding | RoPEScaling):
        return
    found[cls] = None
    for hint in typing.get_type_hints(cls).values():
        for inner in _members(hint):
            if dataclasses.is_dataclass(inner) and inner.__module__.startswith("posenc_jax."):
                _collect(inner, found)


def _members(hint: object) -> Iterator[type]:
    if isinstance(hint, type):
        yield hint
    for inner in typing.get_args(hint):
        yield from _members(inner)


def _label(cls: type) -> str:
    return f"fields-of-{cls.__name__.lower()}"


def _section(cls: type) -> str:
    from posenc_jax.analysis.described import type_in_words

    hints = typing.get_type_hints(cls)
    lines = ["| field | type | default |", "|--|--|--|"]
    for field in dataclasses.fields(cls):
        kind = type_in_words(hints[field.name]).replace("|", "\\|")
        lines.append(f"| `{field.name}` | {kind} | {_default(field)} |")
    table = "\n".join(lines) if len(lines) > 2 else "No fields."
    return f"({_label(cls)})=\n## {cls.__name__}\n\n{markdown(cls.__doc__ or '', linked_of(cls))}\n\n{table}"


def _default(field: dataclasses.Field) -> str:
    if field.default is not dataclasses.MISSING:
        value = field.default
        shown = f"{type(value).__name__}()" if dataclasses.is_dataclass(value) else repr(value)
        return f"`{shown}`".replace("|", "\\|")
    return "required" if field.default_factory is dataclasses.MISSING else "made anew"
