"""Figures for a paper, with matplotlib: settings, marks and dashes, and the bytes of a figure.

Fonts are embedded as TrueType (type 42) and no date is written, so that the same figure gives the same bytes.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterable, Iterator
from typing import Any

from posenc_jax.drawing.style import GRID, INK, MUTED
from posenc_jax.extras import needed

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
MOST_NAMES = 60
"""Of a legend."""
RESOLUTION = 300
"""Dots per inch of a PNG."""
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


@contextlib.contextmanager
def figure_of(width: float, height: float) -> Iterator[Any]:
    """An empty matplotlib figure, in inches, while the settings of all figures hold. Needs matplotlib."""
    with needed("report", "a figure for a paper"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context(SETTINGS):
        yield Figure(figsize=(width, height), layout="constrained")


def level(axes: Any, value: float, name: str) -> None:
    """A dotted line at a value of y, its name to the right of the axes."""
    axes.axhline(value, color=MUTED, linewidth=0.8, linestyle=":", zorder=1)
    axes.annotate(
        name,
        (1, value),
        xycoords=("axes fraction", "data"),
        xytext=(3, 0),
        textcoords="offset points",
        color=MUTED,
        fontsize=7,
        ha="left",
        va="center",
        annotation_clip=False,
    )


def axes_of_lines(axes: Any) -> None:
    """The look of axes on which lines are drawn."""
    axes.minorticks_off()
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(figure: Any, names: Iterable[str], *, beside: int, height: float) -> None:
    """The legend: to the right of up to ``beside`` short names, else in columns below axes of that ``height``; of more
    than `MOST_NAMES`, whose colours repeat many times, only how many there are.
    """
    names = list(names)
    if len(names) > MOST_NAMES:
        figure.supxlabel(f"{len(names)} lines, named in the report and its tables", fontsize=7, color=MUTED)
        return
    longest = max(map(len, names))
    if longest <= 16 and len(names) <= beside:
        where: dict[str, Any] = {"loc": "outside right upper"}
    else:
        columns = min(max(1, int(5.3 / (0.5 + 0.062 * longest))), len(names))
        figure.set_size_inches(figure.get_figwidth(), height + 0.16 * math.ceil(len(names) / columns))
        where = {"loc": "outside lower center", "ncols": columns}
    figure.legend(**where, frameon=False, handlelength=2.6, fontsize=7)


def written(figure: Any, kinds: tuple[str, ...] = ("png", "pdf")) -> dict[str, bytes]:
    """The bytes of a matplotlib figure by kind of file, without dates."""
    metadata: dict[str, Any] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    }
    files = {}
    for kind in kinds:
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=RESOLUTION, metadata=metadata[kind])
        files[kind] = buffer.getvalue()
    return files
