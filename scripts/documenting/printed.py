"""Pages whose Python is run from top to bottom, as one program: what a block prints stands after it as ``text``.

Such a page has the comment `MARKER`; scripts/quote writes what is printed, and tests/test_pages.py compares.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from typing import Any

MARKER = "<!-- what is printed here is written by scripts/quote -->"
_BLOCK = re.compile(
    r"(<!-- not run: .* -->\n)?^```python\n(.*?)^```\n(\n```text\n.*?^```\n)?", re.MULTILINE | re.DOTALL
)


def is_printed(text: str) -> bool:
    """True for a page that asks for what its code prints."""
    return MARKER in text


def refilled(text: str) -> str:
    """A page with what its blocks print today, all in one namespace and an empty folder; other pages as they are."""
    names: dict[str, Any] = {"__name__": "page"}

    def run(block: re.Match[str]) -> str:
        excuse, code, _ = block.groups()
        printed = io.StringIO()
        if not excuse:
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "a page", "exec"), names)
        shown = f"\n```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
        return f"{excuse or ''}```python\n{code}```\n{shown}"

    if not is_printed(text):
        return text
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _BLOCK.sub(run, text)


def as_cells(text: str) -> str:
    """Such a page with the blocks that run as cells of MyST, and without what they print."""
    cell = lambda m: m[0] if m[1] else f"```{{code-cell}}\n{m[2]}```\n"  # noqa: E731
    return _BLOCK.sub(cell, text.replace(f"{MARKER}\n\n", ""))
