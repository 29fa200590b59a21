"""Tables that are no test at our size: declared here once; the README of each folder says why."""

from __future__ import annotations

from typing import NamedTuple

from posenc_jax.drawing.markdown import code
from posenc_jax.verdict.finding import listed
from posenc_jax.verdict.published import Direction


class NotATest(NamedTuple):
    """What a folder of ``experiments/tables`` does not test.

    Attributes:
      of: what of it, as the bold sentence of its README continues.
      table: the only one of its tables that is meant; "": all.
      arms: those between which alone it is no test; none: all.
      verdict: the table of verdicts that is made of it; "": none.
    """

    of: str = ""
    table: str = ""
    arms: tuple[str, ...] = ()
    verdict: str = ""

    @property
    def sentence(self) -> str:
        """The sentence of the README."""
        return f"**At this size the table is not a test{self.of}.**"


NOT_TESTS = {
    "arrow_grid": NotATest(
        " between the two rotary encodings", arms=("RoPE-Mixed", "axial RoPE"), verdict="arrow_grid"
    ),
    "counting": NotATest(verdict="counting"),
    "indirect_indexing": NotATest(verdict="indirect_indexing"),
    "log_scaling": NotATest(" of NoPE", arms=("NoPE", "NoPE, log n")),
    "needles": NotATest(),
    "nope_layers": NotATest(
        " of one and two layers", arms=tuple(f"{layers} of 4 layers without" for layers in range(3))
    ),
    "state": NotATest(" of parity", table="parity", verdict="parity"),
}
"""By folder."""
MARK = "(not a test at this size)"
_VERDICTS = {own.verdict for own in NOT_TESTS.values()} - {""}


def is_tested(folder: str, direction: Direction) -> bool:
    """Whether our size tests a direction of a folder."""
    own = NOT_TESTS.get(folder)
    if own is None or (own.table and direction.selection.table != own.table):
        return True
    return bool(own.arms) and not {direction.better, direction.worse} <= {*own.arms}


def of_verdicts(table: str) -> str:
    """The name of a table of verdicts, marked if it is no test."""
    return f"{code(table)} {MARK}" if table in _VERDICTS else code(table)


def of_folder(folder: str, table: str) -> str:
    """The name of a folder's table, marked if it is no test."""
    own = NOT_TESTS.get(folder)
    if own is None or (own.table and own.table != table):
        return code(table)
    return f"{code(table)} {MARK.replace('test', f'test{own.of}') if own.arms else MARK}"


def on(tables: list[str]) -> str:
    """Tables of verdicts in a sentence, those that are no tests last."""
    kinds = [name for name in tables if name not in _VERDICTS], [name for name in tables if name in _VERDICTS]
    parts = [listed([code(name) for name in names]) for names in kinds if names]
    if kinds[1]:
        parts[-1] += f" {MARK}" if len(kinds[1]) == 1 else f" {MARK.replace('a test', 'tests')}"
    return ", and on ".join(parts)
