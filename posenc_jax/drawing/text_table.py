"""A table of strings, its entries, and two renderings: plain text for a terminal, and Markdown."""

import dataclasses
import re
import textwrap
from collections.abc import Iterable

from posenc_jax.drawing.markdown import escaped, grid
from posenc_jax.drawing.plain import display_width, plain


@dataclasses.dataclass(frozen=True)
class TextTable:
    """A table of strings. ``entries``: line by line; ``align``: one letter per column, l or r; ``best``: the (line,
    column) of those that are best, or tied with the best; ``lead``: what stands before the columns.
    """

    title: str
    columns: tuple[str, ...]
    align: str
    entries: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    lead: str = ""


BEST = "Bold: the best, and all without a visible difference from it (paired by seed, p above 0.05, not corrected)."


def without(table: TextTable, column: str) -> TextTable:
    """The table without a column."""
    kept = [i for i, name in enumerate(table.columns) if name != column]
    return dataclasses.replace(
        table,
        columns=tuple(table.columns[i] for i in kept),
        align="".join(table.align[i] for i in kept),
        entries=tuple(tuple(line[i] for i in kept) for line in table.entries),
        best=frozenset((line, kept.index(i)) for line, i in table.best if i in kept),
    )


def text(table: TextTable, width: int = 100) -> str:
    """The table as plain text no wider than ``width`` characters (of at least 20).

    Entries wrap at spaces, never inside brackets; what does not fit even so becomes blocks, one for each line of it.
    """
    width = max(width, 20)
    entries = _entries(table)
    body = _grid(entries, table.align, width) if _fits(entries, width) else _blocks(entries, width)
    lead = [*textwrap.wrap(plain(table.lead), width), ""] if table.lead else []
    body = body if table.entries else []
    lines = [*textwrap.wrap(plain(table.title), width), "", *lead, *body, *filled(table.notes, width)]
    return "\n".join(line.rstrip() for line in lines).replace("\u00a0", " ") + "\n"


def filled(lines: Iterable[str], width: int) -> list[str]:
    """Lines of text, each wrapped at a width; what goes on is indented."""
    return [part for line in lines for part in textwrap.wrap(plain(line), max(width, 20), subsequent_indent="  ")]


def narrowed(table: TextTable, width: int, least: tuple[str, ...], whole: str) -> TextTable:
    """The table without the columns that do not fit, the first of ``least`` first; whole if that does not help.

    A note names them; ``whole``: where they are.
    """
    fitting, left_out = table, []
    for column in least:
        if _fits(_entries(fitting), width):
            break
        if column in fitting.columns:
            fitting = without(fitting, column)
            left_out.append(column)
    if not left_out or not _fits(_entries(fitting), width):
        return table
    note = f"Not shown at this width: {'; '.join(left_out)} (in {whole})."
    return dataclasses.replace(fitting, notes=(*table.notes, note))


def _narrowest(entries: list[list[str]]) -> list[int]:
    """The width of each column below which a word would have to break."""
    words = ([word for entry in column for word in entry.replace("|", "| ").split(" ")] for column in zip(*entries))
    return [max(map(display_width, own)) for own in words]


def wrapped(entry: str, width: int) -> list[str]:
    """The entry in lines of ``width``, broken at spaces and after ``|``."""
    lines = [""]
    for word in re.findall(r"[^ |]*\|| *[^ |]+", entry):
        if display_width(lines[-1] + word) <= width or not lines[-1]:
            lines[-1] += word
        else:
            lines.append(word.lstrip(" "))
    return lines


def _fits(entries: list[list[str]], width: int) -> bool:
    return sum(_narrowest(entries)) + 2 * (len(entries[0]) - 1) <= width


def _grid(entries: list[list[str]], align: str, width: int) -> list[str]:
    """Aligned columns of natural width, the widest narrowed until a line fits; entries wrap into their columns."""
    widths = [max(map(display_width, column)) for column in zip(*entries)]
    narrowest = _narrowest(entries)
    while sum(widths) + 2 * (len(widths) - 1) > width:
        loose = [i for i, narrow in enumerate(narrowest) if widths[i] > narrow]
        widths[max(loose, key=lambda i: widths[i])] -= 1
    lines = []
    for number, line in enumerate(entries):
        broken = [wrapped(entry, w) for entry, w in zip(line, widths)]
        for i in range(max(map(len, broken))):
            parts = [entry[i] if i < len(entry) else "" for entry in broken]
            lines.append("  ".join(map(_padded, parts, align, widths)))
        if number == 0:
            lines.append("  ".join("-" * w for w in widths))
    return [*lines, ""]


def _padded(part: str, letter: str, width: int) -> str:
    blank = " " * (width - display_width(part))
    return part + blank if letter == "l" else blank + part


def _blocks(entries: list[list[str]], width: int) -> list[str]:
    """One block per line: its first entry, then one ``column: value`` a line."""
    lines = []
    for first, *others in entries[1:]:
        lines += textwrap.wrap(first, width)
        for column, entry in zip(entries[0][1:], others):
            lines += textwrap.wrap(f"{column}: {entry}", width, initial_indent="  ", subsequent_indent="    ")
        lines.append("")
    return lines


def _entries(table: TextTable) -> list[list[str]]:
    return [[_unbroken(plain(entry).replace("\n", " ")) for entry in line] for line in (table.columns, *table.entries)]


def _unbroken(entry: str) -> str:
    """Keeps an entry, such as a label of others, in its line, and ties what stands in brackets together, so that an
    interval stays on one line.
    """
    entry = re.sub(r"[\n\t]", " ", entry)
    return re.sub(r"(?<!\S)(\[[^]]*\]|\([^)]*\)|\d+ of \d+)", lambda match: match.group().replace(" ", "\u00a0"), entry)


def markdown_table(table: TextTable) -> str:
    """One table in Markdown, under a second-level heading."""
    entries = [
        [_bold(escaped(entry)) if (number, i) in table.best else escaped(entry) for i, entry in enumerate(line)]
        for number, line in enumerate(table.entries)
    ]
    notes = [*table.notes, *([BEST] if table.best else [])]
    lead = [escaped(table.lead), ""] if table.lead else []
    lines = [f"## {escaped(table.title)}", "", *lead, grid(tuple(map(escaped, table.columns)), table.align, entries)]
    lines += ["", *(f"- {escaped(note)}" for note in notes)] if notes else []
    return "\n".join(lines)


def _bold(entry: str) -> str:
    number, space, rest = entry.partition(" ")
    return f"**{number}**{space}{rest}"
