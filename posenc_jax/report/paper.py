"""Figures for a paper, each a PNG and a PDF, with matplotlib.

The score against length, or against a field that the ablation sweeps; the loss while training.
"""

from __future__ import annotations

from typing import Any

from posenc_jax.drawing.paper import DASHES, MARKERS, axes_of_lines, figure_of, legend, level, written
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.style import MUTED, SHADE, Style
from posenc_jax.report.axes import (
    LOSS_TITLE,
    drawn,
    length_axis,
    loss_axis,
    mean_losses,
    score_axis,
    sweep_axis,
    with_bounds,
)
from posenc_jax.report.entries import axis_title
from posenc_jax.results.summary import TaskSummary
from posenc_jax.results.sweep import Sweep


def render(task: TaskSummary, styles: dict[str, Style]) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: 5.5 inches wide; mean, every seed and the interval's band per encoding."""
    with figure_of(5.5, 2.9) as figure:
        named = _draw(figure.add_subplot(), task, styles)
        legend(figure, named, beside=12, height=2.7)
        return written(figure)


def render_learning(task: TaskSummary, styles: dict[str, Style]) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: the loss while training, 5.5 inches wide; mean and every seed per encoding."""
    cells, named = [cell for cell in task.cells if mean_losses(cell)], {}
    with figure_of(5.5, 2.9) as figure:
        axes = figure.add_subplot()
        axis = loss_axis(task)
        axes.set_yscale("log")
        for cell in cells:
            style = styles[cell.label]
            for own in cell.losses.values():
                axes.plot([*own], [*own.values()], color=style.color, alpha=0.35, linewidth=0.5)
            means = mean_losses(cell)
            look = {"color": style.color, "linestyle": DASHES[style.dash], "linewidth": 1.4}
            (named[style.name],) = axes.plot([*means], [*means.values()], **look)
        axes.set_xlabel("step")
        axes.set_ylabel(LOSS_TITLE)
        axes.set_title(plain(task.task_label), fontsize=9, loc="left")
        axes.set_ylim(axis.low, axis.high)
        axes.set_yticks(axis.ticks, axis.names)
        axes_of_lines(axes)
        legend(figure, named, beside=12, height=2.7)
        return written(figure)


def render_sweep(sweep: Sweep, styles: dict[str, Style]) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: the score against a field of the config, 5.5 inches wide; means with intervals."""
    scores = [(cell.score, cell.scores.values()) for line in sweep.lines.values() for cell in line.values()]
    axis = score_axis(sweep.kind, [v for own, values in scores for v in with_bounds(own, values, sweep.kind)], 0.1)
    along, named = sweep_axis(sweep), {}
    with figure_of(5.5, 2.9) as figure:
        axes = figure.add_subplot()
        if axis.logarithmic:
            axes.set_yscale("log")
        if along.logarithmic:
            axes.set_xscale("log", base=2)
        for name, line in sweep.lines.items():
            style, cells = styles[name], dict(sorted(line.items()))
            means = [cell.score.mean or 0.0 for cell in cells.values()]
            edges = [drawn(cell.score) or (mean, mean) for mean, cell in zip(means, cells.values())]
            reach = [[m - low for m, (low, _) in zip(means, edges)], [high - m for m, (_, high) in zip(means, edges)]]
            look = {"color": style.color, "linestyle": DASHES[style.dash], "marker": MARKERS[style.marker]}
            sizes = {"markersize": 3.2, "linewidth": 1.4, "elinewidth": 0.8, "capsize": 2}
            named[style.name] = axes.errorbar([*cells], means, reach, **look, **sizes)
        axes.set_xlabel(plain(sweep.field))
        axes.set_ylabel(axis_title(sweep.kind))
        axes.set_ylim(axis.low, axis.high)
        axes.set_yticks(axis.ticks, axis.names if axis.logarithmic else None)
        axes.set_xlim(along.low, along.high)
        axes.set_xticks(along.ticks, along.names)
        axes_of_lines(axes)
        legend(figure, named, beside=12, height=2.7)
        return written(figure)


def _draw(axes: Any, task: TaskSummary, styles: dict[str, Style]) -> dict[str, Any]:
    """Draws the curves, and gives the line of each name."""
    named: dict[str, Any] = {}
    points = [point for cell in task.cells for point in cell.curve]
    values = [v for p in points for v in with_bounds(p.interval, p.scores.values(), task.kind)]
    axis, along = score_axis(task.kind, values, 0.1), length_axis(task)
    if axis.logarithmic:
        axes.set_yscale("log")
    if along:
        axes.set_xscale("log", base=2)
    if task.train_lengths:
        first, last = task.train_lengths
        start = max(first, along.low) if along else first
        axes.axvspan(start, min(last, along.high) if along else last, color=SHADE, linewidth=0, zorder=0)
        where = axis.at(1.12 / 1.13)
        axes.text(start, where, f" trained on {first}..{last}", color=MUTED, fontsize=7, ha="left", va="top")
    if task.chance:
        level(axes, task.chance, f"chance\n{task.chance:g}")
    for cell in task.cells:
        if not cell.curve:
            continue
        style = styles[cell.label]
        lengths = [point.length for point in cell.curve]
        banded = {point.length: edges for point in cell.curve if (edges := drawn(point.interval)) is not None}
        low, high = [edges[0] for edges in banded.values()], [edges[1] for edges in banded.values()]
        if banded:
            axes.fill_between(list(banded), low, high, color=style.color, alpha=0.13, linewidth=0)
        for seed in sorted({seed for point in cell.curve for seed in point.scores}):
            values = [point.scores.get(seed, float("nan")) for point in cell.curve]
            axes.plot(lengths, values, color=style.color, alpha=0.4, linewidth=0.5)
        (named[style.name],) = axes.plot(
            lengths,
            [point.interval.mean for point in cell.curve],
            color=style.color,
            linestyle=DASHES[style.dash],
            marker=MARKERS[style.marker],
            markersize=3.2,
            linewidth=1.4,
        )
    axes.set_xlabel(plain(task.length_unit or "length"))
    axes.set_ylabel(axis_title(task.kind))
    axes.set_title(plain(task.task_label), fontsize=9, loc="left")
    axes.set_ylim(axis.low, axis.high)
    axes.set_yticks(axis.ticks, axis.names if axis.logarithmic else None)
    if along:
        axes.set_xlim(along.low, along.high)
        axes.set_xticks(along.ticks, along.names)
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes_of_lines(axes)
    return named
