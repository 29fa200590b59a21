"""Tables and vectors as the pages print them."""

from collections.abc import Iterable, Sequence
from typing import Any

from posenc_jax.drawing.markdown import grid
from posenc_jax.drawing.plain import number


class MarkdownTable(str):
    """Markdown that a notebook renders."""

    def _repr_markdown_(self) -> str:
        return str(self)


def table(
    head: str | Iterable[object], rows: Iterable[Sequence[object]], digits: int | Sequence[int] = 4
) -> MarkdownTable:
    """A Markdown table.

    Args:
      head: the titles, one by one or in one text as ``"d | K(1) | K(6)"``.
      rows: the lines.
      digits: decimals of floats, in all columns or one number for each.
    """
    columns = [str(title).strip() for title in (head.split("|") if isinstance(head, str) else head)]
    places = [digits] * len(columns) if isinstance(digits, int) else digits
    lines = [[number(x, n) if isinstance(x, float) else str(x) for x, n in zip(row, places)] for row in rows]
    return MarkdownTable(grid(columns, "l" * len(columns), lines))


def vector(values: Iterable[Any], digits: int = 4) -> str:
    """Numbers of a vector on one line."""
    return " ".join(f"{number(value, digits):>{digits + 3}}" for value in values)
