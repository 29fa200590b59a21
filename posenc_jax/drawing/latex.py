"""A table for a paper: LaTeX (booktabs, graphicx) that keeps within the margins of one column and of two."""

import itertools
import re
from collections.abc import Sequence

from posenc_jax.drawing import tex
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import BEST, TextTable, without, wrapped

PACKAGES = ("booktabs", "graphicx")
NARROW, WIDE = 52.0, 80.0
"""What fits into one of two columns, and into a page: widths of a digit at \\footnotesize."""
_SMALL = 0.78  # the width of a character at \scriptsize, as a part of that at \footnotesize
_BETWEEN = 1.5  # the space between two columns
_WORDS = 22  # a longer name wraps
_EQUAL = "(all seeds equal)"


def latex_table(table: TextTable, label: str, least: Sequence[str] = ()) -> str:
    r"""One table. The mean stands above its interval; best and tied ones are bold; the notes stand below.

    A table that does not fit into a column is a ``table*``, which spans both columns of a page that has two. One that
    does not fit into a page loses the columns ``least``, the first of them first, and a note says so; if it is
    still too wide, its further columns go on below.

    Args:
      label: what ``\ref`` finds it by; each run of other characters than ASCII letters, digits and ``_:.-`` becomes
        a hyphen.
    """
    left_out = []
    for column in least:
        if column in table.columns and _widths_of(table, range(len(table.columns))) > WIDE:
            table = without(table, column)
            left_out.append(column)
    blocks = _blocks(table)
    kind = "table" if max(_widths_of(table, block) for block in blocks) <= NARROW else "table*"
    notes = [*table.notes, *([BEST] if table.best else [])]
    notes += [f"Not shown here: {'; '.join(left_out)}."] if left_out else []
    small = [_tex(note) for note in notes]
    if any(_EQUAL in entry for line in table.entries for entry in line):
        small.append(rf"{_SAME}: {_EQUAL[1:-1]}.")
    others = tex.unknown(" ".join((table.title, *table.columns, *itertools.chain(*table.entries), *notes)))
    lines = [
        *([f"% pdflatex has no sign for {' '.join(others)}: use lualatex, and a font that has them"] if others else []),
        rf"\begin{{{kind}}}",
        r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"  \caption{{{_tex(table.title.rstrip('.'))}.}}",
        rf"  \label{{{re.sub('[^A-Za-z0-9_:.-]+', '-', label)}}}",
        r"  \providecommand{\stacked}[2]{\begin{tabular}[t]{@{}#1@{}}#2\end{tabular}}",
        *("\n\n  \\medskip\n".join(_tabular(table, block) for block in blocks).split("\n")),
        *([r"  \par\smallskip\parbox{\linewidth}{\scriptsize " + " ".join(small) + "}"] if small else []),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines)


_SAME = r"\textsuperscript{=}"


def _tabular(table: TextTable, columns: Sequence[int]) -> str:
    """Some columns of a table; made smaller where a page is narrower than thought."""
    align = "".join(table.align[i] for i in columns)
    head = [_stacked(_head(table, i), "l" if letter == "l" else "r") for i, letter in zip(columns, align)]
    body = []
    for number, line in enumerate(table.entries):
        cells = (_cell(line[i], table.align[i], bold=(number, i) in table.best) for i in columns)
        body.append("    " + " & ".join(cells) + r" \\")
    return "\n".join(
        [
            r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"  \begin{{tabular}}{{{align}}}",
            r"    \toprule",
            "    " + " & ".join(head) + r" \\",
            r"    \midrule",
            *body,
            r"    \bottomrule",
            r"  \end{tabular}}",
        ]
    )


def _blocks(table: TextTable) -> list[list[int]]:
    """The columns in as many groups as a page's width asks for, the first column in each of them."""
    blocks = [[0]]
    for column in range(1, len(table.columns)):
        if len(blocks[-1]) > 1 and _widths_of(table, [*blocks[-1], column]) > WIDE:
            blocks.append([0])
        blocks[-1].append(column)
    return blocks


def _widths_of(table: TextTable, columns: Sequence[int]) -> float:
    return sum(_body(table, i) for i in columns) + _BETWEEN * len(columns)


def _body(table: TextTable, column: int) -> float:
    align = table.align[column]
    found = [max(map(len, table.columns[column].split()), default=0) * 1.0]
    for line in table.entries:
        first, *others = _lines(line[column], align)
        found += [len(first) + (0.5 if _EQUAL in line[column] else 0), *(_SMALL * len(own) for own in others)]
    return max(found)


def _head(table: TextTable, column: int) -> list[str]:
    return wrapped(table.columns[column], int(_body(table, column) + 1))


def _lines(entry: str, align: str) -> list[str]:
    """An entry in lines: a number, its interval, what is said in brackets; a name in parts."""
    entry = re.sub(r"^under (?=\d)", "<", plain(entry).replace(f" {_EQUAL}", ""))
    if align == "l" and not entry[:1].isdigit():
        return wrapped(entry, _WORDS)
    return re.sub(r" (?=[\[(])", "\n", entry).split("\n")


def _cell(entry: str, align: str, *, bold: bool) -> str:
    first, *others = map(_tex, _lines(entry, align))
    if not others and first == NONE:
        return "---"
    first = rf"\textbf{{{first}}}" if bold else first
    first += _SAME if _EQUAL in entry else ""
    smaller = others if align == "l" else [rf"{{\scriptsize {own}}}" for own in others]
    return _stacked([first, *smaller], align, escaped=True)


def _stacked(lines: Sequence[str], align: str, *, escaped: bool = False) -> str:
    lines = lines if escaped else [_tex(line) for line in lines]
    below = r" \\ ".join(lines)
    return below if len(lines) == 1 else rf"\stacked{{{align}}}{{{below}}}"


def _tex(text: str) -> str:
    r"""Text as it is. No entry begins with a star or a bracket that ``\\`` before it would take for its own."""
    escaped = tex.escaped(text)
    escaped = re.sub(r"(?<![\w-])-(?=\d)", "$-$", escaped)  # a minus sign, not a hyphen
    escaped = re.sub(r"(?<=\d)\.\.(?=\d)", "--", escaped)
    escaped = "{}" + escaped if escaped.startswith("[") else escaped
    return "---" if escaped == NONE else escaped
