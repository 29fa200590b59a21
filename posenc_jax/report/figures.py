"""Figures for a paper: accuracy against length, one PNG and one PDF per task, with matplotlib.

Fonts are embedded as TrueType (type 42) and no date is written, so that the same ablation gives the same bytes.
"""

from __future__ import annotations

import io
import math
from typing import Any

from posenc_jax.report.axes import length_axis, score_axis, with_bounds
from posenc_jax.report.style import GRID, INK, MUTED, SHADE, Style
from posenc_jax.report.summary import TaskSummary
from posenc_jax.report.tables import axis_title

MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "pentagon": "p",
    "hexagon": "h",
    "star": "*",
    "x": "X",
}
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
SETTINGS: Any = {
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "path.simplify": False,
}


def render(task: TaskSummary, styles: dict[str, Style]) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: 5.5 inches wide; mean, every seed and the interval's band per encoding."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModuleNotFoundError(
            "figures for a paper need matplotlib, which is not installed: pip install 'posenc-jax[report]'"
        ) from error
    with matplotlib.rc_context(SETTINGS):
        names = [styles[cell.label].name for cell in task.cells if cell.curve]
        longest = max(map(len, names))
        beside = longest <= 16 and len(names) <= 12
        columns = max(1, int(5.3 / (0.5 + 0.062 * longest)))
        height = 2.9 if beside else 2.7 + 0.16 * math.ceil(len(names) / columns)
        figure = Figure(figsize=(5.5, height), layout="constrained")
        axes = figure.add_subplot()
        _draw(axes, task, styles)
        where = {"loc": "outside right upper"} if beside else {"loc": "outside lower center", "ncols": columns}
        figure.legend(**where, frameon=False, handlelength=2.6, fontsize=7)
        return written(figure)


def written(figure: Any, kinds: tuple[str, ...] = ("png", "pdf")) -> dict[str, bytes]:
    """The bytes of a matplotlib figure by kind of file, without dates."""
    metadata: dict[str, Any] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    }
    files = {}
    for kind in kinds:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=300, metadata=metadata[kind])
        files[kind] = buffer.getvalue()
    return files


def _draw(axes: Any, task: TaskSummary, styles: dict[str, Style]) -> None:
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
        axes.axhline(task.chance, color=MUTED, linewidth=0.8, linestyle=":", zorder=1)
        axes.annotate(
            f"chance\n{task.chance:g}",
            (1, task.chance),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            color=MUTED,
            fontsize=7,
            ha="left",
            va="center",
            annotation_clip=False,
        )
    for cell in task.cells:
        if not cell.curve:
            continue
        style = styles[cell.label]
        lengths = [point.length for point in cell.curve]
        banded = [point for point in cell.curve if point.interval.low is not None]
        low, high = [point.interval.low for point in banded], [point.interval.high for point in banded]
        axes.fill_between([point.length for point in banded], low, high, color=style.color, alpha=0.13, linewidth=0)
        for seed in sorted({seed for point in cell.curve for seed in point.scores}):
            values = [point.scores.get(seed, float("nan")) for point in cell.curve]
            axes.plot(lengths, values, color=style.color, alpha=0.4, linewidth=0.5)
        axes.plot(
            lengths,
            [point.interval.mean for point in cell.curve],
            color=style.color,
            linestyle=DASHES[style.dash],
            marker=MARKERS[style.marker],
            markersize=3.2,
            linewidth=1.4,
            label=style.name,
        )
    axes.set_xlabel(task.length_unit or "length")
    axes.set_ylabel(axis_title(task.kind))
    axes.set_title(task.task_label, fontsize=9, loc="left")
    axes.set_ylim(axis.low, axis.high)
    axes.set_yticks(axis.ticks, axis.names if axis.logarithmic else None)
    if along:
        axes.set_xlim(along.low, along.high)
        axes.set_xticks(along.ticks, along.names)
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.minorticks_off()
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
