"""The tables of a report: what stands in their entries.

Means come with their interval and the number of seeds, published values with the lengths that they were measured at;
there is no column of maxima.
"""

from posenc_jax.data.score_kinds import KINDS, kind_of, signed
from posenc_jax.drawing.latex import PACKAGES, latex_table
from posenc_jax.drawing.markdown import escaped
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import TextTable, filled, markdown_table, narrowed, text
from posenc_jax.files.fields import value_text
from posenc_jax.results.averages import alike, best_and_tied, hint
from posenc_jax.results.report.entries import (
    difference_text,
    field_words,
    fields_words,
    heading,
    interval_text,
    number,
    p_text,
    parameters_text,
    published_text,
    rate_text,
    seeds_text,
)
from posenc_jax.results.report.many_tasks import across_tasks, matrix
from posenc_jax.results.report.provenance import code_table, statement
from posenc_jax.results.summary import EveryScore, Summary, TaskSummary
from posenc_jax.results.sweep import Sweep, sweeps_of
from posenc_jax.statistics import holm

_LEAST_IMPORTANT = ("parameters (encoding)", "p, Holm", "learning rate", "training lengths", "published (lengths)")


def main_table(task: TaskSummary) -> TextTable:
    """One line per encoding: the score, its paired difference, seeds, learning rate, parameters, published value."""
    with_published = any(cell.published for cell in task.cells)
    with_difference = bool(task.baseline)
    with_training = task.score_lengths != task.in_range_lengths or not task.score_lengths
    operation = "divided by" if task.kind.logarithmic else "minus"
    columns = ["encoding", task.score_name]
    columns += ["training lengths"] if with_training else []
    columns += [f"{operation} {task.baseline}, paired", "p, Holm"] if with_difference else []
    columns += ["seeds", "learning rate", "parameters (encoding)"]
    columns += ["published (lengths)"] if with_published else []
    found = {cell.label: cell.difference.p for cell in task.cells if cell.difference is not None}
    family = holm({label: p for label, p in found.items() if p is not None})
    lines = []
    for cell in task.cells:
        line = [cell.label, interval_text(cell.score, task.kind)]
        line += [number(cell.in_range.mean, task.kind)] if with_training else []
        if with_difference:
            line += [difference_text(cell, task.kind), p_text(family[cell.label]) if cell.label in family else NONE]
        line += [seeds_text(cell), rate_text(cell), parameters_text(cell)]
        line += ["; ".join(published_text(task, value) for value in cell.published) or NONE] if with_published else []
        lines.append(tuple(line))
    align = "".join("l" if c in ("encoding", "published (lengths)") else "r" for c in columns)
    notes = (_reading(task), *task.notes)
    draws = {cell.label: cell.draws for cell in task.cells}
    best = best_and_tied({cell.label: cell.scores for cell in task.cells}, task.kind, draws)
    marked = frozenset((line, 1) for line, cell in enumerate(task.cells) if cell.label in best)
    return TextTable(_title(task), tuple(columns), align, tuple(lines), notes, marked)


def score_table(task: TaskSummary) -> TextTable:
    """Every score of the rows over training and over unseen lengths, mean over seeds with its interval."""
    names = _worth_a_column([cell.every_score for cell in task.cells], task.metric)
    kinds = [kind_of(name, task.writes_text) for name in names]
    lines = []
    for cell in task.cells:
        for where, lengths, scores in (
            ("training", task.in_range_lengths, cell.every_score.training),
            ("unseen", task.unseen_lengths, cell.every_score.unseen),
        ):
            if lengths and cell.scores:
                found = [scores.get(name) for name in names]
                entries = (NONE if score is None else interval_text(score, kind) for score, kind in zip(found, kinds))
                lines.append((cell.label, where, *entries))
    notes = [f"{heading(kind.title)}: lower is better." for kind in kinds if kind.better == "lower"]
    notes += [signed(name, signature) for name, signature in task.signatures.items()]
    notes += _counts(task)
    columns = ("encoding", "lengths", *(kind.title for kind in kinds))
    align = "ll" + "r" * len(names)
    return TextTable(
        f"{task.task_label}: every score, mean over the lengths", columns, align, tuple(lines), tuple(notes)
    )


def _counts(task: TaskSummary) -> list[str]:
    counts = next((cell.every_score.counts for cell in task.cells if cell.every_score.counts), {})
    if not counts or not task.length_unit:
        return []
    listed = ", ".join(
        f"{count:,}{f' ({decoded:,} decoded)' if decoded else ''} of {task.length_name(length)}"
        for length, (count, decoded) in counts.items()
    )
    return [f"Test examples per seed, by {task.length_unit}: {listed}."]


def length_table(task: TaskSummary) -> TextTable:
    """One line per length, one column per encoding: the mean and its interval."""
    lengths = sorted({point.length for cell in task.cells for point in cell.curve})
    points = [{point.length: point for point in cell.curve} for cell in task.cells]
    draws = {cell.label: cell.draws for cell in task.cells}
    lines, best = [], set()
    for row, length in enumerate(lengths):
        here = [point.get(length) for point in points]
        scores = {cell.label: point.scores for cell, point in zip(task.cells, here) if point is not None}
        tied = best_and_tied(scores, task.kind, draws)
        best |= {(row, column) for column, cell in enumerate(task.cells, 1) if cell.label in tied}
        mark = {"within": "*", "beyond": "", "mixed": " (mixed)"}[task.ranges[length]]
        entries = (NONE if point is None else interval_text(point.interval, task.kind) for point in here)
        lines.append((f"{task.length_name(length)}{mark}", *entries))
    title = f"{task.task_label}: {task.kind.title} at each length"
    columns = (task.length_unit or "length", *(cell.label for cell in task.cells))
    notes = ["* in the training range."]
    if "mixed" in task.ranges.values():
        notes.append("mixed: examples of both trained and unseen lengths, excluded from the means over lengths.")
    return TextTable(title, columns, "r" * len(columns), tuple(lines), tuple(notes), frozenset(best))


def position_table(task: TaskSummary) -> TextTable:
    """One line per range of positions in the longest windows, one column per encoding."""
    kind = kind_of("perplexity")
    ranges = {(p.first, p.last): p.name for cell in task.cells for p in cell.positions}
    values = [{(p.first, p.last): interval_text(p.interval, kind) for p in cell.positions} for cell in task.cells]
    trained = task.train_lengths[1] if task.train_lengths else 0
    lines = [
        (name + "*" * (where[1] < trained), *(found.get(where, NONE) for found in values))
        for where, name in sorted(ranges.items())
    ]
    title = f"{task.task_label}: perplexity by position in windows of {task.position_length} tokens"
    columns = ("position", *(cell.label for cell in task.cells))
    return TextTable(title, columns, "r" * len(columns), tuple(lines), ("From 0; * within the training length.",))


def seed_table(task: TaskSummary) -> TextTable:
    """One line per encoding, one column per seed: its score, or why there is none."""
    seeds = sorted({seed for cell in task.cells for seed in cell.asked})
    lines = []
    for cell in task.cells:
        line = [cell.label]
        for seed in seeds:
            if seed in cell.diverged:
                line.append(f"diverged at step {cell.diverged[seed]}")
            elif seed in cell.unfinished:
                line.append("not finished")
            elif seed not in cell.scores and seed in cell.not_finite:
                line.append("not finite")
            else:
                line.append(number(cell.scores.get(seed), task.kind))
        lines.append(tuple(line))
    title = f"{task.task_label}: {task.kind.title} of every seed, mean over {task.score_name}"
    return TextTable(title, ("encoding", *(f"seed {seed}" for seed in seeds)), "l" + "r" * len(seeds), tuple(lines))


def rate_table(task: TaskSummary) -> TextTable:
    """Every learning rate that was tried: in-range validation, seeds finished and diverged, which was chosen."""
    kind, lines = task.validation_kind, []
    for cell in task.cells:
        for tried in cell.tried:
            seeds = f"{tried.validation.n} of {len(cell.asked)}"
            seeds += f", {len(tried.diverged)} diverged" if tried.diverged else ""
            mark = "chosen" if tried.chosen else ""
            lines.append((cell.label, f"{tried.learning_rate:g}", interval_text(tried.validation, kind), seeds, mark))
    note = (
        "Chosen: among the rates with the most seeds that have a score, the one with the highest mean validation score "
        "on training lengths; ties go to the smallest. Unseen lengths play no part."
    )
    validation = "validation" if kind == task.kind else f"validation {kind.title}"
    columns = ("encoding", "learning rate", f"{validation}, training lengths", "seeds", "")
    return TextTable(f"{task.task_label}: learning rates tried", columns, "lrrrl", tuple(lines), (note,))


def sweep_table(sweep: Sweep) -> TextTable:
    """One line per arm: the setting of the swept fields that validation chooses, and its score; no lines where the task
    itself changes.
    """
    fields = [field.name for field in sweep.fields]
    lines, best = [], {}
    for arm in sweep.arms:
        point = sweep.best(arm)
        if point is not None and point.values:
            chosen = (value_text(point.values[name]) if name in point.values else NONE for name in fields)
            seeds = f"{len(point.tried.scores)} of {len(point.cell.asked)}"
            lines.append((arm, *chosen, interval_text(point.tried.score, sweep.kind), seeds))
            best[arm] = point
    names, lengths = {task.score_name: None for task in sweep.tasks}, dict.fromkeys(map(_over, sweep.tasks))
    note = (
        "Chosen on training lengths: among the settings with the most seeds that have a validation score, the one with "
        f"the highest mean; all seeds share it. The score, over {' or '.join(lengths)}, plays no part in the choice."
    )
    draws = {arm: point.cell.draws for arm, point in best.items()}
    tied = best_and_tied({arm: point.tried.scores for arm, point in best.items()}, sweep.kind, draws)
    marked = frozenset((line, len(fields) + 1) for line, arm in enumerate(best) if arm in tied)
    columns = ("encoding", *map(field_words, fields), f"{sweep.kind.title}, {' or '.join(names)}", "seeds")
    title = f"{', '.join(sweep.tables)}: the best {fields_words(fields)}"
    return TextTable(title, columns, "l" + "r" * (len(fields) + 2), tuple(lines), (note,), marked)


def task_tables(task: TaskSummary) -> list[TextTable]:
    """All tables of a task that have lines."""
    makers = (main_table, score_table, length_table, position_table, seed_table, rate_table)
    return [table for table in (make(task) for make in makers) if table.entries]


def terminal(summary: Summary, width: int = 100) -> str:
    """The main tables, the best of sweeps and what was not used, as plain text for a terminal of ``width`` characters.

    Where a table is too wide its least important columns are left out, which a note says.
    """
    parts = [
        text(narrowed(task, width, _LEAST_IMPORTANT, "tables.md"), width) for task in map(main_table, summary.tasks)
    ]
    swept = [sweep_table(sweep) for sweep in sweeps_of(summary) if not sweep.of_cells]  # else the table above says it
    parts += [text(table, width) for table in swept if table.entries]
    codes = code_table(summary.provenance)
    parts += [text(codes, width)] if codes.entries else []
    notes = [f"Not used: {line}" for line in summary.skipped]
    notes += statement(summary.provenance)
    return "\n".join([*parts, *filled(notes, width)]).rstrip() + "\n"


def markdown(summary: Summary) -> str:
    """All tables of the report as one Markdown document."""
    info = summary.info
    parts = [f"# {escaped(info['title'])}"]
    parts += [escaped(part) for part in (info["description"],) if part]
    if note := info["size_note"]:
        parts.append(f"What differs from the published setting: {escaped(note)}")
    for task in summary.tasks:
        parts += map(markdown_table, task_tables(task))
    parts += [markdown_table(table) for table in map(sweep_table, sweeps_of(summary)) if table.entries]
    parts += [markdown_table(table) for table in (matrix(summary), across_tasks(summary)) if table.entries]
    codes = code_table(summary.provenance)
    if lines := statement(summary.provenance):
        parts.append("## Provenance\n\n" + "\n".join(f"- {escaped(line)}" for line in lines))
    parts += [markdown_table(codes)] if codes.entries else []
    if summary.skipped:
        parts.append("## Not used\n\n" + "\n".join(f"- {escaped(line)}" for line in summary.skipped))
    return "\n\n".join(parts) + "\n"


def latex(summary: Summary) -> str:
    r"""The main and the per-length table of every task, for text also every score, and all tasks together, for
    ``\input`` in a paper, of one column or of two, that loads booktabs and graphicx.
    """
    needed = rf"\usepackage{{{','.join(PACKAGES)}}}"
    parts = [f"% Needs {needed}. Written by posenc report: run it again instead of editing this file."]
    for task in summary.tasks:
        kinds = [(main_table, "scores"), (length_table, "lengths")]
        kinds += [(score_table, "every-score")] if task.length_unit else []
        for make, kind in kinds:
            table = make(task)
            if table.entries:
                parts.append(latex_table(table, f"tab:{task.slug}-{kind}"))
    together = {"tab:every-task": matrix(summary), "tab:all-tasks": across_tasks(summary)}
    parts += [latex_table(table, label) for label, table in together.items() if table.entries]
    return "\n\n".join(parts) + "\n"


def _apart(task: TaskSummary) -> list[str]:
    """The cells that have seeds which drew other random numbers than the baseline's."""
    theirs = next((cell.draws for cell in task.cells if cell.is_baseline), {})
    scores = [alike(dict.fromkeys(cell.draws, 0.0), cell.draws, theirs) for cell in task.cells]
    return [cell.label for cell, own in zip(task.cells, scores, strict=True) if None in own.values()]


def _over(task: TaskSummary) -> str:
    """The lengths that scores are over, as ``unseen lengths 12..20``."""
    unit = f" {task.length_unit}" if task.length_unit else ""
    return f"{task.score_name} {task.length_words(task.score_lengths)}{unit}"


def _title(task: TaskSummary) -> str:
    unseen = _over(task) if task.unseen_lengths else "no unseen lengths"
    trained = "trained on {}..{}".format(*task.train_lengths) if task.train_lengths else "training range unknown"
    return f"{task.task_label}: {task.kind.title}, {unseen}, {trained}"


def _reading(task: TaskSummary) -> str:
    mean = "geometric mean" if task.kind.logarithmic else "mean"
    inside = "" if task.kind.logarithmic else " that stays within the bounds of the score"
    reading = f"{mean.capitalize()} over seeds [95 % interval{inside}]; "
    reading += f"the score of a seed is its {mean} over the lengths."
    if any(cell.score.all_equal for cell in task.cells):
        reading += " All seeds equal: they show no spread, so it is unknown how much other seeds may differ."
    if task.score_lengths and not task.unseen_lengths:
        over = "training lengths" if task.mixed_lengths else "all lengths"
        reading += f" No evaluated length lies beyond the training range: the score is over {over}."
    if task.kind.better == "lower":
        reading += f" {heading(task.kind.title)}: lower is better."
    if task.baseline:
        differences = "Ratios to the baseline" if task.kind.logarithmic else "Differences"
        apart = _apart(task)
        reading += f" {differences} are {'over pairs of seeds' if apart else 'paired by seed'}. "
        if apart:
            reading += f"Not paired, as the random numbers differ from those of {task.baseline}: {'; '.join(apart)}. "
        reading += "Intervals are not corrected for the number of comparisons; p is for the hypothesis of no "
        reading += "difference, corrected for the comparisons in this table (Holm)."
        said = hint(c.difference.interval.n for c in task.cells if c.difference and c.difference.p is not None)
        reading += f" {said}" if said else ""
    if task.chance and not task.floors:
        reading += f" Chance is {task.chance:g}."
    if task.floors:
        reading += f" An answer that does not look at the input scores {task.kind.show(task.floor)} over these lengths."
    if task.shortcut_score:
        reading += f" A shortcut, {task.shortcut}, scores {task.kind.show(task.shortcut_score)}."
    return reading


def _worth_a_column(cells: list[EveryScore], metric: str) -> tuple[str, ...]:
    """The scores that a table has columns for: the metric, and those that say something of their own.

    Not the loss beside a perplexity, which is its exponential; not what is 0 everywhere or the same as another.
    """
    columns: dict[str, tuple[float, ...]] = {}
    own = (name for cell in cells for name in cell.columns)
    for name in dict.fromkeys((metric, *KINDS, *own)):
        values = tuple(value for cell in cells for value in cell.columns.get(name, ()))
        if name == metric or (any(values) and values not in columns.values()):
            columns[name] = values
    return tuple(name for name in columns if name != "loss" or "perplexity" not in columns or name == metric)
