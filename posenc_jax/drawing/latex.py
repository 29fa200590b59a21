"""A table for a paper: LaTeX (booktabs, graphicx) that is made smaller where it is wider than the page."""

import itertools
import re
from collections.abc import Sequence

from posenc_jax.drawing import tex
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import BEST, TextTable, wrapped

PACKAGES = ("booktabs", "graphicx")
_WORDS = 22  # a longer name wraps
_EQUAL = "(all seeds equal)"


def latex_table(table: TextTable, label: str) -> str:
    r"""One table, across both columns of a page that has two. The mean stands above its interval; best and tied ones
    are bold; the notes stand below.

    Args:
      label: what ``\ref`` finds it by; each run of other characters than ASCII letters, digits and ``_:.-`` becomes
        a hyphen.
    """
    notes = [*table.notes, *([BEST] if table.best else [])]
    small = [_tex(note) for note in notes]
    if any(_EQUAL in entry for line in table.entries for entry in line):
        small.append(rf"{_SAME}: {_EQUAL[1:-1]}.")
    others = tex.unknown(" ".join((table.title, *table.columns, *itertools.chain(*table.entries), *notes)))
    head = [_stacked(wrapped(name, _WORDS), letter) for name, letter in zip(table.columns, table.align)]
    body = []
    for number, line in enumerate(table.entries):
        cells = (_cell(own, table.align[i], bold=(number, i) in table.best) for i, own in enumerate(line))
        body.append("    " + " & ".join(cells) + r" \\")
    lines = [
        *([f"% pdflatex has no sign for {' '.join(others)}: use lualatex, and a font that has them"] if others else []),
        r"\begin{table*}",
        r"  \centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"  \caption{{{_tex(table.title.rstrip('.'))}.}}",
        rf"  \label{{{re.sub('[^A-Za-z0-9_:.-]+', '-', label)}}}",
        r"  \providecommand{\stacked}[2]{\begin{tabular}[t]{@{}#1@{}}#2\end{tabular}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{table.align}}}",
        r"    \toprule",
        "    " + " & ".join(head) + r" \\",
        r"    \midrule",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}}",
        *([r"  \par\smallskip\parbox{\linewidth}{\scriptsize " + " ".join(small) + "}"] if small else []),
        r"\end{table*}",
    ]
    return "\n".join(lines)


_SAME = r"\textsuperscript{=}"


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
