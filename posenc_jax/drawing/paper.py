"""Figures for a paper, with matplotlib: settings, marks and dashes, and the bytes of a figure.

Fonts are embedded as TrueType (type 42) and no date is written, so that the same figure gives the same bytes.
"""

import contextlib
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from posenc_jax.drawing import style
from posenc_jax.drawing.plots import tick_name
from posenc_jax.drawing.style import GRID, INK, MUTED
from posenc_jax.extras import needed

MARKERS = dict(zip(style.MARKERS, "osD^vph*X", strict=True))
MOST_NAMES = 60
"""Of a legend."""
RESOLUTION = 300
"""Dots per inch of a PNG."""
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
SETTINGS: Any = {
    "pdf.fonttype": 42,
    "font.family": ["DejaVu Sans"],
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
    "text.parse_math": False,  # names are text: dollars in them are dollars
    "text.usetex": False,
}


OTHER_FONTS = ("STIXGeneral", "Noto Sans", "WenQuanYi", "Unifont")
"""Families, by how they begin, that stand in for what the first font lacks, as far as they are installed."""


@contextlib.contextmanager
def figure_of(width: float, height: float) -> Iterator[Any]:
    """An empty matplotlib figure, in inches, while the settings of all figures hold. Needs matplotlib."""
    with needed("report", "a figure for a paper"):
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.font_manager import get_font_names
    others = sorted(name for name in get_font_names() if name.startswith(OTHER_FONTS))
    with matplotlib.rc_context({**SETTINGS, "font.family": [*SETTINGS["font.family"], *others]}):
        yield Figure(figsize=(width, height), dpi=RESOLUTION, layout="constrained")


def level(axes: Any, value: float, name: str, edge: str) -> None:
    """A dotted line at a value of y, its name to the right of the axes, with this edge at the line."""
    axes.axhline(value, color=MUTED, linewidth=0.8, linestyle=":", zorder=1)
    at_side(axes, value, name, MUTED, edge)


def at_side(axes: Any, y: float, word: str, color: str, edge: str = "center") -> None:
    """A word to the right of axes, at a value of y."""
    where = {"xycoords": ("axes fraction", "data"), "xytext": (3, 0), "textcoords": "offset points"}
    axes.annotate(word, (1, y), **where, color=color, fontsize=7, va=edge, annotation_clip=False)


def axes_of_lines(axes: Any) -> None:
    """The look of axes on which lines are drawn."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), LogFormatter):  # its names are in matplotlib's language of formulas
            axis.set_major_formatter(FuncFormatter(lambda value, _: tick_name(value)))
    axes.minorticks_off()
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend(figure: Any, named: Mapping[str, Any], *, beside: int, height: float) -> None:
    """The legend of ``named``, name -> what is drawn so: to the right of up to ``beside`` short names, else in columns
    below axes of that ``height``; of more than `MOST_NAMES`, whose colours repeat many times, only how many there are.
    """
    names = list(named)
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
    made = figure.legend(list(named.values()), [""] * len(names), **where, frameon=False, handlelength=2.6, fontsize=7)
    for text, name in zip(made.get_texts(), names):  # a label that begins with an underscore would hide its line
        text.set_text(name)


def written(figure: Any, kinds: tuple[str, ...] = ("png", "pdf")) -> dict[str, bytes]:
    """The bytes of a matplotlib figure by kind of file, without dates."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # every kind has this layout
    dates = {"png": _UNSAID, "pdf": {"CreationDate": None, "Producer": None, "Creator": None}}
    return {kind: _saved(figure, format=kind, metadata=dates[kind]) for kind in kinds}


_UNSAID: dict[str, Any] = {"Software": None}


def _saved(figure: Any, **how: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, **how)
    return buffer.getvalue()


def png(figure: Any, resolution: int, source: str) -> bytes:
    """The bytes of a matplotlib figure as a PNG that says of what it was drawn, such as a digest of its numbers."""
    return _saved(figure, format="png", dpi=resolution, metadata={**_UNSAID, "Source": source})


def source_of_png(path: Path) -> str:
    """The ``source`` of a file of `png`; "" where there is none."""
    from PIL import Image  # matplotlib brings it along

    if not path.exists():
        return ""
    with Image.open(path) as image:
        return str(image.info.get("Source", ""))
