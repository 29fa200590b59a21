"""Tables and vectors as the pages print them."""

from collections.abc import Iterable, Sequence
from typing import Any

from posenc_jax.drawing.markdown import grid
from posenc_jax.drawing.plain import number


def table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    return grid(list(map(str, head)), "l" * len(head), [list(map(str, row)) for row in rows])


def vector(values: Iterable[Any], digits: int = 4) -> str:
    """Numbers of a vector on one line."""
    return " ".join(f"{number(value, digits):>{digits + 3}}" for value in values)
