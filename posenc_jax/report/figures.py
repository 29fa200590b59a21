"""Figures for a paper: accuracy against length, one PNG and one PDF per task, with matplotlib.

Fonts are embedded as TrueType (type 42) and no date is written, so that the same ablation gives the same bytes.
"""

from __future__ import annotations

import io
import math
from typing import Any

from posenc_jax.report.style import GRID, INK, MUTED, SHADE, Style
from posenc_jax.report.summary import TaskSummary
from posenc_jax.report.tables import metric_name

_MARKERS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "pentagon": "p",
    "hexagon": "h", "star": "*", "x": "X",
}  # fmt: skip
_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_SETTINGS: Any = {
    "pdf.fonttype": 42, "font.family": "DejaVu Sans", "font.size": 8, "axes.linewidth": 0.6, "axes.edgecolor": MUTED,
    "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "xtick.major.size": 3, "ytick.major.size": 3, "path.simplify": False,
}  # fmt: skip


def render(task: TaskSummary, styles: dict[str, Style]) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: 5.5 inches wide; mean, every seed and the interval's band per encoding."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ModuleNotFoundError(
            "figures for a paper need matplotlib, which is not installed: pip install 'posenc-jax[report]'"
        ) from error
    with matplotlib.rc_context(_SETTINGS):
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
        files = {}
        for kind, metadata in (
            ("png", {"Software": None}),
            ("pdf", {"CreationDate": None, "Producer": None, "Creator": None}),
        ):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=300, metadata=metadata)
            files[kind] = buffer.getvalue()
    return files


def _draw(axes: Any, task: TaskSummary, styles: dict[str, Style]) -> None:
    if task.train_lengths:
        first, last = task.train_lengths
        axes.axvspan(first, last, color=SHADE, linewidth=0, zorder=0)
        axes.text(first, 1.09, f" trained on {first}..{last}", color=MUTED, fontsize=7, ha="left", va="top")
    if task.chance:
        axes.axhline(task.chance, color=MUTED, linewidth=0.8, linestyle=":", zorder=1)
        axes.annotate(
            f"chance\n{task.chance:g}", (1, task.chance), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", color=MUTED, fontsize=7, ha="left", va="center", annotation_clip=False,
        )  # fmt: skip
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
            lengths, [point.interval.mean for point in cell.curve], color=style.color, linestyle=_DASHES[style.dash],
            marker=_MARKERS[style.marker], markersize=3.2, linewidth=1.4, label=style.name,
        )  # fmt: skip
    axes.set_xlabel("length")
    axes.set_ylabel(metric_name(task))
    axes.set_title(task.task_label, fontsize=9, loc="left")
    axes.set_ylim(-0.03, 1.1)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
