"""Pages that compute: their cells run from top to bottom, in one namespace, and give what stands below them.

A cell is a block that begins with ``{code-cell} python``; ``{eval}`` and an expression between backticks is the value
of the expression, in a sentence or a table. Both are read as MyST-NB reads them.
"""

import ast
import contextlib
import dataclasses
import io
import re
from typing import Any

_PART = re.compile(r"^```\{code-cell\} python\n(.*?)^```$|\{eval\}`([^`]+)`", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class CodeCell:
    """The code of a cell, what it printed, and the value of its last line, which is Markdown."""

    code: str
    printed: str = ""
    shown: str = ""

    @property
    def source(self) -> str:
        """The cell as it stands on its page."""
        return f"```{{code-cell}} python\n{self.code}```"

    def __str__(self) -> str:
        """The cell with what it gave."""
        printed = f"\n\nIt prints\n\n```text\n{self.printed.rstrip()}\n```" if self.printed else ""
        return f"```python\n{self.code}```{printed}" + (f"\n\n{self.shown}" if self.shown else "")


def run(page: str, names: dict[str, Any], *, dry: bool = False) -> list[str | CodeCell]:
    """The text of a page, with its numbers, and its cells in turn, run in ``names``.

    ``dry``: nothing is run, so that expressions stand where numbers would, and cells give nothing.
    """
    found: list[str | CodeCell] = []
    end = 0
    for part in _PART.finditer(page):
        code, value = part.groups()
        if code:
            of_part: str | CodeCell = CodeCell(code) if dry else _ran(code, names)
        else:
            of_part = f"`{value}`" if dry else str(eval(value, names))
        found += [page[end : part.start()], of_part]
        end = part.end()
    return [*found, page[end:]]


def _ran(code: str, names: dict[str, Any]) -> CodeCell:
    tree = ast.parse(code)
    last = tree.body[-1]
    ends = last.value if isinstance(last, ast.Expr) else None
    tree.body = tree.body[:-1] if ends else tree.body
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "a cell", "exec"), names)
        value = eval(compile(ast.Expression(ends), "a cell", "eval"), names) if ends else None
    return CodeCell(code, printed.getvalue(), "" if value is None else str(value))
