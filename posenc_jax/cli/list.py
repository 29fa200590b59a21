"""``posenc list``: the encodings and tasks that there are."""

import dataclasses
import re
from typing import Annotated, Any

from posenc_jax.analysis.described import ways
from posenc_jax.cli.errors import UsageError, whole
from posenc_jax.cli.options import command
from posenc_jax.cli.screen import columns, show
from posenc_jax.drawing.plain import short
from posenc_jax.encodings.catalogue import CATALOGUE, selected
from posenc_jax.encodings.interface.method import USES, Method, MethodFamily, Use
from posenc_jax.refusals import did_you_mean
from posenc_jax.show.descriptions import in_full, task_in_brief, wrapped


def _list(
    word: Annotated[str | None, "encodings|tasks|NAME|FILE.py:Class"] = None,
    *,
    family: Annotated[MethodFamily | None, "FAMILY"] = None,
    use: Use | None = None,
    axes: Annotated[int | None, whole(1, 9)] = None,
    since: Annotated[int | None, whole(1900, 9999), "YEAR"] = None,
) -> None:
    """List encodings and tasks in brief, or describe one in full: an encoding (a catalogue name or a word of
    a spec), a value of an encoding's field, a mask, a task, or a class in your own file. The file is then run.

    Args:
      word: what to show (default: all)
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
    asked = {"family": family, "use": use, "axes": axes, "since": since}
    if given := [f"--{name} {value}" for name, value in asked.items() if value is not None]:
        if word not in (None, "encodings"):
            raise UsageError(f"{short(word)} beside options that choose encodings: leave one of them out")
        if not (found := selected(family=family, use=use, axes=axes, since=since)):
            raise UsageError(f"no encoding of the catalogue is of {' '.join(given)}: choose other values")
        show(_rows(found))
    elif word in (None, "encodings", "tasks"):
        show("\n".join([*_encodings() * (word != "tasks"), *_tasks() * (word != "encodings")]))
    else:
        show(_described(word))


def _encodings() -> list[str]:
    from posenc_jax.encodings import ENCODINGS, SCALINGS
    from posenc_jax.encodings.interface.structure import MASKS

    lines = ["Encodings. Join them with | in the order in which they act; nope means none.\n"]
    lines += [_rows({family: rows for family, rows in CATALOGUE.items() if rows})]
    for title, words in {
        "Words in these specs, for `posenc list WORD`": sorted(ENCODINGS),
        "and values of their fields": sorted(SCALINGS),
        "Masks from the structure of documents, for model.mask": sorted(MASKS),
    }.items():
        lines += [f"\n{title}:", _wrap(", ".join(words), "  ")]
    return lines


def _tasks() -> list[str]:
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.data.text import TEXT_TASKS

    tasks, of_texts = (
        "\n\n".join(task_in_brief(task, _width()) for task in some.values()) for some in (TASKS, TEXT_TASKS)
    )
    return ["\nTasks.\n", tasks, "\nTasks on text. `posenc data list` shows their corpora.\n", of_texts]


def _rows(found: dict[Any, tuple[Method, ...]]) -> str:
    return "\n\n".join("\n".join([family, *map(_row, methods)]) for family, methods in found.items())


def _row(method: Method) -> str:
    return f"{_wrap(f'{method.name} ({method.paper})', '  ', '    ')}\n{_wrap(method.spec, ' ' * 6, ' ' * 8)}"


def _described(word: str) -> str:
    from posenc_jax.data.tasks import TASKS
    from posenc_jax.data.text import TEXT_TASKS
    from posenc_jax.encodings import ENCODINGS, SCALINGS
    from posenc_jax.encodings.interface.structure import MASKS

    words: dict[str, Any] = {**SCALINGS, **MASKS, **TASKS, **TEXT_TASKS, **ENCODINGS}
    methods = {method.name: method for family in CATALOGUE.values() for method in family}
    if word in words:
        return _details(words[word], methods)
    if ".py:" in word:
        return _own(word)
    method = next((m for name, m in methods.items() if name.lower() == word.lower()), None)
    if method is None:
        hint = did_you_mean(word, ["encodings", "tasks", *words, *methods], "`posenc list` shows all")
        raise UsageError(f"there is no encoding or task {short(word)!r}; {hint}")
    return _method_details(method, words)


def _own(text: str) -> str:
    from posenc_jax.cli.own_files import own_class
    from posenc_jax.encodings import Value

    file, _, name = text.rpartition(":")
    cls = own_class(file, name)
    if not (issubclass(cls, Value) and dataclasses.is_dataclass(cls)):
        raise UsageError(f"{text} is no encoding, task, metric or mask: a frozen dataclass with their base class")
    return _details(cls, {})


def _method_details(method: Any, words: dict[str, Any]) -> str:
    from posenc_jax.encodings import parse

    facts = {"string": method.spec, "paper": f"{method.paper}, {method.link}", "note": method.note}
    facts |= {"use": f"{method.use}, {USES[method.use]}", "attention in O(T) memory": ways(parse(method.spec))}
    lines = [method.name, *(_wrap(f"{name}: {fact}", "  ") for name, fact in facts.items() if fact)]
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


def _details(cls: Any, methods: dict[str, Any]) -> str:
    using = [method for method in methods.values() if getattr(cls, "name", "") in _words_of(method.spec)]
    lines = [in_full(cls, _width()), *["", "In the catalogue:"] * bool(using)]
    for method in using:
        lines += [_wrap(f"{method.name}: {method.spec}", "  ", "      "), *_verdicts(method, " " * 6)]
    return "\n".join(lines)


def _wrap(text: str, first: str, rest: str | None = None) -> str:
    return wrapped(text, _width(), first, rest)


def _width() -> int:
    return min(max(columns(), 40), 120)


main = command(_list)
