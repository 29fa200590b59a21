"""Plots as plotly figures, in plain JSON values; no plotly is needed to make them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc_jax.drawing.hypertext import in_figure
from posenc_jax.drawing.interactive import LEGEND, Figure, base_layout, faded, level, note, title_of
from posenc_jax.drawing.style import INK, MUTED
from posenc_jax.show.plots import HeatMap, Line, Lines, Plot, Points

# Red to blue and viridis, as in the figures for a paper.
_DIVERGING = [
    "#053061",
    "#2166ac",
    "#4393c3",
    "#92c5de",
    "#d1e5f0",
    "#f7f7f7",
    "#fddbc7",
    "#f4a582",
    "#d6604d",
    "#b2182b",
    "#67001f",
]
_SEQUENTIAL = "Viridis"


def figure(plot: Plot) -> Figure:
    """A plot as a plotly figure, in plain JSON values."""
    if isinstance(plot, HeatMap):
        return _heat_map(plot)
    if isinstance(plot, Lines):
        return _lines(plot)
    assert isinstance(plot, Points)
    return _points(plot)


def _heat_map(plot: HeatMap) -> Figure:
    columns = min(plot.columns, len(plot.panels))
    rows = math.ceil(len(plot.panels) / columns)
    alone = len(plot.panels) == 1
    x_title, y_title, z_title = map(in_figure, (plot.x_title, plot.y_title, plot.z_title))
    layout = base_layout(_height(plot, rows, columns))
    base = {"showgrid": False, "zeroline": False, "ticks": "outside", "ticklen": 3, "automargin": True}
    layout["xaxis"], layout["yaxis"] = {}, {}
    layout["coloraxis"] = {
        "cmin": plot.low,
        "cmax": plot.high,
        "colorscale": [[i / 10, c] for i, c in enumerate(_DIVERGING)] if plot.diverging else _SEQUENTIAL,
        "colorbar": {"title": {"text": z_title, "side": "right"}, "thickness": 12, "outlinewidth": 0, "x": 1.01},
    }
    layout["margin"] |= {"r": 20, "t": 30 if not alone else 16}
    layout["annotations"] = []
    traces = []
    gap_x, gap_y = (0.14 / columns if columns > 1 else 0.0), (26 / layout["height"] if rows > 1 else 0.0)
    for i, (title, values) in enumerate(plot.panels):
        number = "" if i == 0 else str(i + 1)
        row, column = divmod(i, columns)
        bottom, left = row == rows - 1 or i + columns >= len(plot.panels), column == 0
        x_domain = [column / columns + gap_x / 2, (column + 1) / columns - gap_x / 2]
        y_domain = [1 - (row + 1) / rows + gap_y / 2, 1 - row / rows - gap_y / 2]
        x = base | {"domain": x_domain, "anchor": f"y{number}", "showticklabels": bottom, "constrain": "domain"}
        y = base | {
            "domain": y_domain,
            "anchor": f"x{number}",
            "showticklabels": left,
            "autorange": "reversed",
            "constrain": "domain",
        }
        if plot.square:
            y |= {"scaleanchor": f"x{number}", "constraintoward": "top"}
        x |= _names(plot.x_names, values.shape[1]) | ({"tickangle": -90} if plot.x_names else {})
        y |= _names(plot.y_names, values.shape[0])
        if alone or (bottom and column == 0):
            x["title"] = title_of(plot.x_title)
        if alone or (left and row == 0):
            y["title"] = title_of(plot.y_title)
        layout[f"xaxis{number}"], layout[f"yaxis{number}"] = x, y
        traces.append(
            {
                "type": "heatmap",
                "z": _table_of_values(values),
                "coloraxis": "coloraxis",
                "xaxis": f"x{number}",
                "yaxis": f"y{number}",
                "showlegend": False,
                "name": in_figure(title),
                "hovertemplate": f"{y_title} %{{y}}, {x_title} %{{x}}: %{{z:.4g}}<extra></extra>",
            }
        )
        if title:
            name = note(in_figure(title), 0, 1, f"x{number} domain", "left", "bottom", f"y{number} domain")
            layout["annotations"].append(name | {"font": {"size": 11, "color": MUTED}})
    return {"data": traces, "layout": layout}


def _height(plot: HeatMap, rows: int, columns: int) -> int:
    if len(plot.panels) > 1:
        return 110 + 8 * max(map(len, plot.x_names), default=0) + rows * (40 + round(700 / max(columns, 2)))
    if plot.square:
        return 560
    height, width = plot.panels[0][1].shape
    return round(min(max(700 * height / width, 340), 700))


def _names(names: tuple[str, ...], count: int) -> dict[str, Any]:
    if len(names) != count or not names:
        return {"tickformat": "d"}
    return {"tickvals": list(range(count)), "ticktext": [in_figure(name) for name in names]}


def _lines(plot: Lines) -> Figure:
    if plot.stacked:
        return _stacked(plot)
    layout = base_layout(430)
    layout["xaxis"] |= {"title": title_of(plot.x_title)} | (_LOGARITHMIC if plot.log_x else {})
    if not plot.log_x and max(np.ptp(line.x) for line in plot.lines) <= 10:
        layout["xaxis"]["dtick"] = 1  # whole numbers only
    layout["yaxis"] |= {"title": title_of(plot.y_title), "automargin": True} | (_LOGARITHMIC if plot.log_y else {})
    if plot.x_ticks:
        layout["xaxis"] |= {"tickvals": list(plot.x_ticks), "ticktext": [f"{tick:g}" for tick in plot.x_ticks]}
    if plot.y_ticks:
        powers = ["1" if tick == 1 else f"10<sup>−{-math.log10(tick):.0f}</sup>" for tick in plot.y_ticks]
        layout["yaxis"] |= {"tickvals": list(plot.y_ticks), "ticktext": powers}
    layout["legend"] = dict(LEGEND)
    layout["shapes"], layout["annotations"] = [], []
    for value, name in plot.levels:
        layout["shapes"].append(level(value))
        at = math.log10(value) if plot.log_y else value
        layout["annotations"].append(note(in_figure(name), 1, at, "paper", "right", "bottom", "y"))
    traces: list[dict[str, Any]] = []
    named: set[str] = set()
    several = len({line.group for line in plot.lines}) > 1
    for line in plot.lines:
        traces += _line(plot, line, shown=several and line.group not in named)
        named.add(line.group)
    return {"data": traces, "layout": layout}


def _stacked(plot: Lines) -> Figure:
    """Each line on its own axes, all on one scale."""
    count = len(plot.lines)
    layout = base_layout(90 + 130 * count)
    x, y = layout.pop("xaxis"), layout.pop("yaxis")
    layout["annotations"], traces = [], []
    for i, line in enumerate(plot.lines):
        number = "" if i == 0 else str(i + 1)
        same = ({"matches": "x"}, {"matches": "y"}) if i else ({}, {})
        layout[f"xaxis{number}"] = x | same[0] | {"anchor": f"y{number}", "showticklabels": i == count - 1}
        domain = [1 - (i + 1) / count + 0.02, 1 - i / count - 22 / layout["height"]]
        layout[f"yaxis{number}"] = y | same[1] | {"anchor": f"x{number}", "domain": domain, "automargin": True}
        name = in_figure(line.group)
        layout["annotations"].append(note(name, 1, 1, "paper", "right", "bottom", f"y{number} domain"))
        traces += [t | {"xaxis": f"x{number}", "yaxis": f"y{number}"} for t in _line(plot, line, shown=False)]
    layout[f"xaxis{count}"]["title"] = title_of(plot.x_title)
    layout["yaxis"]["title"] = title_of(plot.y_title)
    return {"data": traces, "layout": layout}


_LOGARITHMIC: dict[str, Any] = {"type": "log", "exponentformat": "power", "dtick": 1}


def _line(plot: Lines, line: Line, *, shown: bool) -> list[dict[str, Any]]:
    common = {"type": "scatter", "legendgroup": line.group, "x": _values(line.x)}
    color = faded(line.style.color, round(line.opacity, 3))
    traces: list[dict[str, Any]] = []
    if line.low is not None and line.high is not None:
        traces.append(
            common
            | {
                "x": _values(np.concatenate([line.x, line.x[::-1]])),
                "y": _values(np.concatenate([line.high, line.low[::-1]])),
                "mode": "none",
                "fill": "toself",
                "fillcolor": faded(line.style.color, 0.13 * line.opacity),
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    mark = {"color": color, "size": 10 if line.wide else 6, "symbol": line.style.marker}
    traces.append(
        common
        | {"y": _values(line.y), "mode": "lines+markers" if plot.markers else "lines"}
        | {"name": in_figure(line.group), "showlegend": shown}
        | {"line": {"color": color, "width": 6 if line.wide else 2, "dash": line.style.dash}}
        | {"hovertemplate": f"{in_figure(line.hover)}: %{{y:.5g}} at %{{x}}<extra></extra>"}
        | ({"marker": mark} if plot.markers else {})
    )
    return traces


def _points(plot: Points) -> Figure:
    layout = base_layout(520)
    layout["xaxis"] |= {"title": title_of(plot.x_title), "showgrid": True}
    layout["yaxis"] |= {"title": title_of(plot.y_title), "automargin": True}
    layout["margin"]["r"] = 20
    x, y = _values(plot.points[:, 0]), _values(plot.points[:, 1])
    labelled = set(plot.labelled)
    traces: list[dict[str, Any]] = []
    if plot.path:
        traces.append(
            {"type": "scatter", "x": x, "y": y, "mode": "lines", "hoverinfo": "skip", "showlegend": False}
            | {"line": {"color": faded(MUTED, 0.5), "width": 1}}
        )
    traces.append(
        {
            "type": "scatter",
            "x": x,
            "y": y,
            "mode": "markers+text",
            "showlegend": False,
            "text": [str(p) if p in labelled else "" for p in range(len(x))],
            "textposition": "top right",
            "textfont": {"size": 10 if len(labelled) > 24 else 12},
            "customdata": list(range(len(x))),
            "hovertemplate": "position %{customdata}<extra></extra>",
            "marker": {
                "size": 8,
                "color": list(range(len(x))),
                "colorscale": _SEQUENTIAL,
                "line": {"width": 0.5, "color": INK},
                "colorbar": {"title": {"text": "position", "side": "right"}, "thickness": 12, "outlinewidth": 0},
            },
        }
    )
    return {"data": traces, "layout": layout}


def _values(values: np.ndarray) -> list[Any]:
    """Numbers of six digits; None where there is none."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values.tolist()]


def _table_of_values(values: np.ndarray) -> list[list[Any]]:
    return [[float(f"{v:.4g}") if math.isfinite(v) else None for v in row] for row in values.tolist()]
