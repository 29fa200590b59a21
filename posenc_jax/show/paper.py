"""Plots for a paper: one PNG and one PDF each, with matplotlib; the same plot gives the same bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc_jax.drawing.paper import DASHES, MARKERS, axes_of_lines, figure_of, legend, level, written
from posenc_jax.drawing.style import GRID, INK, MUTED
from posenc_jax.show.plots import HeatMap, Line, Lines, Plot, Points

# Safe for colour-blind readers, and monotonic in lightness (the first to both sides).
_DIVERGING, _SEQUENTIAL = "RdBu_r", "viridis"
_WIDTH = 5.5


def render(plot: Plot, kinds: tuple[str, ...] = ("png", "pdf")) -> dict[str, bytes]:
    """The bytes of a plot by kind of file. Needs matplotlib."""
    with figure_of(_WIDTH, 3.4) as figure:
        if isinstance(plot, HeatMap):
            _heat_map(figure, plot)
        elif isinstance(plot, Lines):
            _lines(figure, plot)
        elif isinstance(plot, Points):
            _points(figure, plot)
        return written(figure, kinds)


def _heat_map(figure: Any, plot: HeatMap) -> None:
    columns = min(plot.columns, len(plot.panels))
    rows = math.ceil(len(plot.panels) / columns)
    alone = len(plot.panels) == 1
    figure.set_size_inches(_heat_map_size(plot, rows, columns))
    grid = figure.subplots(rows, columns, squeeze=False)
    image = None
    for i, axes in enumerate(grid.flat):
        if i >= len(plot.panels):
            axes.set_visible(False)
            continue
        title, values = plot.panels[i]
        image = axes.imshow(
            values,
            cmap=_DIVERGING if plot.diverging else _SEQUENTIAL,
            vmin=plot.low,
            vmax=plot.high,
            interpolation="nearest",
            aspect="equal" if plot.square else "auto",
            rasterized=False,
        )
        axes.set_title(title, fontsize=7, loc="left", pad=3)
        outer_left, outer_bottom = i % columns == 0, i + columns >= len(plot.panels)
        size = 7 if alone else 6
        _image_ticks(axes.xaxis, plot.x_names if outer_bottom else (), values.shape[1], size, shown=outer_bottom)
        _image_ticks(axes.yaxis, plot.y_names if outer_left else (), values.shape[0], size, shown=outer_left)
        if plot.x_names and outer_bottom:
            axes.tick_params(axis="x", labelrotation=90)
    assert image is not None
    bar = figure.colorbar(image, ax=grid, shrink=0.9 if alone else min(0.9, 2.4 / (1.3 * rows)), aspect=24, pad=0.02)
    bar.set_label(plot.z_title)
    bar.outline.set_linewidth(0.6)
    if alone:
        grid[0, 0].set_xlabel(plot.x_title)
        grid[0, 0].set_ylabel(plot.y_title)
        grid[0, 0].set_title(plot.title, fontsize=9, loc="left")
    else:
        figure.supxlabel(plot.x_title, fontsize=8)
        figure.supylabel(plot.y_title, fontsize=8)
        figure.suptitle(plot.title, fontsize=9, x=0.01, ha="left")


def _heat_map_size(plot: HeatMap, rows: int, columns: int) -> tuple[float, float]:
    if len(plot.panels) > 1:
        names = 0.06 * max(map(len, plot.x_names), default=3)
        return _WIDTH, 0.75 + names + rows * (0.22 + min(4.2 / columns, 1.9))
    if plot.square:
        return 4.4, 3.9
    height, width = plot.panels[0][1].shape
    return _WIDTH, min(max(3.9 * height / width, 2.4), 5.5)


def _image_ticks(axis: Any, names: tuple[str, ...], count: int, size: float, *, shown: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if names and len(names) == count:
        axis.set_ticks(range(count), names, fontsize=size)
    elif shown:
        bins = 6 if size > 6 else 4
        axis.set_major_locator(MaxNLocator(nbins=bins, integer=True, min_n_ticks=2, steps=[1, 2, 5, 10]))
        axis.set_tick_params(labelsize=size)
    else:
        axis.set_ticks([])


def _lines(figure: Any, plot: Lines) -> None:
    if plot.stacked:
        from matplotlib.ticker import MaxNLocator

        figure.set_size_inches(_WIDTH, 0.7 + 1.0 * len(plot.lines))
        grid = figure.subplots(len(plot.lines), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, line in zip(grid, plot.lines):
            _line(axes, plot, line)
            _axes(axes, plot)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=5, min_n_ticks=3, steps=[1, 2, 5, 10]))
            axes.margins(y=0.1)
            axes.set_title(line.group, fontsize=7, loc="right", color=MUTED, pad=2)
        grid[-1].set_xlabel(plot.x_title)
        figure.supylabel(plot.y_title, fontsize=8)
        grid[0].set_title(plot.title, fontsize=9, loc="left")
        return
    axes = figure.add_subplot()
    for value, name in plot.levels:
        level(axes, value, name)
    named: dict[str, Any] = {}
    for line in plot.lines:
        drawn = _line(axes, plot, line)
        named.setdefault(line.group, drawn)
    _axes(axes, plot)
    axes.set_xlabel(plot.x_title)
    axes.set_ylabel(plot.y_title)
    alone = [name for name in named if name] if len(named) == 1 else []
    axes.set_title(": ".join((plot.title, *alone)), fontsize=9, loc="left")
    if len(named) > 1:
        legend(figure, {name: drawn for name, drawn in named.items() if name}, beside=14, height=3.2)


def _axes(axes: Any, plot: Lines) -> None:
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
    axes_of_lines(axes)
    if plot.x_ticks:
        axes.set_xticks(plot.x_ticks, [f"{tick:g}" for tick in plot.x_ticks])
    if plot.y_ticks:
        axes.set_yticks(plot.y_ticks)
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, plot.y_ticks[0] / 3), max(high, plot.y_ticks[-1] * 3))
    if not plot.log_x:
        axes.margins(x=0.02)
        axes.xaxis.get_major_locator().set_params(integer=True)


def _line(axes: Any, plot: Lines, line: Line) -> Any:
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=line.style.color, alpha=0.13 * line.opacity, linewidth=0)
    (drawn,) = axes.plot(
        line.x,
        line.y,
        color=line.style.color,
        linestyle=DASHES[line.style.dash],
        alpha=line.opacity,
        linewidth=3.2 if line.wide else 1.2,
        marker=MARKERS[line.style.marker] if plot.markers else None,
        markersize=5 if line.wide else 3,
    )
    return drawn


def _points(figure: Any, plot: Points) -> None:
    crowded = len(plot.labelled) > 64
    figure.set_size_inches(*((6.9, 5.9) if crowded else (4.9, 3.9)))
    axes = figure.add_subplot()
    x, y = plot.points[:, 0], plot.points[:, 1]
    if plot.path:
        axes.plot(x, y, color=MUTED, linewidth=0.5, alpha=0.6, zorder=1)
    marks = axes.scatter(x, y, c=np.arange(len(x)), cmap=_SEQUENTIAL, s=14, linewidths=0.3, edgecolors=INK, zorder=2)
    for p in plot.labelled:
        axes.annotate(
            str(p),
            (x[p], y[p]),
            xytext=(2, 2),
            textcoords="offset points",
            fontsize=5 if crowded else 5.5 if len(plot.labelled) > 24 else 7,
        )
    axes.margins(0.07)
    axes.set_xlabel(plot.x_title)
    axes.set_ylabel(plot.y_title)
    axes.set_title(plot.title, fontsize=9, loc="left")
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    bar = figure.colorbar(marks, ax=axes, aspect=28, pad=0.02)
    bar.set_label("position")
    bar.outline.set_linewidth(0.6)
