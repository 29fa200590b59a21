"""The rule for several values of one option, field or argument: each is named once."""

from collections.abc import Callable, Iterable
from typing import Any


def refuse_twice(name: str, values: Iterable[Any], key: Callable[[Any], Any] = lambda value: value) -> None:
    """ValueError where one of the values of ``name`` is there again: it would count double, or be dropped unsaid.

    Args:
      key: what must differ.

    >>> refuse_twice("steps", (4, 8, 4))
    Traceback (most recent call last):
    ValueError: steps: 4 is given twice: name each once
    """
    seen = set()
    for value in values:
        if key(value) in seen:
            raise ValueError(f"{name}: {value} is given twice: name each once")
        seen.add(key(value))
