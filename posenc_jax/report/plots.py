"""The interactive figures as plotly figures in plain JSON values (traces and layout): no plotly is needed to make them.

An encoding has the same colour, dash and marker everywhere. Every seed is drawn; nothing is smoothed.
"""

from __future__ import annotations

import html
from typing import Any

from posenc_jax.report.style import GRID, INK, MUTED, SHADE, Style
from posenc_jax.report.summary import CellSummary, TaskSummary
from posenc_jax.report.tables import comparable, metric_name, number, published_text

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
Figure = dict[str, Any]


def curves(task: TaskSummary, styles: dict[str, Style]) -> Figure:
    """The metric against length: per encoding the mean, its interval and every seed; the training range is shaded."""
    traces: list[dict[str, Any]] = []
    for cell in task.cells:
        if cell.curve:
            traces += _curve_traces(cell, styles[cell.label])
    layout = _layout(430)
    layout["xaxis"] |= {"title": _title("length")}
    layout["yaxis"] |= {"title": _title(metric_name(task)), "range": [-0.03, 1.1], "tickvals": _TICKS}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"}
    layout["shapes"], layout["annotations"] = [], []
    if task.train_lengths:
        first, last = task.train_lengths
        layout["shapes"].append(
            {"type": "rect", "xref": "x", "yref": "paper", "x0": first, "x1": last, "y0": 0, "y1": 1}
            | {"fillcolor": SHADE, "line": {"width": 0}, "layer": "below"}
        )
        layout["annotations"].append(_note(f"trained on {first}..{last}", first, 1, "x", "left", "top"))
    if task.chance:
        layout["shapes"].append(
            _line({"xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": task.chance, "y1": task.chance})
        )
        layout["annotations"].append(
            _note(f"chance<br>{task.chance:g}", 1, task.chance, "paper", "left", "middle") | {"yref": "y", "xshift": 4}
        )
        layout["margin"]["r"] = 60
    return {"data": traces, "layout": layout}


def scores(task: TaskSummary, styles: dict[str, Style]) -> Figure:
    """The mean over unseen lengths: per encoding every seed, the mean with its interval, and the published value."""
    cells = [cell for cell in task.cells if cell.scores or any(comparable(task, p) for p in cell.published)]
    traces = []
    published: dict[str, list] = {"x": [], "y": [], "text": []}
    for place, cell in enumerate(cells):
        traces += _score_traces(cell, styles[cell.label], -place)
        for value in cell.published:
            if comparable(task, value):
                published["x"].append(value.value)
                published["y"].append(-place - 0.28)
                published["text"].append(f"{_label(cell)}, published: {html.escape(published_text(task, value))}")
    traces.append(
        {"type": "scatter", "mode": "markers", **published, "hoverinfo": "text"}
        | {"marker": {"symbol": "diamond-open", "size": 10, "color": INK, "line": {"width": 1.5}}}
        | {"cliponaxis": False, "showlegend": False}
    )
    layout = _layout(90 + 46 * len(cells))
    layout["xaxis"] |= {"title": _title(metric_name(task)), "range": [-0.03, 1.03]}
    layout["xaxis"] |= {"tickvals": _TICKS, "tickangle": 0}
    layout["yaxis"] |= {
        "tickvals": [-i for i in range(len(cells))],
        "ticktext": [html.escape(styles[cell.label].name).replace("|", "|<br>") for cell in cells],
    }
    layout["yaxis"] |= {"range": [0.4 - len(cells), 0.6], "showgrid": True, "automargin": True}
    layout["shapes"], layout["annotations"] = [], []
    if task.chance:
        layout["shapes"].append(
            _line({"yref": "paper", "y0": 0, "y1": 1, "xref": "x", "x0": task.chance, "x1": task.chance})
        )
        layout["annotations"].append(_note(f"chance {task.chance:g}", task.chance, 1, "x", "center", "bottom"))
    return {"data": traces, "layout": layout}


def _curve_traces(cell: CellSummary, style: Style) -> list[dict[str, Any]]:
    lengths = [point.length for point in cell.curve]
    common = {"type": "scatter", "legendgroup": cell.label, "cliponaxis": True}
    traces: list[dict[str, Any]] = []
    banded = [point for point in cell.curve if point.interval.low is not None]
    if banded:
        around = banded + banded[::-1]
        edge = [p.interval.high for p in banded] + [p.interval.low for p in banded[::-1]]
        traces.append(
            {**common, "x": [p.length for p in around], "y": _rounded(edge), "mode": "none", "fill": "toself"}
            | {"fillcolor": _faded(style.color, 0.13), "hoverinfo": "skip", "showlegend": False}
        )
    xs: list[int | None] = []
    ys: list[float | None] = []
    seeds: list[int | None] = []
    for seed in sorted({seed for point in cell.curve for seed in point.scores}):
        xs += [*lengths, None]
        ys += [*(point.scores.get(seed) for point in cell.curve), None]
        seeds += [seed] * len(lengths) + [None]
    traces.append(
        {**common, "x": xs, "y": _rounded(ys), "customdata": seeds, "mode": "lines+markers", "showlegend": False}
        | {
            "line": {"color": _faded(style.color, 0.45), "width": 1},
            "marker": {"color": _faded(style.color, 0.55), "size": 3},
        }
        | {"hovertemplate": f"{_label(cell)}, seed %{{customdata}}: %{{y:.3f}} at %{{x}}<extra></extra>"}
    )
    traces.append(
        {**common, "x": lengths, "y": _rounded([p.interval.mean for p in cell.curve]), "mode": "lines+markers"}
        | {"name": html.escape(style.name), "line": {"color": style.color, "width": 2.6, "dash": style.dash}}
        | {"marker": {"color": style.color, "size": 8, "symbol": style.marker}}
        | {"customdata": [_interval(point.interval.low, point.interval.high) for point in cell.curve]}
        | {"hovertemplate": f"{_label(cell)}: %{{y:.3f}} %{{customdata}} at %{{x}}<extra></extra>"}
    )
    return traces


def _score_traces(cell: CellSummary, style: Style, place: int) -> list[dict[str, Any]]:
    if cell.unseen.mean is None:
        return []
    common = {"type": "scatter", "mode": "markers", "showlegend": False, "cliponaxis": False, "hoverinfo": "text"}
    seeds = {
        **common,
        "x": _rounded(list(cell.scores.values())),
        "y": [place + 0.22] * len(cell.scores),
        "text": [f"{_label(cell)}, seed {seed}: {number(score)}" for seed, score in cell.scores.items()],
        "marker": {"color": style.color, "size": 7, "opacity": 0.5, "symbol": "circle"},
    }
    mean = {
        **common,
        "x": _rounded([cell.unseen.mean]),
        "y": [place],
        "text": [f"{_label(cell)}: {number(cell.unseen.mean)} {_interval(cell.unseen.low, cell.unseen.high)}"],
        "marker": {"color": style.color, "size": 11, "symbol": style.marker},
    }
    if cell.unseen.low is not None and cell.unseen.high is not None:
        mean["error_x"] = {
            "type": "data", "symmetric": False, "color": style.color, "thickness": 2, "width": 5,
            "array": _rounded([cell.unseen.high - cell.unseen.mean]),
            "arrayminus": _rounded([cell.unseen.mean - cell.unseen.low]),
        }  # fmt: skip
    return [seeds, mean]


_TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]


def _layout(height: int) -> dict[str, Any]:
    axis = {
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": MUTED,
        "ticks": "outside",
        "tickcolor": MUTED,
        "ticklen": 4,
    }
    return {
        "height": height,
        "margin": {"l": 56, "r": 40, "t": 24, "b": 52},
        "modebar": {"orientation": "v"},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": {"family": FONT, "size": 13, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": 13}},
        "hovermode": "closest",
        "xaxis": {**axis, "showline": True, "showgrid": False, "fixedrange": False},
        "yaxis": {**axis, "showline": False},
    }


def _title(text: str) -> dict[str, Any]:
    return {"text": html.escape(text), "font": {"size": 13}}


def _note(text: str, x: float, y: float, xref: str, xanchor: str, yanchor: str) -> dict[str, Any]:
    return {
        "text": text, "x": x, "y": y, "xref": xref, "yref": "paper", "xanchor": xanchor, "yanchor": yanchor,
        "showarrow": False, "font": {"size": 12, "color": MUTED},
    }  # fmt: skip


def _line(where: dict[str, Any]) -> dict[str, Any]:
    return {"type": "line", "layer": "below", "line": {"color": MUTED, "width": 1.2, "dash": "dot"}} | where


def _label(cell: CellSummary) -> str:
    return html.escape(cell.label)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None else f"[{number(low)}, {number(high)}]"


def _rounded(values: list[Any]) -> list[float | None]:
    return [None if value is None else round(value, 6) for value in values]


def _faded(color: str, opacity: float) -> str:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
