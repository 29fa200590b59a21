"""The tables of a report as plain strings in cells, and their renderings: terminal, Markdown and LaTeX (booktabs).

Every rendering shows the same cells. Means come with their interval and the number of seeds, published values with the
lengths that they were measured at; there is no column of maxima.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap

from posenc_jax.report.summary import CellSummary, Published, Summary, TaskSummary, compact
from posenc_jax.statistics import Interval

NONE = "-"  # an empty cell: nothing was measured


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of strings. ``align`` has one letter per column: l or r."""

    title: str
    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def metric_name(task: TaskSummary) -> str:
    """The metric in words."""
    return task.metric.replace("_", " ")


def main_table(task: TaskSummary) -> Table:
    """One row per encoding: the score, its paired difference, seeds, learning rate, parameters, published value."""
    with_published = any(cell.published for cell in task.cells)
    with_difference = bool(task.baseline)
    columns = ["encoding", "unseen lengths", "training lengths"]
    columns += [f"minus {task.baseline}, paired"] if with_difference else []
    columns += ["seeds", "learning rate", "parameters (encoding)"]
    columns += ["published (lengths)"] if with_published else []
    rows = []
    for cell in task.cells:
        row = [cell.label, interval_text(cell.unseen), number(cell.in_range.mean)]
        row += [difference_text(cell)] if with_difference else []
        row += [seeds_text(cell), rate_text(cell), parameters_text(cell)]
        row += ["; ".join(published_text(task, value) for value in cell.published) or NONE] if with_published else []
        rows.append(tuple(row))
    align = "".join("l" if c in ("encoding", "published (lengths)") else "r" for c in columns)
    return Table(_title(task), tuple(columns), align, tuple(rows), (_reading(task), *task.notes))


def length_table(task: TaskSummary) -> Table:
    """One row per length, one column per encoding: the mean and half its interval's width. * = in training range."""
    lengths = sorted({point.length for cell in task.cells for point in cell.curve})
    points = [{point.length: point for point in cell.curve} for cell in task.cells]
    rows = []
    for length in lengths:
        here = [point.get(length) for point in points]
        star = "*" if any(point is not None and point.in_range for point in here) else ""
        rows.append((f"{length}{star}", *(NONE if point is None else half_text(point.interval) for point in here)))
    title = f"{task.task_label}: {metric_name(task)} at each length"
    columns = ("length", *(cell.label for cell in task.cells))
    return Table(title, columns, "r" * len(columns), tuple(rows), ("* in the training range.",))


def seed_table(task: TaskSummary) -> Table:
    """One row per encoding, one column per seed: the score over unseen lengths, or why there is none."""
    seeds = sorted({seed for cell in task.cells for seed in cell.asked})
    rows = []
    for cell in task.cells:
        row = [cell.label]
        for seed in seeds:
            if seed in cell.diverged:
                row.append(f"diverged at step {cell.diverged[seed]}")
            elif seed in cell.unfinished:
                row.append("not finished")
            else:
                row.append(number(cell.scores.get(seed)))
        rows.append(tuple(row))
    title = f"{task.task_label}: {metric_name(task)} of every seed, mean over unseen lengths"
    return Table(title, ("encoding", *(f"seed {seed}" for seed in seeds)), "l" + "r" * len(seeds), tuple(rows))


def rate_table(task: TaskSummary) -> Table:
    """Every learning rate that was tried: in-range validation, seeds finished and diverged, which was chosen."""
    rows = []
    for cell in task.cells:
        for tried in cell.tried:
            seeds = f"{tried.validation.n} of {len(cell.asked)}"
            seeds += f", {len(tried.diverged)} diverged" if tried.diverged else ""
            mark = "chosen" if tried.chosen else ""
            rows.append((cell.label, f"{tried.learning_rate:g}", interval_text(tried.validation), seeds, mark))
    note = (
        "Chosen: among the rates with the most seeds that have a score, the one with the highest mean validation score "
        "on training lengths; of equal ones the smallest. Unseen lengths play no part."
    )
    columns = ("encoding", "learning rate", "validation, training lengths", "seeds", "")
    return Table(f"{task.task_label}: learning rates tried", columns, "lrrrl", tuple(rows), (note,))


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


def terminal(summary: Summary, width: int = 100) -> str:
    """The main tables and what was not used, as plain text for a terminal of ``width`` characters.

    Where a table is too wide its least important columns are left out, which a note says.
    """
    skipped = [f"Not used: {line}" for line in summary.skipped]
    notes = [line for note in skipped for line in textwrap.wrap(note, max(width, 20), subsequent_indent="  ")]
    parts = [text(_narrowed(main_table(task), width), width) for task in summary.tasks]
    return "\n".join([*parts, *notes]).rstrip() + "\n"


def _narrowed(table: Table, width: int) -> Table:
    """The main table without the columns that do not fit, the least important first; whole if that does not help."""
    narrowed, left_out = table, []
    for column in ("parameters (encoding)", "learning rate", "training lengths", "published (lengths)"):
        if _fits(_cells(narrowed), width):
            break
        if column in narrowed.columns:
            kept = [i for i, name in enumerate(narrowed.columns) if name != column]
            narrowed = dataclasses.replace(
                narrowed,
                columns=tuple(narrowed.columns[i] for i in kept),
                align="".join(narrowed.align[i] for i in kept),
                rows=tuple(tuple(row[i] for i in kept) for row in narrowed.rows),
            )
            left_out.append(column)
    if not left_out or not _fits(_cells(narrowed), width):
        return table
    note = f"Not shown at this width: {', '.join(left_out)} (in tables.md)."
    return dataclasses.replace(narrowed, notes=(*table.notes, note))


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


def markdown(summary: Summary) -> str:
    """All tables of the report as one Markdown document."""
    parts = [f"# {_md(summary.title)}"]
    parts += [_md(part) for part in (summary.description,) if part]
    if summary.size_note:
        parts.append(f"What differs from the published setting: {_md(summary.size_note)}")
    for task in summary.tasks:
        for table in (main_table(task), length_table(task), seed_table(task), rate_table(task)):
            if table.rows:
                parts.append(markdown_table(table))
    if summary.skipped:
        parts.append("## Not used\n\n" + "\n".join(f"- {_md(line)}" for line in summary.skipped))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """One table in Markdown, under a second-level heading."""
    lines = [f"## {_md(table.title)}", ""]
    lines.append("| " + " | ".join(map(_md, table.columns)) + " |")
    lines.append("|" + "|".join("---" if letter == "l" else "---:" for letter in table.align) + "|")
    lines += ["| " + " | ".join(map(_md, row)) + " |" for row in table.rows]
    lines += ["", *(f"- {_md(note)}" for note in table.notes)] if table.notes else []
    return "\n".join(lines)


def latex(summary: Summary) -> str:
    r"""The main and the per-length table of every task, for ``\input`` in a paper that loads booktabs."""
    parts = ["% Needs \\usepackage{booktabs}. Written by posenc report; write it again rather than edit it."]
    for task in summary.tasks:
        for table, kind in ((main_table(task), "scores"), (length_table(task), "lengths")):
            if table.rows:
                parts.append(latex_table(table, f"tab:{task.slug}-{kind}"))
    return "\n\n".join(parts) + "\n"


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


def number(value: float | None, sign: bool = False) -> str:
    """A score to three decimals; never -0.000."""
    if value is None:
        return NONE
    value = round(value, 3) + 0.0
    return f"{value:+.3f}" if sign and value else f"{value:.3f}"


def interval_text(interval: Interval, sign: bool = False) -> str:
    """Mean and interval, ``0.986 [0.981, 0.993]``; the mean alone when there is no interval."""
    if interval.low is None:
        return number(interval.mean, sign)
    return f"{number(interval.mean, sign)} [{number(interval.low, sign)}, {number(interval.high, sign)}]"


def half_text(interval: Interval) -> str:
    """Mean and half the width of the interval, ``0.986 +-0.006``."""
    if interval.low is None or interval.high is None:
        return number(interval.mean)
    return f"{number(interval.mean)} ±{number((interval.high - interval.low) / 2)}"


def difference_text(cell: CellSummary) -> str:
    """The paired difference with its number of pairs and in how many the score is higher."""
    if cell.is_baseline:
        return "baseline"
    if cell.difference is None or cell.difference.interval.n == 0:
        return NONE
    pairs = cell.difference.interval.n
    return f"{interval_text(cell.difference.interval, sign=True)} ({cell.difference.higher} of {pairs} higher)"


def seeds_text(cell: CellSummary, noun: str = "") -> str:
    """How many of the seeds that were asked for stand behind the means, ``3 of 4 (1 diverged)``."""
    n = len(cell.asked) - len(cell.diverged) - len(cell.unfinished)
    missing = [f"{len(cell.diverged)} diverged"] if cell.diverged else []
    missing += [f"{len(cell.unfinished)} not finished"] if cell.unfinished else []
    return f"{n} of {len(cell.asked)}{noun}" + (f" ({', '.join(missing)})" if missing else "")


def rate_text(cell: CellSummary) -> str:
    """The learning rate behind the means."""
    if cell.learning_rate is None or not (cell.scores or cell.diverged):
        return NONE
    return f"{cell.learning_rate:g}"


def parameters_text(cell: CellSummary) -> str:
    """Parameters of the model, and in brackets those of its encodings."""
    if cell.num_parameters is None:
        return NONE
    own = "" if cell.num_posenc_parameters is None else f" ({cell.num_posenc_parameters:,})"
    return f"{cell.num_parameters:,}{own}"


def published_text(task: TaskSummary, published: Published) -> str:
    """A verified value with its lengths, or the direction in words; the metric too where it is not ours."""
    shown = published.direction
    if published.value is not None:
        shown = f"{published.value:g}"
        shown = shown if len(shown.partition(".")[2]) >= 2 else f"{published.value:.2f}"
    details = [published.lengths] if published.lengths else []
    details += [published.metric] if published.metric and not _same_metric(task, published) else []
    return f"{shown} ({'; '.join(details)})" if details else shown


def comparable(task: TaskSummary, published: Published) -> bool:
    """Whether a published value is one of our metric, so that both may share an axis."""
    return published.value is not None and _same_metric(task, published)


def _same_metric(task: TaskSummary, published: Published) -> bool:
    return published.metric.replace("_", " ").strip().lower() in ("", metric_name(task))


def _title(task: TaskSummary) -> str:
    unseen = f"unseen lengths {compact(task.unseen_lengths)}" if task.unseen_lengths else "no unseen lengths"
    trained = "trained on {}..{}".format(*task.train_lengths) if task.train_lengths else "training range unknown"
    return f"{task.task_label}: {metric_name(task)}, {unseen}, {trained}"


def _reading(task: TaskSummary) -> str:
    reading = "Mean over seeds [95 % Student-t interval]; the score of a seed is its mean over the lengths."
    if task.baseline:
        reading += " Differences are paired by seed. Intervals are not corrected for the number of comparisons."
    if task.chance:
        reading += f" Chance is {task.chance:g}."
    return reading


def _md(text_: str) -> str:
    return re.sub(r"([\\|*_<>`])", r"\\\1", text_).replace("\n", " ")


_TEX = {char: "\\" + char for char in "&%$#_{}"}
_TEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
_TEX |= {"|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}


def _tex(text_: str) -> str:
    escaped = "".join(_TEX.get(character, character) for character in text_)
    escaped = re.sub(r"(?<![\w-])-(?=\d)", "$-$", escaped)  # a minus sign, not a hyphen
    escaped = re.sub(r"(?<=\d)\.\.(?=\d)", "--", escaped)
    return "---" if escaped == NONE else escaped
