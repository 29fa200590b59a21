"""JSON that others may have written: read to a bounded depth, and compared with the shape that its reader relies on.

A shape is a type or a tuple of types (a bool is no int, an int is a float), ``[shape]`` for a list of them, ``{str:
shape}`` for an object with any names, or ``{"name": shape, "other?": shape}`` for one with these names, of which those
with ``?`` may be missing or null, and whatever else.
"""

import json
from typing import Any

MOST_LEVELS = 50
Shape = Any
Json = dict[str, Any]
"""An object in JSON: what a document or a row of ours holds."""


def loads(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError where it is none, or nested deeper than anything of ours."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [value]
    for _ in range(MOST_LEVELS):
        if any(type(v) is int and abs(v) >= 2**63 for v in level):
            raise ValueError("it has a whole number of more than 64 bits")
        level = [m for v in level if type(v) in _INNER for m in (v.values() if type(v) is dict else v)]
        if not level:
            break
    else:
        raise ValueError(_TOO_DEEP)
    words = text if isinstance(text, str) else text.decode("latin-1")
    if "\\" in words or not words.isascii():  # only then a text may have half a character
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it has a text with half a character") from None
    return value


_INNER = (dict, list)
_TOO_DEEP = f"it is nested deeper than {MOST_LEVELS} levels"


def problem(value: Any, shape: Shape, name: str = "it", *, strict: bool = False) -> str:
    """The first difference of a value from a shape in words: ``seeds[2] is a text, not a whole number``; or "".

    Args:
      strict: whether names that a shape with names does not have are a difference too.
    """
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _wrong(value, name, "a list")
        members = enumerate(value)
        return _first(problem(member, shape[0], f"{name}[{number}]", strict=strict) for number, member in members)
    if not isinstance(shape, dict):
        kinds = shape if isinstance(shape, tuple) else (shape,)
        return "" if _is_one(value, kinds) else _wrong(value, name, " or ".join(map(_kind, kinds)))
    if not isinstance(value, dict):
        return _wrong(value, name, "an object")
    if str in shape:
        return _first(problem(member, shape[str], _inner(name, word), strict=strict) for word, member in value.items())
    found = _first(_of_member(value, word, inner, name, strict) for word, inner in shape.items())
    known = [word.removesuffix("?") for word in shape]
    unknown = [word for word in value if word not in known] if strict and known else []
    return found or (f"{name} has {unknown[0]!r}, and may have {', '.join(known)}" if unknown else "")


def _of_member(value: dict[str, Any], word: str, shape: Shape, name: str, strict: bool) -> str:
    own = word.removesuffix("?")
    if word.endswith("?") and value.get(own) is None:
        return ""
    return problem(value[own], shape, _inner(name, own), strict=strict) if own in value else f"{name} lacks {own!r}"


def _inner(name: str, word: str) -> str:
    return word if name == "it" else f"{name}.{word}"


def _first(problems: Any) -> str:
    return next(filter(None, problems), "")


def _is_one(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (isinstance(value, int) and float in kinds)


def _wrong(value: Any, name: str, wanted: str) -> str:
    return f"{name} is {_kind(type(value))}, not {wanted}"


def _kind(kind: type) -> str:
    words = {dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number", bool: "a bool"}
    return words.get(kind, "null")
