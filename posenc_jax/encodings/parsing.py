"""Slots as strings, for command lines, tables and file names: ``"randomized(max_position=2048)|rope(base=5e5)"``."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import math
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from posenc_jax.encodings.base import PositionalEncoding
from posenc_jax.encodings.slots import Slot, is_pattern
from posenc_jax.encodings.value import Value, field_types

Values = tuple[type[Value], ...]

MOST_CHARACTERS = 10_000
MOST_ELEMENTS = 500
MOST_NESTING = 20
"""Bounds of a string: of its length, of the elements in all its layers, and of calls, brackets and signs in each."""


def parse(text: str, known: Mapping[str, type[PositionalEncoding]], values: Values) -> Slot:
    """See `posenc_jax.encodings.parse`. ``values``: the classes that a field takes whose annotation names a base class
    of theirs.
    """
    if not text.strip():
        return ()
    _check_size(len(text), MOST_CHARACTERS, "characters", text)
    _check_size(text.count("|") + text.count("/") + 1, MOST_ELEMENTS, "elements", text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        why = f"{error.msg} at character {error.offset}" if isinstance(error, SyntaxError) else error
        raise ValueError(
            f"cannot read the encoding {_short(text)} ({why}): write calls joined by | in "
            "a layer and by / between layers, as in 'randomized(max_position=2048)|rope(base=5e5)' or 'rope/rope/nope'"
        ) from None
    except (MemoryError, RecursionError):  # what Python's parser says of deep nesting
        _check_size(MOST_CHARACTERS, MOST_NESTING, "levels of nesting", text)
        raise
    groups: list[list[PositionalEncoding]] = [[]]
    for operator, leaf in _leaves(tree, text):
        _check_size(_depth(leaf), MOST_NESTING, "levels of nesting", text)
        if isinstance(operator, ast.Div):
            groups.append([])
        if not (isinstance(leaf, ast.Name) and leaf.id.lower() == "nope"):
            groups[-1].append(_call(leaf, _by_word(known), "encoding", values))
    slots = tuple(tuple(group) for group in groups)
    return slots if len(slots) > 1 else slots[0]


def spec(slot: Slot | Value) -> str:
    """The shortest string with ``parse(spec(slot)) == slot``: only fields that differ from their defaults.

    An encoding gives the string of the slot that holds it alone; floats are written by ``repr``. (A pattern of one
    group reads back as that group.)

    >>> from posenc_jax.encodings import parse
    >>> spec(parse("rope(layout='interleaved', base=5e5) | nope"))
    'rope(base=500000.0)'
    """
    if isinstance(slot, Value):
        return _literal(slot)
    if is_pattern(slot):
        return "/".join(spec(group) for group in slot)
    return "|".join(spec(element) for element in slot) or "nope"


def _literal(value: Any) -> str:
    if isinstance(value, Value):
        changed = []
        for field in dataclasses.fields(value):  # type: ignore[arg-type]
            current = getattr(value, field.name)
            if current != field.default:
                changed.append(f"{field.name}={_literal(current)}")
        return _word(type(value)) + (f"({', '.join(changed)})" if changed else "")
    if isinstance(value, tuple):
        return "(" + "".join(_literal(v) + ", " for v in value).removesuffix(" " if len(value) == 1 else ", ") + ")"
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return repr(value)


def _word(cls: type[Value]) -> str:
    return getattr(cls, "name", cls.__name__.lower())


def _by_word(classes: Mapping[str, type[Value]]) -> dict[str, type[Value]]:
    """Classes by their word and, as people write them, by their own name in lower case."""
    return {cls.__name__.lower(): cls for cls in classes.values()} | dict(classes)


def _leaves(node: ast.expr, text: str) -> Iterator[tuple[ast.operator | None, ast.expr]]:
    """The elements from left to right, each with the operator before it (in Python / binds closer than |, here not)."""
    before: ast.operator | None = None
    todo: list[tuple[ast.operator | None, ast.expr]] = [(None, node)]
    while todo:
        operator, node = todo.pop()
        before = operator or before  # of a group in brackets it stands before the first element
        if not isinstance(node, ast.BinOp):
            yield before, node
            before = None
            continue
        if not isinstance(node.op, ast.BitOr | ast.Div):
            raise ValueError(
                f"cannot read the encoding {_short(text)}: join the elements of a layer by | and layers by /"
            )
        todo += [(node.op, node.right), (None, node.left)]


def _depth(node: ast.AST) -> int:
    """How deep an element is nested."""
    deepest, level = 0, [node]
    while level:
        deepest, level = deepest + 1, [inner for outer in level for inner in ast.iter_child_nodes(outer)]
    return deepest


def _check_size(size: int, most: int, of_what: str, text: str) -> None:
    if size > most:
        count = f"has {size:,}" if of_what != "levels of nesting" else "has more"
        raise ValueError(f"the encoding {_short(text)} {count} {of_what}, and {most:,} are allowed: write it shorter")


def _short(text: str) -> str:
    """A string in a message: of a long one the beginning and the end."""
    return repr(text) if len(text) <= 200 else f"{text[:60]!r}...{text[-20:]!r}"


def _source(node: ast.expr) -> str:
    return _short(ast.unparse(node))


def _call(node: ast.expr, classes: Mapping[str, type[Value]], what: str, values: Values) -> Any:
    """The value of a call, or of a bare name; ``classes`` by the words allowed here."""
    function, args, keywords = (node.func, node.args, node.keywords) if isinstance(node, ast.Call) else (node, [], [])
    if not isinstance(function, ast.Name):
        raise ValueError(f"{_source(node)} is not an {what}: write a name with arguments, as in rope(base=5e5)")
    if function.id.lower() not in classes:
        hint = _nearest(function.id.lower(), classes)
        words = list(dict.fromkeys(_word(cls) for cls in classes.values()))
        ways = "`posenc list` shows all" if what == "encoding" else f"it takes {_listed(words, 'no calls')}"
        raise ValueError(f"unknown {what} {_short(function.id)}{hint} ({ways})")
    cls = classes[function.id.lower()]
    fields = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    if len(args) > len(fields):
        ways = _listed(fields, "none")
        raise ValueError(f"{_source(node)} has {len(args)} arguments, but {cls.__name__} has {ways}")
    named = list(zip(fields, args)) + [(keyword.arg, keyword.value) for keyword in keywords]
    given: dict[str, Any] = {}
    for field, value in named:
        if field not in fields:
            hint = _nearest(field or "**", fields)
            raise ValueError(f"{cls.__name__} has no field {field or '**'!r}{hint} (it has {_listed(fields, 'none')})")
        if field in given:
            raise ValueError(f"{_source(node)} gives the field {field!r} twice: leave one out")
        inner = {_word(c): c for c in _values_in(field_types(cls)[field], values)}  # type: ignore[arg-type]
        given[field] = _argument(value, _by_word(inner), f"{cls.__name__}.{field}", values)
    missing = [f.name for f in dataclasses.fields(cls) if _required(f) and f.name not in given]  # type: ignore[arg-type]
    if missing:
        example = ", ".join(f"{field}=..." for field in missing)
        raise ValueError(f"{cls.__name__} needs {_listed(missing, 'nothing')}: write {_word(cls)}({example})")
    return cls(**given)


def _required(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _argument(node: ast.expr, classes: Mapping[str, type[Value]], name: str, values: Values) -> Any:
    """A literal, a tuple, or the call of a value that the field's annotation allows."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_argument(element, classes, name, values) for element in node.elts)
    if isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id.lower() in classes):
        return _call(node, classes, f"value of {name}", values)
    try:
        return ast.literal_eval(node)
    except ValueError:
        text = ast.unparse(node)
        hint = f"; write {text!r} if a string is meant" if isinstance(node, ast.Name) else ""
        raise ValueError(f"{name} = {text} must be a literal: a number, string, bool, None or tuple{hint}") from None


def _values_in(annotation: Any, values: Values) -> list[type[Value]]:
    """The value classes that an annotation allows, at any depth: of a base class those of ``values``."""
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return [cls for cls in values if issubclass(cls, annotation)] or [annotation]
    return [cls for member in typing.get_args(annotation) for cls in _values_in(member, values)]


def _nearest(word: str, words: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(words), n=1)
    return f": did you mean {near[0]!r}?" if near else ""


def _listed(words: list[str], none: str) -> str:
    return ", ".join(words) or none
