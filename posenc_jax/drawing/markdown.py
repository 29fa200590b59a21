"""Markdown: text and code escaped, and a table of both."""

import re
from collections.abc import Sequence

from posenc_jax.drawing.plain import plain

_READ = re.compile(r"[\\|*_<>`$~]|&(?=#?\w+;)|\](?=[(\[:])|^(?:#+|[-+])(?= )")


def escaped(text: str) -> str:
    """Text as it is, on one line: no markup, no formula, no entity, no link."""
    return _READ.sub(r"\\\g<0>", plain(text).replace("\n", " "))


def code(text: str) -> str:
    """Code as an entry of a table."""
    text = plain(text).replace("|", "\\|").replace("\n", " ")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def refilled(page: str, begin: str, new: str, end: str) -> str:
    """A page with something else between two of its lines; ValueError where it does not have them."""
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"the page lacks the marks for it: write the two lines {begin} and {end} into it")
    return f"{before}{begin}\n{new}\n{end}{after}"


def grid(columns: Sequence[str], align: Sequence[str], entries: Sequence[Sequence[str]]) -> str:
    """A table of ``entries``, line by line, that are Markdown; ``align`` has l or r for each column."""
    lines = [columns, ["---" if letter == "l" else "---:" for letter in align], *entries]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
