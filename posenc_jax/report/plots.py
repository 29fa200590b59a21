"""The plots of a report: scores by length, their means, perplexity by position, losses, and a swept field.

An encoding has the same colour, dash and marker everywhere. Every seed is drawn; nothing is smoothed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from posenc_jax.data.score_kinds import ScoreKind, kind_of
from posenc_jax.drawing.plots import Axis, IntervalRow, IntervalRows, Lines, Plot, PlotLine
from posenc_jax.drawing.style import Style, styles
from posenc_jax.report.axes import drawn, length_axis, loss_axis, mean_losses, score_axis, sweep_axis, with_bounds
from posenc_jax.report.entries import comparable, interval_text, number, published_text
from posenc_jax.results.summary import Summary, TaskSummary
from posenc_jax.results.sweep import Sweep, sweep_of
from posenc_jax.statistics import Interval


def plots_of(task: TaskSummary, style: dict[str, Style]) -> dict[str, Plot]:
    """The plots of a task that have something to show: of its curves, scores, learning and positions."""
    there = {
        "curves": (curves, any(cell.curve for cell in task.cells)),
        "scores": (scores, any(cell.scores for cell in task.cells)),
        "learning": (learning, any(cell.losses for cell in task.cells)),
        "positions": (positions, any(cell.positions for cell in task.cells)),
    }
    return {name: made(task, style) for name, (made, shown) in there.items() if shown}


def printed(summary: Summary) -> Iterator[tuple[str, Plot]]:
    """The plots for a paper, by the name of their file."""
    style = styles(summary.labels)
    for task in summary.tasks:
        plots = plots_of(task, style)
        for name, ending in (("curves", ""), ("learning", "-training")):
            if name in plots:
                yield task.slug + ending, plots[name]
    if sweep := sweep_of(summary):
        yield "swept-field", swept(sweep)


def curves(task: TaskSummary, style: dict[str, Style]) -> Lines:
    """The metric against length: per encoding the mean, its interval and every seed; the training range is shaded."""
    along, mixed = length_axis(task), ""
    if task.mixed_lengths:
        mixed = " Mixed: examples of trained and of unseen lengths together, in no mean."
    shade = None
    if task.train_lengths:
        first, last = task.train_lengths
        start, end = max(first, along.low or first), min(last, along.high or last)
        shade = (start, end, f"trained on {first}..{last}")
    lines = []
    for cell in task.cells:
        if cell.curve:
            seeds = sorted({seed for point in cell.curve for seed in point.scores})
            own = {s: {point.length: point.scores.get(s, math.nan) for point in cell.curve} for s in seeds}
            x, intervals = [point.length for point in cell.curve], [point.interval for point in cell.curve]
            lines.append(_line(style[cell.label], cell.label, x, intervals, task.kind, seeds=own))
    return Lines(
        slug=f"curves-{task.slug}",
        title=task.task_label,
        caption="Thick: mean over seeds; thin: every seed; band: 95 % interval of the mean; grey: training "
        f"lengths.{mixed} Click an encoding to hide or show it, double-click to see it alone.",
        x=along,
        y=score_axis(task.kind, _held(((p.interval, p.scores) for c in task.cells for p in c.curve), task.kind)),
        lines=tuple(lines),
        markers=True,
        shade=shade,
        levels=((task.chance, f"chance\n{task.chance:g}"),) if task.chance else (),
        y_format=task.kind.d3_format,
        x_words=f"{{}} {task.length_unit}".rstrip(),
    )


def scores(task: TaskSummary, style: dict[str, Style]) -> IntervalRows:
    """The mean over `TaskSummary.score_lengths`: per encoding every seed, the mean with its interval, and the published
    value.
    """
    rows = []
    for cell in task.cells:
        published = [value for value in cell.published if comparable(task, value)]
        if cell.scores or published:
            low, high = drawn(cell.score) or (None, None)
            others = ((p.value, f"{cell.label}, published: {published_text(task, p)}") for p in published)
            rows.append(
                IntervalRow(
                    name=style[cell.label].name,
                    label=cell.label,
                    style=style[cell.label],
                    mean=cell.score.mean,
                    low=low,
                    high=high,
                    note=_interval(cell.score, task.kind),
                    seeds=cell.scores,
                    others=tuple((value, said) for value, said in others if value is not None),
                )
            )
    theirs = [value for row in rows for value, _ in row.others]
    diamond = "; open diamond below: published, at the lengths in the table" if theirs else ""
    values = _held(((cell.score, cell.scores) for cell in task.cells), task.kind)
    return IntervalRows(
        slug=f"scores-{task.slug}",
        title=f"Mean over {'the ' if task.unseen_lengths else ''}{task.score_name}",
        caption=f"Large mark: mean over seeds with its 95 % interval; dots above: every seed{diamond}.",
        x=score_axis(task.kind, [*values, *theirs], 0.03),
        y=Axis(),
        rows=tuple(rows),
        level=(task.chance, f"chance {task.chance:g}") if task.chance else None,
        x_format=task.kind.d3_format,
    )


def positions(task: TaskSummary, style: dict[str, Style]) -> Lines:
    """Perplexity by position: per encoding the mean over seeds with its interval; the training length is shaded."""
    kind = kind_of("perplexity")
    ranges = sorted({(p.first, p.last) for cell in task.cells for p in cell.positions})
    index_of = {where: i for i, where in enumerate(ranges)}
    lines = []
    for cell in task.cells:
        if cell.positions:
            x = [index_of[p.first, p.last] for p in cell.positions]
            intervals = [p.interval for p in cell.positions]
            said = tuple(f"{_interval(p.interval, kind)} at positions {p.name}" for p in cell.positions)
            lines.append(_line(style[cell.label], cell.label, x, intervals, kind, notes=said))
    trained = task.train_lengths[1] if task.train_lengths else 0
    within = [i for (_, last), i in index_of.items() if last < trained]
    ticks = tuple(i for i in index_of.values() if len(ranges) <= 8 or (len(ranges) - 1 - i) % 2 == 0)
    names = tuple(str(ranges[i][0]) for i in ticks)
    return Lines(
        slug=f"positions-{task.slug}",
        title=f"Perplexity by position, windows of {task.position_length} tokens",
        caption="Mean over seeds with its 95 % interval, at positions from 0; grey: within the training length.",
        x=Axis("position in the window, from", -0.4, len(ranges) - 0.6, ticks, names),
        y=score_axis(kind, _held(((p.interval, p.scores) for c in task.cells for p in c.positions), kind)),
        lines=tuple(lines),
        markers=True,
        bars=True,
        shade=(-0.4, max(within) + 0.5, f"trained on {trained} tokens") if within else None,
        y_format=kind.d3_format,
        x_words="",
    )


def learning(task: TaskSummary, style: dict[str, Style]) -> Lines:
    """The loss while training: per encoding the mean over seeds, and every seed."""
    lines = []
    for cell in task.cells:
        if means := mean_losses(cell):
            x, y = np.array([*means]), np.array([*means.values()])
            look = style[cell.label]
            lines.append(PlotLine(name=look.name, label=cell.label, x=x, y=y, style=look, seeds=cell.losses))
    return Lines(
        slug=f"learning-{task.slug}",
        title=task.task_label,
        caption="Thick: mean over seeds; thin: every seed; at the learning rate that was chosen.",
        x=Axis("step"),
        y=loss_axis(task),
        lines=tuple(lines),
        y_format=".3r",
        x_words="step {}",
    )


def swept(sweep: Sweep) -> Lines:
    """The score against a field of the config: per encoding every seed, and the mean with its interval."""
    style, lines = styles(tuple(sweep.lines)), []
    for name, line in sweep.lines.items():
        cells = dict(sorted(line.items()))
        seeds = dict.fromkeys(seed for cell in cells.values() for seed in cell.scores)
        own = {s: {value: cell.scores[s] for value, cell in cells.items() if s in cell.scores} for s in seeds}
        lines.append(_line(style[name], name, [*cells], [cell.score for cell in cells.values()], sweep.kind, seeds=own))
    every = [cell for line in sweep.lines.values() for cell in line.values()]
    along = f" With it change {', '.join(sweep.along)}." if sweep.along else ""
    return Lines(
        slug="swept-field",
        title=f"Score against {sweep.field}",
        caption=f"Large mark: mean over seeds with its 95 % interval; small: every seed.{along}",
        x=sweep_axis(sweep),
        y=score_axis(sweep.kind, _held(((cell.score, cell.scores) for cell in every), sweep.kind)),
        lines=tuple(lines),
        markers=True,
        bars=True,
        y_format=sweep.kind.d3_format,
    )


def _line(
    style: Style, label: str, x: list[Any], intervals: list[Interval], kind: ScoreKind, **others: Any
) -> PlotLine:
    """Means with their intervals."""
    bounds = [drawn(own) or (math.nan, math.nan) for own in intervals]
    low, high = np.array(bounds, np.float64).reshape(-1, 2).T
    means = np.array([math.nan if own.mean is None else own.mean for own in intervals])
    notes = others.pop("notes", tuple(_interval(own, kind) for own in intervals))
    return PlotLine(
        name=style.name, label=label, x=np.array(x), y=means, style=style, low=low, high=high, notes=notes, **others
    )


def _held(found: Iterable[tuple[Interval, dict[int, float]]], kind: ScoreKind) -> list[float]:
    """The values that an axis must hold."""
    return [value for interval, own in found for value in with_bounds(interval, own.values(), kind)]


def _interval(interval: Interval, kind: ScoreKind) -> str:
    return interval_text(interval, kind).removeprefix(number(interval.mean, kind)).strip()
