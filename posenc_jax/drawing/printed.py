"""Plots for a paper: one PNG and one PDF each, with matplotlib; the same plot gives the same bytes."""

import math
from typing import Any

import numpy as np

from posenc_jax.drawing.paper import DASHES, MARKERS, at_side, axes_of_lines, figure_of, legend, level, written
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.plots import Axis, HeatMap, IntervalRows, Lines, Plot, PlotLine, Points
from posenc_jax.drawing.style import GRID, INK, MUTED, SHADE

# Safe for colour-blind readers, and monotonic in lightness (the first to both sides).
_DIVERGING, _SEQUENTIAL = "RdBu_r", "viridis"
_WIDTH = 5.5


def render(plot: Plot, kinds: tuple[str, ...] = ("png", "pdf")) -> dict[str, bytes]:
    """The bytes of a plot by kind of file, 5.5 inches wide. Needs matplotlib."""
    with figure_of(_WIDTH, 2.9) as figure:
        if isinstance(plot, HeatMap):
            _heat_map(figure, plot)
        elif isinstance(plot, Points):
            _points(figure, plot)
        elif isinstance(plot, Lines) and len(plot.panels) > 1:
            _stacked(figure, plot)
        elif isinstance(plot, Lines):
            axes = figure.add_subplot()
            named = draw_lines(axes, plot)
            alone = list(filter(None, named)) if len(named) == 1 else []
            axes.set_title(plain(": ".join((plot.title, *alone))), fontsize=9, loc="left")
            if len(named) > 1:
                legend(figure, named, beside=12, height=2.7)
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
        colors = {"cmap": _DIVERGING if plot.diverging else _SEQUENTIAL, "vmin": plot.low, "vmax": plot.top(values)}
        image = axes.imshow(values, **colors, interpolation="nearest", aspect="equal" if plot.square else "auto")
        axes.set_title(title, fontsize=7, loc="left", pad=3)
        outer_left, outer_bottom = i % columns == 0, i + columns >= len(plot.panels)
        size = 7 if alone else 6
        _image_ticks(axes.xaxis, plot.x.names if outer_bottom else (), values.shape[1], size, shown=outer_bottom)
        names = plot.rows[i] if plot.rows else plot.y.names if outer_left else ()
        _image_ticks(axes.yaxis, names, values.shape[0], size, shown=outer_left)
        if plot.x.names and outer_bottom:
            crowded = 0.06 * (1 + max(map(len, plot.x.names))) * len(plot.x.names) > 0.8 * _WIDTH / columns
            axes.tick_params(axis="x", labelrotation=90 if crowded else 0)
        for (row, column), value in np.ndenumerate(values) if plot.written else ():
            if np.isnan(value):
                continue
            red, green, blue, _ = image.cmap(image.norm(value))
            color = "white" if 0.3 * red + 0.6 * green + 0.1 * blue < 0.5 else INK
            axes.text(column, row, f"{value:.2f}", color=color, fontsize=5.5, ha="center", va="center")
        beside = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "left", "va": "center"}
        if i < len(plot.signs):
            axes.annotate(plot.signs[i], (1, 0.5), xytext=(5, 0), **beside, fontsize=11)
        if plot.box and i == len(plot.panels) - 1:
            border = {"boxstyle": "round,pad=0.8", "facecolor": SHADE, "edgecolor": MUTED}
            axes.annotate(plot.box, (1, 0.5), xytext=(27, 0), **beside, fontsize=8, rotation=270, bbox=border)
        axes.tick_params(axis="y", length=0 if plot.rows else 3)
    assert image is not None
    if plot.box:  # whose border the layout does not see
        figure.get_layout_engine().set(rect=(0, 0, 0.98, 1))
    if not (plot.written and plot.box):
        _scale(figure, plot, image, grid, rows, alone=alone)
    if alone:
        grid[0, 0].set_xlabel(plot.x.title)
        grid[0, 0].set_ylabel(plot.y.title)
        grid[0, 0].set_title(plot.title, fontsize=9, loc="left")
    else:
        figure.supxlabel(plot.x.title, fontsize=8)
        figure.supylabel(plot.y.title, fontsize=8)
        figure.suptitle(plot.title, fontsize=9, x=0.01, ha="left")


def _scale(figure: Any, plot: HeatMap, image: Any, grid: Any, rows: int, *, alone: bool) -> None:
    bar = figure.colorbar(image, ax=grid, shrink=0.9 if alone else min(0.9, 2.4 / (1.3 * rows)), aspect=24, pad=0.02)
    if plot.own_scales:
        bar.set_ticks(image.get_clim(), labels=[f"{plot.low:g}", "max"])
    bar.set_label(plot.z_title)
    bar.outline.set_linewidth(0.6)


def _heat_map_size(plot: HeatMap, rows: int, columns: int) -> tuple[float, float]:
    if len(plot.panels) > 1:
        names = 0.06 * max(map(len, plot.x.names), default=3)
        titles = 0.22 + 0.12 * max(title.count("\n") for title, _ in plot.panels)
        return _WIDTH, 0.75 + names + rows * (titles + min(4.2 / columns, 1.9))
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


def _stacked(figure: Any, plot: Lines) -> None:
    from matplotlib.ticker import MaxNLocator

    height = 0.7 + 1.0 * len(plot.panels)
    figure.set_size_inches(_WIDTH, height)
    grid = figure.subplots(len(plot.panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    named: dict[str, Any] = {}
    for axes, (panel, lines) in zip(grid, plot.panels.items()):
        named |= {line.name: _line(axes, plot, line) for line in lines}
        _axes(axes, plot.x, plot.y)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, min_n_ticks=3, steps=[1, 2, 5, 10]))
        axes.margins(y=0.1)
        axes.set_title(panel, fontsize=7, loc="right", color=MUTED, pad=2)
    grid[-1].set_xlabel(plot.x.title)
    figure.supylabel(plot.y.title, fontsize=8)
    figure.suptitle(plot.title, fontsize=9, x=0.01, ha="left")
    if len(named) > 1:
        legend(figure, named, beside=12, height=height)


def draw_lines(axes: Any, plot: Lines, size: float = 8) -> dict[str, Any]:
    """Draws lines with titles of axes in letters of a size, and gives a line of each name."""
    if plot.shade is not None:
        start, end, word = plot.shade
        axes.axvspan(start, end, color=SHADE, linewidth=0, zorder=0)
        where = {"xycoords": ("data", "axes fraction"), "xytext": (2, -2), "textcoords": "offset points"}
        axes.annotate(word, (start, 1), **where, color=MUTED, fontsize=7, ha="left", va="top")
    for value, name in plot.levels:
        level(axes, value, name, plot.edge(value))
    named: dict[str, Any] = {}
    for line in plot.lines:
        named.setdefault(line.name, _line(axes, plot, line))
    _axes(axes, plot.x, plot.y)
    axes.set_xlabel(plain(plot.x.title), fontsize=size)
    axes.set_ylabel(plain(plot.y.title), fontsize=size)
    return named


def _axes(axes: Any, x: Axis, y: Axis) -> None:
    if x.logarithmic:
        axes.set_xscale("log")
    elif x.low is None:
        axes.margins(x=0.02)
    if y.logarithmic:
        axes.set_yscale("log")
    if not (x.logarithmic or x.ticks):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes_of_lines(axes)
    for axis, limits, drawn in ((x, axes.set_xlim, axes.set_xticks), (y, axes.set_ylim, axes.set_yticks)):
        if axis.low is not None:
            limits(axis.low, axis.high)
        if axis.ticks:
            drawn(axis.ticks, axis.names or [f"{tick:g}" for tick in axis.ticks])


def _line(axes: Any, plot: Lines, line: PlotLine) -> Any:
    color = line.style.color
    dash = "none" if line.drawn == "points" else DASHES[line.style.dash]
    look = {"linestyle": dash, "linewidth": 3.2 if line.wide else 1.3, "alpha": line.opacity}
    if plot.markers and line.drawn != "line":
        look |= {"marker": MARKERS[line.style.marker], "markersize": 5 if line.wide else 3}
    for own in line.seeds.values() if not plot.bars else ():
        axes.plot([*own], [*own.values()], color=color, alpha=0.4, linewidth=0.5)
    if line.low is None or line.high is None:
        (drawn,) = axes.plot(line.x, line.y, color=color, **look)
        return drawn
    if plot.bars:
        reach = np.nan_to_num([line.y - line.low, line.high - line.y])
        return axes.errorbar(line.x, line.y, reach, color=color, **look, elinewidth=0.8, capsize=2)
    there = np.isfinite(line.low)
    axes.fill_between(
        line.x[there], line.low[there], line.high[there], color=color, alpha=0.13 * line.opacity, linewidth=0
    )
    (drawn,) = axes.plot(line.x, line.y, color=color, **look)
    return drawn


def draw_rows(axes: Any, plot: IntervalRows) -> None:
    """Draws rows: mean and interval, with the word of each to its right."""
    for y, row in enumerate(reversed(plot.rows)):
        color = row.style.color
        axes.plot([row.low, row.high], [y, y], color=color, linewidth=1.6, solid_capstyle="butt")
        axes.plot([row.mean], [y], "o", color=color, markersize=3.6)
        at_side(axes, y, row.word, color)
    if plot.level is not None:
        axes.axvline(plot.level[0], color=INK, linewidth=0.6)
    axes.set_ylim(-0.6, len(plot.rows) - 0.4)
    axes.set_yticks(range(len(plot.rows)), [plain(row.name) for row in reversed(plot.rows)], fontsize=7)
    axes.set_xlabel(plain(plot.x.title), fontsize=7, loc="left")  # where a narrow screen shows it
    axes_of_lines(axes)
    axes.grid(axis="y", visible=False)


def _points(figure: Any, plot: Points) -> None:
    crowded = len(plot.labelled) > 64
    figure.set_size_inches(*((6.9, 5.9) if crowded else (4.9, 3.9)))
    axes = figure.add_subplot()
    marks = draw_points(axes, plot, 5 if crowded else 5.5 if len(plot.labelled) > 24 else 7)
    bar = figure.colorbar(marks, ax=axes, aspect=28, pad=0.02)
    bar.set_label("position")
    bar.outline.set_linewidth(0.6)


def draw_points(axes: Any, plot: Points, size: float) -> Any:
    """Draws points with labels of a size in points, and gives the marks."""
    x, y = plot.points[:, 0], plot.points[:, 1]
    if plot.path:
        axes.plot(x, y, color=MUTED, linewidth=0.5, alpha=0.6, zorder=1)
    marks = axes.scatter(x, y, c=np.arange(len(x)), cmap=_SEQUENTIAL, s=14, linewidths=0.3, edgecolors=INK, zorder=2)
    for p, (right, up) in label_sides(plot, axes.figure.get_size_inches(), size).items():
        look = {"ha": ("right", "center", "left")[right + 1], "va": ("top", "center", "bottom")[up + 1]}
        # Diagonal ones come near, beside the round mark; those above and below keep their descent.
        off = (right * (_APART - 1 if up else _APART), up * (_APART - 1.5))
        axes.annotate(str(p), (x[p], y[p]), xytext=off, textcoords="offset points", fontsize=size, **look)
    axes.margins(_MARGIN)
    axes.set_xlabel(plot.x.title)
    axes.set_ylabel(plot.y.title)
    axes.set_title(plot.title, fontsize=9, loc="left")
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return marks


_MARGIN, _RADIUS, _APART = 0.07, 2.2, 3.0  # of the axes, and points of a mark and from its middle to a label
_SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))


def label_sides(plot: Points, inches: Any, size: float) -> dict[int, tuple[int, int]]:
    """The side of its mark, (right, up), at which the label of each position covers the fewest marks and labels.

    Args:
      inches: width and height of the figure, of which the axes take about four fifths.
      size: of the letters, in points.
    """
    low, high = plot.points.min(axis=0), plot.points.max(axis=0)
    scale = 0.8 * 72 * np.asarray(inches) / (np.where(high > low, high - low, 1.0) * (1 + 2 * _MARGIN))
    marks = plot.points * scale
    boxes: list[np.ndarray] = []  # middle and half the size of labels that have their place

    def covered(p: int, middle: np.ndarray, half: np.ndarray) -> int:
        """The number of marks and labels that a label covers, and of marks that it is as near to as to its own."""
        away = np.hypot(*(marks - middle).T)
        on_marks = np.all(np.abs(marks - middle) < half + _RADIUS, axis=1).sum()
        near = (away < 1.2 * away[p]).sum() - 1
        return int(on_marks + near) + sum(bool(np.all(np.abs(box[0] - middle) < box[1] + half)) for box in boxes)

    found = {}
    for p in plot.labelled:
        half = size * np.array([0.3 * len(str(p)), 0.4])
        places = [marks[p] + np.array(side) * (half + _APART - 0.5) for side in _SIDES]
        best = min(range(len(_SIDES)), key=lambda i: covered(p, places[i], half))
        boxes.append(np.stack([places[best], half]))
        found[p] = _SIDES[best]
    return found
