"""Markdown: text and code escaped, and a table of both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from posenc_jax.drawing.plain import plain


def escaped(text: str) -> str:
    """Text as it is, on one line."""
    return re.sub(r"([\\|*_<>`])", r"\\\1", plain(text)).replace("\n", " ")


def code(text: str) -> str:
    """Code as an entry of a table."""
    return "`" + plain(text).replace("|", "\\|") + "`"


def grid(columns: Sequence[str], align: Sequence[str], entries: Sequence[Sequence[str]]) -> str:
    """A table of ``entries``, line by line, that are Markdown; ``align`` has l or r for each column."""
    lines = [columns, ["---" if letter == "l" else "---:" for letter in align], *entries]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
