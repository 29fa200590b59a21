"""Plots as plotly figures, in plain JSON values; no plotly is needed to make them."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from posenc_jax.drawing.hypertext import in_figure
from posenc_jax.drawing.plots import Axis, HeatMap, IntervalRow, IntervalRows, Lines, Plot, PlotLine, Points
from posenc_jax.drawing.style import DARK, GRID, INK, MUTED, PAPER, SHADE

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
Figure = dict[str, Any]

# Red to blue and viridis, as in the figures for a paper.
_DIVERGING = ("#053061", "#2f79b5", "#a7d0e4", "#f7f7f7", "#f9c4a9", "#c13639", "#67001f")
_SEQUENTIAL = "Viridis"


def figure(plot: Plot) -> Figure:
    """A plot as a plotly figure, in plain JSON values."""
    kinds: dict[type, Any] = {HeatMap: _heat_map, Lines: _lines, Points: _points, IntervalRows: _rows}
    traces, layout = kinds[type(plot)](plot)
    return {"data": traces, "layout": layout}


Drawn = tuple[list[dict[str, Any]], dict[str, Any]]  # traces and layout


def _layout(height: int, x: Axis, y: Axis) -> dict[str, Any]:
    axis = {"gridcolor": GRID, "zeroline": False, "linecolor": MUTED, "ticks": "outside", "tickcolor": MUTED}
    return {
        "height": height,
        "margin": {"l": 56, "r": 40, "t": 24, "b": 52},
        "modebar": {"orientation": "v"},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "font": {"family": FONT, "size": 13, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": 13}},
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "xaxis": {**axis, "ticklen": 4, "showline": True, "showgrid": False, **_axis(x)},
        "yaxis": {**axis, "ticklen": 4, "showline": False, "automargin": True, **_axis(y)},
        "shapes": [],
        "annotations": [],
    }


def _axis(axis: Axis) -> dict[str, Any]:
    found: dict[str, Any] = {"title": _title(axis)}
    if axis.low is not None and axis.high is not None:
        found["range"] = [axis.coordinate(axis.low), axis.coordinate(axis.high)]
    if axis.logarithmic:
        found |= {"type": "log", "exponentformat": "power", "dtick": 1, "automargin": True}
    if axis.ticks:
        names = axis.names or tuple(f"{tick:g}" for tick in axis.ticks)
        texts = [in_figure(name).replace("\n", "<br>") for name in names]
        found |= {"tickvals": list(axis.ticks), "ticktext": texts, "tickangle": 0}
    return found


def _title(axis: Axis) -> dict[str, Any]:
    return {"text": in_figure(axis.title), "font": {"size": 13}}


def _note(text: str, x: float, y: float, xref: str, xanchor: str, yanchor: str, yref: str = "paper") -> dict[str, Any]:
    where = {"x": x, "y": y, "xref": xref, "yref": yref, "xanchor": xanchor, "yanchor": yanchor}
    shown = in_figure(text).replace("\n", "<br>")
    return {"text": shown, **where, "showarrow": False, "font": {"size": 12, "color": MUTED}}


def _level(value: float, of: str = "y") -> dict[str, Any]:
    other = "x" if of == "y" else "y"
    ends = {f"{of}ref": of, f"{of}0": value, f"{of}1": value, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1}
    return {"type": "line", "layer": "below", "line": {"color": MUTED, "width": 1.2, "dash": "dot"}} | ends


def _faded(color: str, opacity: float) -> str:
    return f"{_rgba(color)}{round(opacity, 3)})"


def dark_words() -> dict[str, str]:
    """Replacements of the light colours in a figure's JSON that make it a figure for a dark page."""
    return DARK | {_rgba(light): _rgba(dark) for light, dark in DARK.items()}


def _rgba(color: str) -> str:
    return "rgba({},{},{},".format(*(int(color[i : i + 2], 16) for i in (1, 3, 5)))


def _heat_map(plot: HeatMap) -> Drawn:
    columns = min(plot.columns, len(plot.panels))
    rows = math.ceil(len(plot.panels) / columns)
    alone = len(plot.panels) == 1
    layout = _layout(_height(plot, rows, columns), plot.x, plot.y)
    base = {"showgrid": False, "zeroline": False, "ticks": "outside", "ticklen": 3, "automargin": True}
    layout["coloraxis"] = {
        "cmin": plot.low,
        "cmax": plot.high,
        "colorscale": [[i / 6, c] for i, c in enumerate(_DIVERGING)] if plot.diverging else _SEQUENTIAL,
        "colorbar": _colorbar(plot.z_title) | {"x": 1.01},
        "showscale": not plot.written,
    }
    lines = max(title.count("\n") for title, _ in plot.panels)
    # On the right the buttons of the figure, or the scale of colours.
    layout["margin"] |= {"r": 44 if plot.written else 20, "t": 30 + 14 * lines if not alone else 16}
    traces = []
    gap_x = 0.14 / columns if columns > 1 else 0.0
    gap_y = (26 + 14 * lines) / layout["height"] if rows > 1 else 0.0
    gap_x *= 2.5 if plot.signs else 1.0
    for i, (title, values) in enumerate(plot.panels):
        number = "" if i == 0 else str(i + 1)
        row, column = divmod(i, columns)
        bottom, left = row == rows - 1 or i + columns >= len(plot.panels), column == 0
        x_domain = [column / columns + gap_x / 2, (column + 1) / columns - gap_x / 2]
        y_domain = [1 - (row + 1) / rows + gap_y / 2, 1 - row / rows - gap_y / 2]
        x = base | {"domain": x_domain, "anchor": f"y{number}", "showticklabels": bottom, "constrain": "domain"}
        y = base | {"domain": y_domain, "anchor": f"x{number}", "showticklabels": left or bool(plot.rows)}
        y |= {"constrain": "domain"}
        y |= {"autorange": "reversed"}
        if plot.square:
            y |= {"scaleanchor": f"x{number}", "constraintoward": "top"}
        x |= _names(plot.x.names, values.shape[1])
        x |= {"tickangle": -90} if max(map(len, plot.x.names), default=0) > 6 else {}
        y |= _names(plot.rows[i] if plot.rows else plot.y.names, values.shape[0])
        if alone or (bottom and column == 0):
            x["title"] = _title(plot.x)
        if alone or (left and row == 0):
            y["title"] = _title(plot.y)
        layout[f"xaxis{number}"], layout[f"yaxis{number}"] = x, y
        where = f"{in_figure(plot.y.title)} %{{y}}, {in_figure(plot.x.title)} %{{x}}"
        traces.append(
            {
                "type": "heatmap",
                "z": [_values(line, 6 if plot.written else 4) for line in values],
            }
            | (_own_scale(plot, values, shown=i == 0) if plot.own_scales else {"coloraxis": "coloraxis"})
            | {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False, "name": in_figure(title)}
            | {"hovertemplate": f"{where}: %{{z:.4g}}<extra></extra>"}
            | ({"texttemplate": "%{z:.2f}", "textfont": {"size": 11}} if plot.written else {})
        )
        if i < len(plot.signs):
            sign = _note(plot.signs[i], 1, 0.5, f"x{number} domain", "left", "middle", f"y{number} domain")
            layout["annotations"].append(sign | {"xshift": 8, "font": {"size": 18, "color": INK}})
        if plot.box and i == len(plot.panels) - 1:
            box = _note(plot.box, 1, 0.5, f"x{number} domain", "left", "middle", f"y{number} domain")
            border = {"bordercolor": MUTED, "borderwidth": 1.5, "borderpad": 8, "bgcolor": SHADE, "textangle": 90}
            layout["annotations"].append(box | border | {"xshift": 36, "font": {"size": 13, "color": INK}})
        if title:
            name = _note(title, 0, 1, f"x{number} domain", "left", "bottom", f"y{number} domain")
            layout["annotations"].append(name | {"align": "left", "font": {"size": 11, "color": MUTED}})
    return traces, layout


def _own_scale(plot: HeatMap, values: Any, *, shown: bool) -> dict[str, Any]:
    """The colours of a panel with its own scale, and the shared colour bar if it is shown."""
    top = plot.top(values)
    ticks = {"tickvals": [plot.low, top], "ticktext": [f"{plot.low:g}", "max"]}
    bar = {"colorbar": _colorbar(plot.z_title) | {"x": 1.01} | ticks} if shown else {}
    return {"zmin": plot.low, "zmax": top, "colorscale": _SEQUENTIAL, "showscale": shown} | bar


def _colorbar(title: str) -> dict[str, Any]:
    return {"title": {"text": in_figure(title), "side": "right"}, "thickness": 12, "outlinewidth": 0}


def _height(plot: HeatMap, rows: int, columns: int) -> int:
    if len(plot.panels) > 1:
        lines = max(title.count("\n") for title, _ in plot.panels)
        each = 40 + 14 * lines + round(700 / max(columns, 2))
        return 110 + 8 * max(map(len, plot.x.names), default=0) + rows * each
    if plot.square:
        return 560
    height, width = plot.panels[0][1].shape
    return round(min(max(700 * height / width, 340), 700))


def _names(names: tuple[str, ...], count: int) -> dict[str, Any]:
    if len(names) != count or not names:
        return {"tickformat": "d"}
    return {"tickvals": list(range(count)), "ticktext": [in_figure(name) for name in names]}


def _lines(plot: Lines) -> Drawn:
    if len(plot.panels) > 1:
        return _stacked(plot)
    layout = _layout(430, plot.x, plot.y)
    if not (plot.x.ticks or plot.x.logarithmic) and max((np.ptp(line.x) for line in plot.lines), default=0) <= 10:
        layout["xaxis"]["dtick"] = 1  # whole numbers only
    if plot.shade is not None:
        start, end, word = plot.shade
        across = {"xref": "x", "x0": start, "x1": end, "yref": "paper", "y0": 0, "y1": 1}
        layout["shapes"] = [{"type": "rect", **across, "fillcolor": SHADE, "line": {"width": 0}, "layer": "below"}]
        layout["annotations"] = [_note(word, plot.x.coordinate(start), 1, "x", "left", "top")]
    for value, name in plot.levels:
        layout["shapes"].append(_level(value))
        edge = plot.edge(value).replace("center", "middle")
        at = _note(name, 1, plot.y.coordinate(value), "paper", "left", edge, "y")
        layout["annotations"].append(at | {"xshift": 4})
        beside = 46 + 7 * max(map(len, name.split("\n")))  # the name, then the buttons of the figure
        layout["margin"]["r"] = max(layout["margin"]["r"], beside)
    traces: list[dict[str, Any]] = []
    named: set[str] = set()
    several = len({line.name for line in plot.lines}) > 1
    for line in plot.lines:
        traces += _line(plot, line, shown=several and line.name not in named)
        named.add(line.name)
    return traces, layout


def _stacked(plot: Lines) -> Drawn:
    count, several = len(plot.panels), len({line.name for line in plot.lines}) > 1
    layout = _layout(90 + 130 * count, plot.x, plot.y)
    (x, x_title), (y, y_title) = ((axis, axis.pop("title")) for axis in (layout.pop("xaxis"), layout.pop("yaxis")))
    traces = []
    for i, (panel, lines) in enumerate(plot.panels.items()):
        number = "" if i == 0 else str(i + 1)
        same = ({"matches": "x"}, {"matches": "y"}) if i else ({}, {})
        layout[f"xaxis{number}"] = x | same[0] | {"anchor": f"y{number}", "showticklabels": i == count - 1}
        domain = [1 - (i + 1) / count + 0.02, 1 - i / count - 22 / layout["height"]]
        layout[f"yaxis{number}"] = y | same[1] | {"anchor": f"x{number}", "domain": domain}
        layout["annotations"].append(_note(panel, 1, 1, "paper", "right", "bottom", f"y{number} domain"))
        drawn = [trace for line in lines for trace in _line(plot, line, shown=several and i == 0)]
        traces += [trace | {"xaxis": f"x{number}", "yaxis": f"y{number}"} for trace in drawn]
    layout[f"xaxis{count}"]["title"], layout["yaxis"]["title"] = x_title, y_title
    return traces, layout


def _line(plot: Lines, line: PlotLine, *, shown: bool) -> list[dict[str, Any]]:
    color, opacity, name = line.style.color, line.opacity, in_figure(line.name)
    common = {"type": "scatter", "legendgroup": name, "showlegend": False}
    label = in_figure(line.label or line.name)
    where = f" at {in_figure(plot.x_words).replace('{}', '%{x}')}" if plot.x_words else ""
    value = f"%{{y:{plot.y_format}}}"
    traces: list[dict[str, Any]] = []
    errors: dict[str, Any] = {}
    if line.low is not None and line.high is not None:
        there = np.isfinite(line.low) & np.isfinite(line.high)
        x, low, high = line.x[there], line.low[there], line.high[there]
        if plot.bars:
            errors = {"error_y": _errors(line.style.color, line.y, line.low, line.high)}
        elif there.any():
            edge = {"x": _values([*x, *x[::-1]]), "y": _values([*high, *low[::-1]]), "mode": "none", "fill": "toself"}
            traces.append({**common, **edge, "fillcolor": _faded(color, 0.13 * opacity), "hoverinfo": "skip"})
    if line.seeds:
        parted = [(x, y, seed) for seed, own in line.seeds.items() for x, y in [*own.items(), (math.nan, math.nan)]]
        xs, ys, seeds = zip(*parted, strict=True)
        traces.append(
            {**common, "x": _values(xs), "y": _values(ys), "customdata": seeds}
            | {"mode": "markers" if plot.bars else "lines+markers" if plot.markers else "lines"}
            | {"line": {"color": _faded(color, 0.45), "width": 1}}
            | {"marker": {"color": _faded(color, 0.5), "size": 5 if plot.bars else 3}}
            | {"hovertemplate": f"{label}, seed %{{customdata}}: {value}{where}<extra></extra>"}
        )
    drawn, size = _faded(color, opacity) if opacity < 1 else color, 1 if line.wide else 0
    noted = {"customdata": [in_figure(own) for own in line.notes]} if line.notes else {}
    traces.append(
        {**common, **errors, **noted, "x": _values(line.x), "y": _values(line.y), "name": name, "showlegend": shown}
        | {"mode": {"points": "markers", "both": "lines+markers" if plot.markers else "lines"}.get(line.drawn, "lines")}
        | {"line": {"color": drawn, "width": (2.4, 6)[size], "dash": line.style.dash}}
        | {"marker": {"color": drawn, "size": (7, 10)[size], "symbol": line.style.marker}}
        | {"hovertemplate": f"{label}: {value}{' %{customdata}' if noted else ''}{where}<extra></extra>"}
    )
    return traces


def _errors(color: str, means: Any, low: Any, high: Any) -> dict[str, Any]:
    """Bars from means to the bounds of their intervals, of no length where there is none."""
    reach = [np.nan_to_num(np.asarray(own, np.float64)) for own in (high - means, means - low)]
    bars = {"array": _values(reach[0]), "arrayminus": _values(reach[1]), "thickness": 1.6, "width": 4}
    return {"type": "data", "symmetric": False, "color": color, **bars}


def _rows(plot: IntervalRows) -> Drawn:
    names = tuple(row.name.replace("|", "|\n") for row in plot.rows)
    y = Axis("", 0.4 - len(plot.rows), 0.6, tuple(-i for i in range(len(names))), names)
    layout = _layout(90 + 46 * len(plot.rows), plot.x, y)
    layout["yaxis"]["showgrid"] = True
    common = {"type": "scatter", "mode": "markers", "showlegend": False, "cliponaxis": False}
    traces: list[dict[str, Any]] = []
    for number, row in enumerate(plot.rows):
        traces += [common | own for own in _row(plot, row, -number)] if row.mean is not None else []
    others = [(value, -i - 0.28, said) for i, row in enumerate(plot.rows) for value, said in row.others]
    traces.append(
        {**common, "x": [x for x, _, _ in others], "y": [y for _, y, _ in others], "hoverinfo": "text"}
        | {"text": [in_figure(said) for _, _, said in others]}
        | {"marker": {"symbol": "diamond-open", "size": 10, "color": INK, "line": {"width": 1.5}}}
    )
    if plot.level is not None:
        value, name = plot.level
        layout["shapes"].append(_level(value, of="x"))
        layout["annotations"].append(_note(name, value, 1, "x", "center", "bottom"))
    return traces, layout


def _row(plot: IntervalRows, row: IntervalRow, y: float) -> list[dict[str, Any]]:
    label, value, color = in_figure(row.label or row.name), f"%{{x:{plot.x_format}}}", row.style.color
    bars = (
        {"error_x": _errors(color, row.mean, np.array([row.low]), np.array([row.high]))} if row.low is not None else {}
    )
    return [
        {"x": _values(row.seeds.values()), "y": [y + 0.22] * len(row.seeds), "customdata": list(row.seeds)}
        | {"marker": {"color": color, "size": 7, "opacity": 0.5, "symbol": "circle"}}
        | {"hovertemplate": f"{label}, seed %{{customdata}}: {value}<extra></extra>"},
        {"x": _values([row.mean]), "y": [y], **bars}
        | {"marker": {"color": color, "size": 11, "symbol": row.style.marker}}
        | {"hovertemplate": f"{label}: {value} {in_figure(row.note)}<extra></extra>"},
    ]


def _points(plot: Points) -> Drawn:
    layout = _layout(520, plot.x, plot.y)
    layout["xaxis"]["showgrid"] = True
    layout["margin"]["r"] = 20
    count, labelled = len(plot.points), set(plot.labelled)
    common = {"type": "scatter", "showlegend": False}
    common |= {"x": _values(plot.points[:, 0]), "y": _values(plot.points[:, 1])}
    path = {"mode": "lines", "hoverinfo": "skip", "line": {"color": _faded(MUTED, 0.5), "width": 1}}
    marker = {"size": 8, "color": list(range(count)), "colorscale": _SEQUENTIAL, "line": {"width": 0.5, "color": INK}}
    points = {
        "mode": "markers+text",
        "text": [str(p) if p in labelled else "" for p in range(count)],
        "textposition": "top right",
        "textfont": {"size": 10 if len(labelled) > 24 else 12},
        "customdata": list(range(count)),
        "hovertemplate": "position %{customdata}<extra></extra>",
        "marker": marker | {"colorbar": _colorbar("position")},
    }
    return [*([common | path] if plot.path else []), common | points], layout


def _values(values: Iterable[Any], digits: int = 6) -> list[Any]:
    rounded = (float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values)
    return [v if v is None or v % 1 else int(v) for v in rounded]
