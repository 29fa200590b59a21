"""The interactive figures as plotly figures in plain JSON values (traces and layout): no plotly is needed to make them.

An encoding has the same colour, dash and marker everywhere. Every seed is drawn; nothing is smoothed.
"""

from __future__ import annotations

from typing import Any

from posenc_jax.data.score_kinds import Kind, kind_of
from posenc_jax.drawing.hypertext import in_figure
from posenc_jax.drawing.interactive import LEGEND, Figure, base_layout, faded, level, note, title_of
from posenc_jax.drawing.style import INK, SHADE, Style
from posenc_jax.report.axes import (
    LOSS_TITLE,
    Axis,
    drawn,
    length_axis,
    loss_axis,
    mean_losses,
    score_axis,
    sweep_axis,
    with_bounds,
)
from posenc_jax.report.entries import axis_title, comparable, interval_text, number, published_text
from posenc_jax.results.summary import CellSummary, TaskSummary
from posenc_jax.results.sweep import Sweep
from posenc_jax.statistics import Interval


def curves(task: TaskSummary, styles: dict[str, Style]) -> Figure:
    """The metric against length: per encoding the mean, its interval and every seed; the training range is shaded."""
    traces: list[dict[str, Any]] = []
    for cell in task.cells:
        if cell.curve:
            traces += _curve_traces(task, cell, styles[cell.label])
    points = [point for cell in task.cells for point in cell.curve]
    values = [v for p in points for v in with_bounds(p.interval, p.scores.values(), task.kind)]
    axis, along = score_axis(task.kind, values, 0.1), length_axis(task)
    layout = base_layout(430)
    layout["xaxis"] |= {"title": title_of(task.length_unit or "length"), **(_axis(along) if along else {})}
    layout["yaxis"] |= {"title": title_of(axis_title(task.kind)), **_axis(axis)}
    layout["legend"] = dict(LEGEND)
    layout["shapes"], layout["annotations"] = [], []
    if task.train_lengths:
        first, last = task.train_lengths
        start = max(first, along.low) if along else first
        layout["shapes"].append(_shade(start, min(last, along.high) if along else last))
        at = along.coordinate(start) if along else start
        layout["annotations"].append(note(f"trained on {first}..{last}", at, 1, "x", "left", "top"))
    if task.chance:
        layout["shapes"].append(level(task.chance))
        layout["annotations"].append(
            note(f"chance<br>{task.chance:g}", 1, task.chance, "paper", "left", "middle") | {"yref": "y", "xshift": 4}
        )
        layout["margin"]["r"] = 60
    return {"data": traces, "layout": layout}


def scores(task: TaskSummary, styles: dict[str, Style]) -> Figure:
    """The mean over `TaskSummary.score_lengths`: per encoding every seed, the mean with its interval, and the published
    value.
    """
    cells = [cell for cell in task.cells if cell.scores or any(comparable(task, p) for p in cell.published)]
    traces = []
    published: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for index, cell in enumerate(cells):
        traces += _score_traces(task.kind, cell, styles[cell.label], -index)
        for value in cell.published:
            if comparable(task, value):
                published["x"].append(value.value)
                published["y"].append(-index - 0.28)
                published["text"].append(f"{_label(cell)}, published: {in_figure(published_text(task, value))}")
    traces.append(
        {"type": "scatter", "mode": "markers", **published, "hoverinfo": "text"}
        | {"marker": {"symbol": "diamond-open", "size": 10, "color": INK, "line": {"width": 1.5}}}
        | {"cliponaxis": False, "showlegend": False}
    )
    layout = base_layout(90 + 46 * len(cells))
    values = [v for cell in cells for v in with_bounds(cell.score, cell.scores.values(), task.kind)]
    axis = score_axis(task.kind, [*values, *published["x"]], 0.03)
    layout["xaxis"] |= {"title": title_of(axis_title(task.kind)), **_axis(axis), "tickangle": 0}
    layout["yaxis"] |= {
        "tickvals": [-i for i in range(len(cells))],
        "ticktext": [in_figure(styles[cell.label].name).replace("|", "|<br>") for cell in cells],
    }
    layout["yaxis"] |= {"range": [0.4 - len(cells), 0.6], "showgrid": True, "automargin": True}
    layout["shapes"], layout["annotations"] = [], []
    if task.chance:
        layout["shapes"].append(level(task.chance, of="x"))
        layout["annotations"].append(note(f"chance {task.chance:g}", task.chance, 1, "x", "center", "bottom"))
    return {"data": traces, "layout": layout}


def positions(task: TaskSummary, styles: dict[str, Style]) -> Figure:
    """Perplexity by position: per encoding the mean over seeds with its interval; the training length is shaded."""
    kind = kind_of("perplexity")
    ranges = sorted({(p.first, p.last): p.name for cell in task.cells for p in cell.positions}.items())
    index_of = {where: i for i, (where, _) in enumerate(ranges)}
    traces = []
    for cell in task.cells:
        if not cell.positions:
            continue
        style = styles[cell.label]
        mean = _mean_trace(style, _rounded([p.interval.mean for p in cell.positions]))
        mean["x"] = [index_of[p.first, p.last] for p in cell.positions]
        mean["error_y"] = _errors(style, [p.interval for p in cell.positions]) | {"thickness": 1.2, "width": 3}
        text = "{}, positions {}: {} {}"
        mean["text"] = [
            text.format(
                _label(cell),
                p.name,
                number(p.interval.mean, kind),
                _interval(p.interval, kind),
            )
            for p in cell.positions
        ]
        traces.append(mean | {"type": "scatter", "hoverinfo": "text", "cliponaxis": True})
    values = [
        v for cell in task.cells for p in cell.positions for v in with_bounds(p.interval, p.scores.values(), kind)
    ]
    layout = base_layout(400)
    layout["xaxis"] |= {"title": title_of("position in the window, from"), "range": [-0.4, len(ranges) - 0.6]}
    ticks = [i for i in index_of.values() if len(ranges) <= 8 or (len(ranges) - 1 - i) % 2 == 0]
    layout["xaxis"] |= {"tickvals": ticks, "ticktext": [str(ranges[i][0][0]) for i in ticks], "tickangle": 0}
    layout["yaxis"] |= {"title": title_of(axis_title(kind)), **_axis(score_axis(kind, values, 0.1))}
    layout["legend"] = dict(LEGEND)
    layout["shapes"], layout["annotations"] = [], []
    within = [i for (_, last), i in index_of.items() if task.train_lengths and last < task.train_lengths[1]]
    if task.train_lengths and within:
        layout["shapes"].append(_shade(-0.4, max(within) + 0.5))
        layout["annotations"].append(note(f"trained on {task.train_lengths[1]} tokens", -0.4, 1, "x", "left", "top"))
    return {"data": traces, "layout": layout}


def learning(task: TaskSummary, styles: dict[str, Style]) -> Figure:
    """The loss while training: per encoding the mean over seeds, and every seed."""
    traces: list[dict[str, Any]] = []
    for cell in task.cells:
        if means := mean_losses(cell):
            style = styles[cell.label]
            common = {"type": "scatter", "legendgroup": cell.label, "cliponaxis": True}
            xs, ys, seeds = [], [], []
            for seed, by_step in cell.losses.items():
                xs += [*by_step, None]
                ys += [*by_step.values(), None]
                seeds += [seed] * (len(by_step) + 1)
            traces.append(
                {**common, "x": xs, "y": _rounded(ys), "customdata": seeds, "mode": "lines", "showlegend": False}
                | {"line": {"color": faded(style.color, 0.35), "width": 1}}
                | {"hovertemplate": f"{_label(cell)}, seed %{{customdata}}: %{{y:.3r}} at step %{{x}}<extra></extra>"}
            )
            traces.append(
                {**common, "x": [*means], **_mean_trace(style, _rounded([*means.values()])), "mode": "lines"}
                | {"hovertemplate": f"{_label(cell)}: %{{y:.3r}} at step %{{x}}<extra></extra>"}
            )
    layout = base_layout(380)
    layout["xaxis"] |= {"title": title_of("step")}
    layout["yaxis"] |= {"title": title_of(LOSS_TITLE), **_axis(loss_axis(task))}
    layout["legend"] = dict(LEGEND)
    return {"data": traces, "layout": layout}


def swept(sweep: Sweep, styles: dict[str, Style]) -> Figure:
    """The score against a field of the config: per encoding every seed, and the mean with its interval."""
    traces: list[dict[str, Any]] = []
    for name, line in sweep.lines.items():
        style, cells = styles[name], dict(sorted(line.items()))
        common = {"type": "scatter", "legendgroup": name, "cliponaxis": False, "hoverinfo": "text"}
        seeds = [(value, seed, score) for value, cell in cells.items() for seed, score in cell.scores.items()]
        traces.append(
            {**common, "mode": "markers", "showlegend": False, "marker": {"color": faded(style.color, 0.45), "size": 5}}
            | {"x": [value for value, _, _ in seeds], "y": _rounded([score for _, _, score in seeds])}
            | {"text": [f"{in_figure(name)}, {v:g}, seed {s}: {number(y, sweep.kind)}" for v, s, y in seeds]}
        )
        intervals = [cell.score for cell in cells.values()]
        traces.append(
            {**common, "x": [*cells], **_mean_trace(style, _rounded([own.mean for own in intervals]))}
            | {"error_y": _errors(style, intervals) | {"thickness": 1.2, "width": 3}}
            | {"text": [f"{in_figure(name)}, {v:g}: {interval_text(c.score, sweep.kind)}" for v, c in cells.items()]}
        )
    every = [cell for line in sweep.lines.values() for cell in line.values()]
    values = [v for cell in every for v in with_bounds(cell.score, cell.scores.values(), sweep.kind)]
    layout = base_layout(400)
    layout["xaxis"] |= {"title": title_of(sweep.field), **_axis(sweep_axis(sweep))}
    layout["yaxis"] |= {"title": title_of(axis_title(sweep.kind)), **_axis(score_axis(sweep.kind, values, 0.1))}
    layout["legend"] = dict(LEGEND)
    return {"data": traces, "layout": layout}


def _curve_traces(task: TaskSummary, cell: CellSummary, style: Style) -> list[dict[str, Any]]:
    lengths, shown = [point.length for point in cell.curve], f"%{{y:{task.kind.d3_format}}}"
    where = f"%{{x}} {in_figure(task.length_unit)}".rstrip()
    common = {"type": "scatter", "legendgroup": cell.label, "cliponaxis": True}
    traces: list[dict[str, Any]] = []
    banded = {point.length: edges for point in cell.curve if (edges := drawn(point.interval)) is not None}
    if banded:
        edge = [high for _, high in banded.values()] + [low for low, _ in reversed(banded.values())]
        traces.append(
            {**common, "x": [*banded, *reversed(banded)], "y": _rounded(edge), "mode": "none", "fill": "toself"}
            | {"fillcolor": faded(style.color, 0.13), "hoverinfo": "skip", "showlegend": False}
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
            "line": {"color": faded(style.color, 0.45), "width": 1},
            "marker": {"color": faded(style.color, 0.55), "size": 3},
        }
        | {"hovertemplate": f"{_label(cell)}, seed %{{customdata}}: {shown} at {where}<extra></extra>"}
    )
    traces.append(
        {**common, "x": lengths, **_mean_trace(style, _rounded([p.interval.mean for p in cell.curve]))}
        | {"customdata": [_interval(p.interval, task.kind) for p in cell.curve]}
        | {"hovertemplate": f"{_label(cell)}: {shown} %{{customdata}} at {where}<extra></extra>"}
    )
    return traces


def _mean_trace(style: Style, means: list[float | None]) -> dict[str, Any]:
    return {
        "y": means,
        "mode": "lines+markers",
        "name": in_figure(style.name),
        "line": {"color": style.color, "width": 2.6, "dash": style.dash},
        "marker": {"color": style.color, "size": 8, "symbol": style.marker},
    }


def _errors(style: Style, intervals: list[Interval]) -> dict[str, Any]:
    """Bars from a mean to the bounds of its interval, of no length where there is none."""
    above, below = [], []
    for interval in intervals:
        low, high = drawn(interval) or (interval.mean, interval.mean)
        above.append(0.0 if interval.mean is None else high - interval.mean)  # type: ignore[operator]
        below.append(0.0 if interval.mean is None else interval.mean - low)  # type: ignore[operator]
    return {
        "type": "data",
        "symmetric": False,
        "color": style.color,
        "array": _rounded(above),
        "arrayminus": _rounded(below),
    }


def _score_traces(kind: Kind, cell: CellSummary, style: Style, y: float) -> list[dict[str, Any]]:
    if cell.score.mean is None:
        return []
    common = {"type": "scatter", "mode": "markers", "showlegend": False, "cliponaxis": False, "hoverinfo": "text"}
    seeds = {
        **common,
        "x": _rounded(list(cell.scores.values())),
        "y": [y + 0.22] * len(cell.scores),
        "text": [f"{_label(cell)}, seed {seed}: {number(score, kind)}" for seed, score in cell.scores.items()],
        "marker": {"color": style.color, "size": 7, "opacity": 0.5, "symbol": "circle"},
    }
    mean = {
        **common,
        "x": _rounded([cell.score.mean]),
        "y": [y],
        "text": [f"{_label(cell)}: {number(cell.score.mean, kind)} {_interval(cell.score, kind)}"],
        "marker": {"color": style.color, "size": 11, "symbol": style.marker},
    }
    if drawn(cell.score) is not None:
        mean["error_x"] = _errors(style, [cell.score]) | {"thickness": 2, "width": 5}
    return [seeds, mean]


def _axis(axis: Axis) -> dict[str, Any]:
    """Range and ticks for plotly."""
    names = [in_figure(name).replace("\n", "<br>") for name in axis.names]
    shown: dict[str, Any] = {
        "range": [axis.coordinate(axis.low), axis.coordinate(axis.high)],
        "tickvals": list(axis.ticks),
    }
    return shown | ({"type": "log", "ticktext": names, "automargin": True} if axis.logarithmic else {})


def _shade(start: float, end: float) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": start,
        "x1": end,
        "y0": 0,
        "y1": 1,
        "fillcolor": SHADE,
        "line": {"width": 0},
        "layer": "below",
    }


def _label(cell: CellSummary) -> str:
    return in_figure(cell.label)


def _interval(interval: Interval, kind: Kind) -> str:
    return interval_text(interval, kind).removeprefix(number(interval.mean, kind)).strip()


def _rounded(values: list[Any]) -> list[float | None]:
    return [None if value is None else round(value, 6) for value in values]
