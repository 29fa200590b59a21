"""The rule for the names of the user's own classes: strings, labels, columns and files call a class by its name, and
have to mean that class or none.
"""

import dataclasses
import keyword
import unicodedata
from collections.abc import Iterable
from typing import Any

from posenc_jax.config.stored import is_own, type_name, values_in
from posenc_jax.data.metric import Metric
from posenc_jax.data.tasks import TASKS, Task
from posenc_jax.data.text import TEXT_TASKS
from posenc_jax.encodings import REGISTERED, PositionalEncoding, RoPEScaling
from posenc_jax.encodings.interface.parsing import word_of
from posenc_jax.encodings.interface.structure import MASKS, StructureMask

LONGEST = 80


def _words(classes: Iterable[Any]) -> frozenset[str]:
    return frozenset(word for cls in classes for word in (word_of(cls), cls.__name__.lower()))


_KINDS: dict[str, tuple[tuple[type, ...], frozenset[str]]] = {
    "encoding": ((PositionalEncoding, RoPEScaling), _words(REGISTERED) | {"nope"}),
    "task": ((Task,), _words((*TASKS.values(), *TEXT_TASKS.values()))),
    "mask": ((StructureMask,), _words(MASKS.values())),
    "metric": ((Metric,), frozenset()),
}
"""What is named -> its base classes, and the words that are taken."""


def wrong_word(word: Any, kind: str) -> str:
    """The fault of the name of an own ``kind`` ("encoding", "task", "mask", "metric"), as words after "name = "; "" for
    a valid name.

    >>> wrong_word("my_window", "encoding")
    ''
    >>> wrong_word("RoPE", "encoding")[:51]
    "'RoPE', which is an encoding of posenc_jax, and res"
    """
    plain = unicodedata.normalize("NFKC", word).lower() if type(word) is str else ""  # as Python reads identifiers
    if plain in _KINDS[kind][1]:
        a = "an" if kind == "encoding" else "a"
        return (
            f"{word!r}, which is {a} {kind} of posenc_jax, and results would not tell the two apart: choose another, "
            f"as my_{plain}"
        )
    if plain.isidentifier() and word == plain and not keyword.iskeyword(plain) and len(plain) <= LONGEST:
        return ""
    shown = " ".join(repr(word).split())
    shown = shown if len(shown) <= LONGEST else f"{shown[:40]}..."
    return (
        f"{shown}, and a name is an identifier of Python in lower case, of at most {LONGEST} characters: write one, as "
        "my_window"
    )


def wrong_name(cls: type) -> str:
    """The fault of the name of a class, from `wrong_word`; "" for one of this package, or of no such kind."""
    kind = _kind_of(cls)
    return wrong_word(word_of(cls), kind) if kind else ""


def check_names(config: Any) -> None:
    """Refuses (ValueError) an own class in a config whose name is none, or is that of another class of its kind, and an
    own value that would be another one when it is read again.
    """
    for value in values_in(config):
        if not _kind_of(type(value)):
            continue
        again = dataclasses.replace(value)  # type: ignore[type-var]
        if again != value:
            raise ValueError(
                f"{type_name(type(value))} changes its fields when it is made: {value} becomes {again} when it is read "
                "again: compute what follows from a field in a method"
            )
    found: dict[tuple[str, str], type] = {}
    for cls in dict.fromkeys(type(value) for value in values_in(config)):
        if not (kind := _kind_of(cls)):
            continue
        if wrong := wrong_name(cls):
            raise ValueError(f"{type_name(cls)} has name = {wrong}")
        other = found.setdefault((kind, word_of(cls)), cls)
        if type_name(other) != type_name(cls):  # two of one file are told apart by their modules elsewhere
            raise ValueError(
                f"{type_name(other)} and {type_name(cls)} both have name = {word_of(cls)!r}, and results would not "
                "tell the two apart: give one of them another"
            )


def _kind_of(cls: type) -> str:
    """The kind of an own class; "" for other classes and those of this package."""
    if not is_own(cls):
        return ""
    return next((kind for kind, (bases, _) in _KINDS.items() if issubclass(cls, bases)), "")
