"""``posenc list``: the encodings and tasks that there are."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
import shutil
import sys
import textwrap
import typing
from typing import Any

USAGE = """usage: posenc list [encodings | tasks | NAME]

What there is, in short; or all about one encoding or task."""

# What an encoding acts on, in words.
_PLACES = {
    "map_positions": "positions",
    "embed": "input embeddings",
    "encode_queries": "queries",
    "encode_keys": "keys",
    "bias": "logits (by position)",
    "content_bias": "logits (by content)",
    "value_term": "values",
}


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.encodings import ENCODINGS

    known: dict[str, Any] = {**ENCODINGS, **TASKS}
    words = ["encodings", "tasks", *known]
    wrong = next((word for word in arguments if word not in words), None)
    if wrong is not None or len(arguments) > 1:
        wrong = wrong or arguments[1]
        near = difflib.get_close_matches(wrong, words, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        print(f"posenc: there is no encoding or task {wrong!r}{hint} `posenc list` shows all.", file=sys.stderr)
        return 2
    if arguments and arguments[0] in known:
        print(_details(known[arguments[0]]))
        return 0
    if arguments != ["tasks"]:
        print("Encodings. Join them with | in the order in which they act; nope is none.\n")
        print("\n\n".join(_entry(cls, _encoding_facts(cls)) for cls in ENCODINGS.values()))
    if not arguments:
        print()
    if arguments != ["encodings"]:
        print("Tasks.\n")
        print("\n\n".join(_entry(cls, _task_facts(cls)) for cls in TASKS.values()))
    return 0


def _entry(cls: Any, facts: str) -> str:
    doc = (inspect.getdoc(cls) or "").partition("\n\n")[0]
    # A first paragraph that leads to a formula ends in a colon.
    summary = " ".join(doc.partition("::")[0].replace("``", "").split()).rstrip(":.") + "."
    lines = [summary, f"{facts}; {_source(cls)}", f"fields: {_fields(cls)}"]
    wrapped = [_wrap(line, " " * 4) for line in lines]
    return "\n".join([f"  {cls.name}", *wrapped])


def _details(cls: Any) -> str:
    lines = [f"{cls.name}({_fields(cls)})", "", inspect.getdoc(cls) or "", "", "Fields and their types:"]
    hints = typing.get_type_hints(cls)
    lines += [f"  {field.name}: {_type(hints[field.name])}" for field in dataclasses.fields(cls)]
    lines += ["", _wrap(cls.citation, "")]
    return "\n".join(lines)


def _encoding_facts(cls: Any) -> str:
    try:
        places = [_PLACES.get(hook, hook) for hook in (*_PLACES, *cls.HOOKS) if hook in cls().acts_on]
    except (TypeError, ValueError):  # a required field
        places = ["what its fields say"]
    facts = ["acts on " + ", ".join(dict.fromkeys(places))]
    facts += ["parameters per layer"] * cls.per_layer
    facts += ["causal only"] * cls.causal_only
    facts += ["does not extrapolate"] * (not cls.extrapolates)
    return "; ".join(facts)


def _task_facts(cls: Any) -> str:
    return f"{cls().model_kind.replace('_', '-')} model, {cls.metric.replace('_', ' ')}"


def _source(cls: Any) -> str:
    found = re.search(r"arXiv:[\w.]+\d", f"{cls.paper} {cls.citation}")
    return found[0] if found else cls.paper


def _fields(cls: Any) -> str:
    fields = dataclasses.fields(cls)
    defaults = [f"={field.default!r}" if field.default is not dataclasses.MISSING else "" for field in fields]
    return ", ".join(field.name + default for field, default in zip(fields, defaults)) or "none"


def _type(kind: Any) -> str:
    members = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(repr, members))
    return getattr(kind, "__name__", str(kind)) if not members else str(kind).replace("typing.", "")


def _wrap(text: str, indent: str) -> str:
    width = min(max(shutil.get_terminal_size((100, 24)).columns, 40), 120)
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
