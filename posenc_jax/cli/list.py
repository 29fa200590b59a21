"""``posenc list``: the encodings and tasks that there are."""

from __future__ import annotations

import dataclasses
import inspect
import shutil
from typing import Any

USAGE = """usage: posenc list [encodings | tasks]

Names, options with their defaults, where an encoding acts, and papers."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if len(arguments) > 1 or arguments not in ([], ["encodings"], ["tasks"]):
        print(f"posenc list: {' '.join(arguments)!r} is not one of encodings, tasks")
        return 2
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.encodings import ENCODINGS

    if arguments != ["tasks"]:
        print("Encodings (join them with |, the empty tuple is nope):\n")
        for name, cls in ENCODINGS.items():
            print(_entry(name, cls, _facts(cls)))
    if arguments != ["encodings"]:
        print("Tasks:\n")
        for name, cls in TASKS.items():
            print(_entry(name, cls, [f"metric: {cls.metric}"]))
    return 0


def _facts(cls: Any) -> list[str]:
    try:
        acts = ", ".join(sorted(cls().acts_on))
    except TypeError:  # a required field
        acts = "depends on its fields"
    facts = [f"acts on: {acts}"]
    if cls.per_layer:
        facts.append("parameters per layer")
    if cls.causal_only:
        facts.append("causal only")
    if not cls.extrapolates:
        facts.append("does not extrapolate")
    return facts


def _entry(name: str, cls: Any, facts: list[str]) -> str:
    import textwrap

    width = max(60, shutil.get_terminal_size((120, 24)).columns)
    fields = ", ".join(f"{f.name}={f.default!r}" if f.default is not dataclasses.MISSING else f.name for f in dataclasses.fields(cls))
    first = (inspect.getdoc(cls) or "").splitlines()[0]
    lines = [f"{name}({fields})", first, "; ".join(facts), cls.citation]
    indented = [textwrap.fill(line, width, initial_indent="  " if i else "", subsequent_indent="      ") for i, line in enumerate(lines)]
    return "\n".join(indented) + "\n"
