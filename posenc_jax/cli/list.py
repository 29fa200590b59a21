"""``posenc list``: the encodings and tasks that there are."""

import dataclasses
import difflib
import inspect
import re
import shutil
import textwrap
import types
import typing
from typing import Annotated, Any

from posenc_jax.cli.errors import UsageError, guarded, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import show, tell
from posenc_jax.drawing.bibtex import prose
from posenc_jax.drawing.plain import short
from posenc_jax.refusals.hints import did_you_mean

# What an encoding acts on, in words; `token_terms` serve the other hooks.
_HOOK_WORDS = {
    "map_positions": "positions",
    "embed": "input embeddings",
    "encode_queries": "queries",
    "encode_keys": "keys",
    "encode_values": "values",
    "encode_outputs": "outputs",
    "bias": "logits (by position)",
    "score": "the product of queries and keys",
    "content_bias": "logits (by content)",
    "adjust_logits": "the sum of logits and biases",
    "normalize": "the softmax",
    "value_term": "values",
}


def _list(
    words: Annotated[tuple[str, ...], "encodings | tasks | NAME | FILE.py:Class"] = (),
    *,
    family: str | None = None,
    use: str | None = None,
    axes: Annotated[int | None, whole(1, 9)] = None,
    since: Annotated[int | None, whole(1900, 9999), "YEAR"] = None,
) -> int:
    """List encodings and tasks in brief, or describe one in full: an encoding (a catalogue name or a word of
    a spec), a value of an encoding's field, a mask, a task, or a class in your own file. The file is then run.

    Args:
      words: what to show (default: all)
      family: list encodings of this family, such as rotary
      use: list encodings used this widely: W in released models, s in several repositories, p in a paper
      axes: list encodings of positions with this many axes, such as 2 for images
      since: list encodings published in YEAR or later

    Examples:
      posenc list
          list everything in brief
      posenc list --use W --since 2024
          list encodings in released models, from papers of 2024 or later
      posenc list yarn
          describe an encoding, value or task: its fields, formula and paper
    """
    asked_of: dict[str, Any] = {"family": family, "use": use, "axes": axes, "since": since}
    if any(value is not None for value in asked_of.values()):
        if others := [word for word in words if word != "encodings"]:
            raise UsageError(f"{short(others[0])} beside options that choose encodings: leave one of them out")
        show(_chosen(**asked_of))
        return 0
    return _listed(words)


def _chosen(*, family: Any, use: Any, axes: int | None, since: int | None) -> str:
    from posenc_jax.encodings.catalogue import CATALOGUE, selected
    from posenc_jax.encodings.method import USES

    for option, value, known in (("--family", family, CATALOGUE), ("--use", use, USES)):
        if value is not None and value not in known:
            hint = did_you_mean(str(value), known)
            shown = short(value) or "''"
            raise UsageError(f"{option} {shown} is none of {', '.join(known)}{hint and f': {hint}'}")
    found = selected(family=family, use=use, axes=axes, since=since)
    if not found:
        given = {"family": family, "use": use, "axes": axes, "since": since}
        options = [f"--{name} {value}" for name, value in given.items() if value is not None]
        all_of, way_out = ("all of ", "leave one out") if len(options) > 1 else ("of ", "choose another value")
        what = f"no encoding of the catalogue is {all_of}{' '.join(options)}"
        raise UsageError(f"{what}: {way_out}; `posenc list` shows all")
    return "\n\n".join(f"{name}\n" + "\n".join(map(_row, rows)) for name, rows in found.items())


def _listed(arguments: tuple[str, ...]) -> int:
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.data.text import TEXT_TASKS
    from posenc_jax.encodings import ENCODINGS, SCALINGS
    from posenc_jax.encodings.catalogue import CATALOGUE
    from posenc_jax.encodings.structure import MASKS

    words: dict[str, Any] = {**SCALINGS, **MASKS, **TASKS, **TEXT_TASKS, **ENCODINGS}
    methods = {method.name: method for family in CATALOGUE.values() for method in family}
    asked = arguments[0] if arguments else ""
    if asked in words and len(arguments) == 1:
        show(_details(words[asked], methods))
        return 0
    if ".py:" in asked and len(arguments) == 1:
        return guarded(lambda: _own(asked))
    method = next((m for name, m in methods.items() if name.lower() == asked.lower()), None)
    if method is not None and len(arguments) == 1:
        show(_method_details(method, words))
        return 0
    kind_of_list = not arguments or asked in ("encodings", "tasks")
    if not kind_of_list or len(arguments) > 1:
        known = kind_of_list or asked in words or method is not None
        wrong = arguments[1] if known else asked
        near = difflib.get_close_matches(wrong, ["encodings", "tasks", *words, *methods], n=1)
        hint = f"; did you mean {near[0]!r}?" if near and near[0] != wrong else "; one word at a time:" if near else ""
        tell(f"posenc: there is no encoding or task {short(wrong)!r}{hint} `posenc list` shows all.")
        return 2
    if asked != "tasks":
        show("Encodings. Join them with | in the order in which they act; nope means none.\n")
        for family, rows in CATALOGUE.items():
            if rows:
                show(f"{family}\n" + "\n".join(map(_row, rows)) + "\n")
        show("Words in these specs, for `posenc list WORD`:\n" + _wrap(", ".join(sorted(ENCODINGS)), "  "))
        show("\nand values of their fields:\n" + _wrap(", ".join(sorted(SCALINGS)), "  "))
        show("\nMasks from the structure of documents, for model.mask:\n" + _wrap(", ".join(sorted(MASKS)), "  "))
    if not asked:
        show()
    if asked != "encodings":
        show("Tasks.\n")
        show("\n\n".join(_entry(cls, _task_facts(cls)) for cls in TASKS.values()))
        show("\nTasks on text. `posenc data list` shows their corpora.\n")
        show("\n\n".join(_entry(cls, _task_facts(cls)) for cls in TEXT_TASKS.values()))
    return 0


def _own(text: str) -> None:
    from posenc_jax.cli.own_files import own_class
    from posenc_jax.encodings import Value

    file, _, name = text.rpartition(":")
    cls = own_class(file, name)
    if not (issubclass(cls, Value) and dataclasses.is_dataclass(cls)):
        raise UsageError(
            f"{text} is no class of settings: an encoding, task, metric or mask is a frozen dataclass with a base "
            "class of posenc_jax"
        )
    show(_details(cls, {}))


def _row(method: Any) -> str:
    first = _wrap(f"{method.name} ({method.paper})", "  ", "    ")
    return f"{first}\n{_wrap(method.spec, ' ' * 6, ' ' * 8)}"


def _method_details(method: Any, words: dict[str, Any]) -> str:
    from posenc_jax.encodings import parse
    from posenc_jax.encodings.method import USES

    lines = [method.name, _wrap(f"string: {method.spec}", "  "), _wrap(f"paper: {method.paper}, {method.link}", "  ")]
    lines += [_wrap(f"note: {method.note}", "  ")] if method.note else []
    lines += [_wrap(f"use: {method.use}, {USES[method.use]}", "  ")]
    lines += [_wrap(f"attention in O(T) memory: {ways(parse(method.spec))}", "  ")]
    lines += _verdicts(method, "  ")
    made_of = [words[word] for word in _words_of(method.spec) if word in words]
    return "\n".join([*lines, *(f"\n{_details(cls, {})}" for cls in made_of)])


def _verdicts(method: Any, indent: str) -> list[str]:
    from posenc_jax.verdict.evidence import evidence

    own = [found for found in evidence() if found.label == method.name]
    return [_wrap(f"verdict: {found} ({found.record})", indent) for found in own]


def _words_of(spec: str) -> list[str]:
    """The words of a spec that may name encodings and values, each once; strings in it aside."""
    return list(dict.fromkeys(re.findall(r"[a-z_]\w*(?!\w|=)", re.sub(r"'[^']*'", "", spec))))


def _entry(cls: Any, facts: str) -> str:
    from posenc_jax.show.lead import summary

    number = re.search(r"arXiv:[\w.]+\d", f"{cls.paper} {prose(cls.citation)}")
    lines = [summary(cls), f"{facts}; {number[0] if number else cls.paper}", f"fields: {_fields(cls)}"]
    wrapped = [_wrap(line, " " * 4) for line in lines]
    return "\n".join([f"  {cls.name}", *wrapped])


def _details(cls: Any, methods: dict[str, Any]) -> str:
    lines = [
        _wrap(f"{getattr(cls, 'name', cls.__name__)}({_fields(cls)})", "", "    "),
        "",
        _narrowed(inspect.getdoc(cls) or ""),
        "",
    ]
    hints = typing.get_type_hints(cls)
    fields = [
        _wrap(f"{field.name}: {type_in_words(hints[field.name])}", "  ", "      ") for field in dataclasses.fields(cls)
    ]
    lines += ["Fields and their types:", *fields, ""] if fields else ["No fields.", ""]
    lines += [_wrap(_encoding_facts(cls), "") + "\n"] if hasattr(cls, "HOOKS") else []
    lines += [_wrap(prose(cls.citation), "")] if getattr(cls, "citation", "") else []
    using = [method for method in methods.values() if getattr(cls, "name", "") in _words_of(method.spec)]
    lines += ["", "In the catalogue:"] if using else []
    for method in using:
        lines += [_wrap(f"{method.name}: {method.spec}", "  ", "      "), *_verdicts(method, " " * 6)]
    return "\n".join(lines)


def _narrowed(doc: str) -> str:
    """A docstring in lines of the terminal's width: prose and items of lists wrap, formulas and examples stay."""
    parts = []
    for paragraph in doc.split("\n\n"):
        head, _, entries = paragraph.partition("\n")
        if paragraph.startswith((" ", ">>>")):
            parts.append(paragraph)
        elif head in ("Attributes:", "Raises:"):
            lines = re.split(r"\n(?=  \S)", entries)
            parts.append("\n".join([head, *(_wrap(" ".join(line.split()), "  ", "    ") for line in lines)]))
        else:
            items = re.split(r"\n(?=- )", paragraph)
            parts.append("\n".join(_wrap(" ".join(i.split()), "", "  " if i.startswith("- ") else "") for i in items))
    return "\n\n".join(re.sub("::$", ":", part) for part in parts)


def hook_words(encodings: typing.Iterable[Any]) -> list[str]:
    """The parts of attention that encodings act on, in words."""
    acts_on = {hook for encoding in encodings for hook in encoding.acts_on}
    return [word for hook, word in _HOOK_WORDS.items() if hook in acts_on]


def ways(slot: Any) -> str:
    """Paths that compute attention with a slot in memory linear in the length, in words."""
    from posenc_jax.attention import fused_paths

    words = {"cudnn": "cuDNN", "kernel": "kernel"}
    return ", ".join([*(words[path] for path in fused_paths(slot)), "blocks"])


def _encoding_facts(cls: Any) -> str:
    try:
        facts = ["Acts on " + ", ".join(hook_words([cls()]))]
    except (TypeError, ValueError):  # a required field
        facts = ["Acts on what its fields say"]
    facts += ["shift invariant"] * (cls.shift_invariant is True)
    facts += ["parameters per layer"] * cls.per_layer
    facts += ["causal only"] * (cls.causal_only is True)
    facts += ["does not extrapolate"] * (not cls.extrapolates)
    return "; ".join(facts)


def _task_facts(cls: Any) -> str:
    from posenc_jax.data.score_kinds import kind_of

    return f"{cls().model_kind.replace('_', '-')} model, {kind_of(cls.metric).title}"


def _fields(cls: Any) -> str:
    fields = dataclasses.fields(cls)
    defaults = [f"={field.default!r}" if field.default is not dataclasses.MISSING else "" for field in fields]
    return ", ".join(field.name + default for field, default in zip(fields, defaults)) or "none"


def type_in_words(kind: Any) -> str:
    """An annotation as a user writes its values."""
    from posenc_jax.encodings import SCALINGS

    origin, members = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return " or ".join(map(repr, members))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(type_in_words, members))
    if origin is tuple:
        return (
            f"tuple of {type_in_words(members[0])}"
            if Ellipsis in members
            else f"({', '.join(map(type_in_words, members))})"
        )
    if kind is type(None):
        return "None"
    if isinstance(kind, type) and (scalings := [word for word, cls in SCALINGS.items() if issubclass(cls, kind)]):
        return " or ".join(scalings)
    return str(getattr(kind, "name", None) or getattr(kind, "__name__", kind))


def _wrap(text: str, first: str, rest: str | None = None) -> str:
    width = min(max(shutil.get_terminal_size((100, 24)).columns, 40), 120)
    rest = first if rest is None else rest
    return textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


main = command(_list)
