"""Encodings, tasks and other classes of specs and configs in words: their fields, formula, paper and floors."""

import dataclasses
import inspect
import re
import textwrap
import typing
from typing import Any

from posenc_jax.analysis.described import hook_words, type_in_words
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.data.tasks import Task
from posenc_jax.data.tasks.floors import floors
from posenc_jax.drawing.bibtex import prose
from posenc_jax.show.lead import summary


def wrapped(text: str, width: int, first: str = "", rest: str | None = None) -> str:
    """A text in lines of at most ``width`` characters; ``first`` and ``rest`` begin its first line and the others."""
    rest = first if rest is None else rest
    return textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def task_in_brief(cls: Any, width: int) -> str:
    """Name, summary, model, score, paper and fields of a task."""
    number = re.search(r"arXiv:[\w.]+\d", f"{cls.paper} {prose(cls.citation)}")
    facts = f"{cls().model_kind.replace('_', '-')} model, {kind_of(cls.metric).title}"
    lines = [summary(cls), f"{facts}; {number[0] if number else cls.paper}", f"fields: {_fields(cls)}"]
    return "\n".join([f"  {cls.name}", *(wrapped(line, width, " " * 4) for line in lines)])


def in_full(cls: Any, width: int) -> str:
    """The docstring, fields and types of an encoding, task, scaling, metric or mask, and what is measured of it."""
    hints, fields = typing.get_type_hints(cls), dataclasses.fields(cls)
    name = f"{getattr(cls, 'name', cls.__name__)}({_fields(cls)})"
    lines = [wrapped(name, width, "", " " * 4), "", inspect.getdoc(cls) or ""]
    lines += ["\nFields and their types:" if fields else "\nNo fields."]
    lines += [wrapped(f"{one.name}: {type_in_words(hints[one.name])}", width, "  ", " " * 6) for one in fields]
    facts = [
        _encoding_facts(cls) if hasattr(cls, "HOOKS") else "",
        _floors(cls) if issubclass(cls, Task) and cls.test_batch is Task.test_batch else "",
        prose(getattr(cls, "citation", "")),
    ]
    return "\n".join([*lines, *(wrapped(fact, width, "\n", "") for fact in facts if fact)])


def _floors(cls: Any) -> str:
    """What answers get at the longest training length that do not look at the input, or from there to twice that length
    not at what is asked.
    """
    try:
        task = cls()
    except TypeError:  # a required field
        return ""
    kind, longest = kind_of(task.metric), task.train_lengths[-1]
    floor, shortcut = floors(task, (longest,))[longest], task.shortcut_score(range(longest + 1, 2 * longest + 1))
    said = f"At length {longest}, in {kind.title}: an answer that does not look at the input scores {kind.show(floor)}"
    beyond = f"; from {longest + 1} to {2 * longest}, a shortcut ({task.shortcut}) scores"
    return said if shortcut is None else f"{said}{beyond} {kind.show(shortcut)}"


def _encoding_facts(cls: Any) -> str:
    try:
        facts = f"Acts on {', '.join(hook_words([cls()]))}"
    except (TypeError, ValueError):  # a required field
        facts = "Acts on what its fields say"
    return facts + "; shift invariant" * (cls.shift_invariant is True) + "; causal only" * (cls.causal_only is True)


def _fields(cls: Any) -> str:
    fields = dataclasses.fields(cls)
    defaults = [f"={field.default!r}" if field.default is not dataclasses.MISSING else "" for field in fields]
    return ", ".join(field.name + default for field, default in zip(fields, defaults)) or "none"
