"""A table of strings and its renderings: plain text for a terminal, Markdown, LaTeX (booktabs)."""

from __future__ import annotations

import dataclasses
import re
import textwrap

NONE = "-"  # an empty cell: nothing was measured


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of strings. ``align`` has one letter per column: l or r."""

    title: str
    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def text(table: Table, width: int = 100) -> str:
    """The table as plain text no wider than ``width`` characters (of at least 20).

    Cells wrap at spaces, never inside brackets; a table that does not fit even so becomes one block of lines per row.
    """
    width = max(width, 20)
    cells = _cells(table)
    body = _grid(cells, table.align, width) if _fits(cells, width) else _blocks(cells, width)
    notes = [line for note in table.notes for line in textwrap.wrap(note, width, subsequent_indent="  ")]
    lines = [*textwrap.wrap(table.title, width), "", *body, *notes]
    return "\n".join(line.rstrip() for line in lines).replace("\u00a0", " ") + "\n"


def narrowed(table: Table, width: int, least: tuple[str, ...]) -> Table:
    """The table without the columns that do not fit, the first of ``least`` first; whole if that does not help."""
    fitting, left_out = table, []
    for column in least:
        if _fits(_cells(fitting), width):
            break
        if column in fitting.columns:
            kept = [i for i, name in enumerate(fitting.columns) if name != column]
            fitting = dataclasses.replace(
                fitting,
                columns=tuple(fitting.columns[i] for i in kept),
                align="".join(fitting.align[i] for i in kept),
                rows=tuple(tuple(row[i] for i in kept) for row in fitting.rows),
            )
            left_out.append(column)
    if not left_out or not _fits(_cells(fitting), width):
        return table
    note = f"Not shown at this width: {', '.join(left_out)} (in tables.md)."
    return dataclasses.replace(fitting, notes=(*table.notes, note))


def _narrowest(cells: list[list[str]]) -> list[int]:
    """The width of each column below which a word would have to break."""
    return [max(len(word) for cell in column for word in cell.replace("|", "| ").split(" ")) for column in zip(*cells)]


def _wrap(cell: str, width: int) -> list[str]:
    """The cell in lines of ``width``, broken at spaces and after ``|``."""
    lines = [""]
    for word in re.findall(r"[^ |]*\|| *[^ |]+", cell):
        if len(lines[-1] + word) <= width or not lines[-1]:
            lines[-1] += word
        else:
            lines.append(word.lstrip(" "))
    return lines


def _fits(cells: list[list[str]], width: int) -> bool:
    return sum(_narrowest(cells)) + 2 * (len(cells[0]) - 1) <= width


def _grid(cells: list[list[str]], align: str, width: int) -> list[str]:
    """Aligned columns of natural width, the widest narrowed until the row fits; cells wrap into their columns."""
    widths = [max(map(len, column)) for column in zip(*cells)]
    narrowest = _narrowest(cells)
    while sum(widths) + 2 * (len(widths) - 1) > width:
        loose = [i for i, narrow in enumerate(narrowest) if widths[i] > narrow]
        widths[max(loose, key=lambda i: widths[i])] -= 1
    justify = [str.ljust if letter == "l" else str.rjust for letter in align]
    lines = []
    for number_, row in enumerate(cells):
        wrapped = [_wrap(cell, w) for cell, w in zip(row, widths)]
        for i in range(max(map(len, wrapped))):
            parts = [cell[i] if i < len(cell) else "" for cell in wrapped]
            lines.append("  ".join(j(part, w) for j, part, w in zip(justify, parts, widths)))
        if number_ == 0:
            lines.append("  ".join("-" * w for w in widths))
    return [*lines, ""]


def _blocks(cells: list[list[str]], width: int) -> list[str]:
    """One block per row: its first cell, then one ``column: value`` a line."""
    lines = []
    for row in cells[1:]:
        lines += textwrap.wrap(row[0], width)
        for column, cell in zip(cells[0][1:], row[1:]):
            lines += textwrap.wrap(f"{column}: {cell}", width, initial_indent="  ", subsequent_indent="    ")
        lines.append("")
    return lines


def _cells(table: Table) -> list[list[str]]:
    return [[_unbroken(cell) for cell in row] for row in (table.columns, *table.rows)]


def _unbroken(cell: str) -> str:
    """Ties what stands in brackets together, so that an interval stays on one line."""
    return re.sub(r"(?<!\S)(\[[^]]*\]|\([^)]*\)|\d+ of \d+)", lambda match: match.group().replace(" ", "\u00a0"), cell)


def markdown_table(table: Table) -> str:
    """One table in Markdown, under a second-level heading."""
    lines = [f"## {md(table.title)}", ""]
    lines.append("| " + " | ".join(map(md, table.columns)) + " |")
    lines.append("|" + "|".join("---" if letter == "l" else "---:" for letter in table.align) + "|")
    lines += ["| " + " | ".join(map(md, row)) + " |" for row in table.rows]
    lines += ["", *(f"- {md(note)}" for note in table.notes)] if table.notes else []
    return "\n".join(lines)


def latex_table(table: Table, label: str) -> str:
    """One booktabs table; its notes follow the caption."""
    caption = " ".join([table.title.rstrip(".") + ".", *table.notes])
    body = [" & ".join(map(_tex, row)) + r" \\" for row in table.rows]
    lines = [
        r"\begin{table}",
        r"  \centering\footnotesize",
        rf"  \caption{{{_tex(caption)}}}",
        rf"  \label{{{label}}}",
        rf"  \begin{{tabular}}{{{table.align}}}",
        r"    \toprule",
        "    " + " & ".join(map(_tex, table.columns)) + r" \\",
        r"    \midrule",
        *(f"    {line}" for line in body),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def md(text_: str) -> str:
    """Escaped for Markdown, on one line."""
    return re.sub(r"([\\|*_<>`])", r"\\\1", text_).replace("\n", " ")


_TEX = {char: "\\" + char for char in "&%$#_{}"}
_TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
_TEX |= {"×": r"$\times$", "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}


def _tex(text_: str) -> str:
    escaped = "".join(_TEX.get(character, character) for character in text_)
    escaped = re.sub(r"(?<![\w-])-(?=\d)", "$-$", escaped)  # a minus sign, not a hyphen
    escaped = re.sub(r"(?<=\d)\.\.(?=\d)", "--", escaped)
    return "---" if escaped == NONE else escaped
