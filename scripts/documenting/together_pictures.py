"""The pictures of all verdicts together, as wide as a phone: means, improvements, profiles and the matrix of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from documenting.not_tests import is_column
from experiments.verdicts.together import THRESHOLDS, Aggregate, Estimate, Matrix
from posenc_jax.drawing.paper import axes_of_lines, figure_of, png
from posenc_jax.drawing.plots import Axis, IntervalRow, IntervalRows
from posenc_jax.drawing.printed import draw_rows
from posenc_jax.drawing.style import COLORS, GRID, INK, MUTED, Style
from posenc_jax.verdict.finding import Finding

OF_WORDS = {"better": COLORS[2], "worse": COLORS[1]}
PICTURES = ("means", "improvement", "profiles", "matrix")
SIGNS = {
    "+": "better",
    "+¹": "better by one length alone",
    "+²": "better, without having learned the task",
    "+³": "better, not at the first untrained length",
    "−": "worse",
    "−¹": "worse by one length alone",
    "=": "explained by a shortcut",
    "×": "did not learn the task at this budget",
    "○": "no difference seen",
    "?": "cannot be told with this many seeds",
    "_": "neither beats an answer that does not look",
    "/": "not measurable here",
}
_OF_WORD = {
    "better": "+",
    "worse": "−",
    "explained by a shortcut": "=",
    "did not learn": "×",
    "no difference seen": "○",
    "cannot be told": "?",
    "neither beats an answer that does not look": "_",
    "not measurable here": "/",
}
_COLORS = {"+": OF_WORDS["better"], "−": OF_WORDS["worse"], "×": COLORS[4]}
_ASIDE = "name in grey: not a test at this size"
_WIDTH = 4.1  # inches: 390 pixels of a screen
_DOTS = 240


def sign(found: Finding) -> str:
    """The sign of a finding's word, one of `SIGNS`."""
    mark = _OF_WORD[found.word]
    if found.word == "better" and found.learned[0] is False:
        return f"{mark}²"
    if found.word == "better" and found.not_at is not None:
        return f"{mark}³"
    return f"{mark}¹" if found.carried_by is not None else mark


def drawn(name: str, every: Sequence[Aggregate], words: Matrix, digest: str) -> bytes:
    """The bytes of a PNG, which says of which numbers it is."""
    size = {"profiles": 6.0, "matrix": 1.35 + 0.185 * (len(words.rows) + len(SIGNS) + 1)}.get(
        name, 0.6 + 0.21 * len(every)
    )
    with figure_of(_WIDTH, size) as figure:
        if name == "matrix":
            _matrix(figure, words)
        elif name == "profiles":
            _profiles(figure, every)
        else:
            _rows(figure, every, improvement=name == "improvement")
        return png(figure, _DOTS, digest)


def _rows(figure: Any, every: Sequence[Aggregate], *, improvement: bool) -> None:
    base = next(one for one in every if one.improvement is None)
    at = 0.5 if improvement else base.mean.value
    found = [(one.label, one.improvement if improvement else one.mean) for one in every]
    rows = sorted(((name, own) for name, own in found if own is not None), key=lambda row: -row[1].value)

    def row(name: str, own: Estimate) -> IntervalRow:
        beside = (0.5, 0.5) if improvement else (base.mean.low, base.mean.high)
        word = "better" if own.low > beside[1] else "worse" if own.high < beside[0] else ""
        color = INK if name == base.label else OF_WORDS.get(word, MUTED)
        look = Style("", color, "solid", "circle")
        shown = f"{round(own.value, 2) + 0.0:.2f}"  # no minus before zero
        return IntervalRow(name=name, style=look, mean=own.value, low=own.low, high=own.high, word=shown)

    title = f"runs above one of {base.label}" if improvement else "mean over tables, floor 0, best 1"
    axis = Axis(title)
    made = tuple(row(*own) for own in rows)
    axes = figure.add_subplot()
    draw_rows(axes, IntervalRows(slug="", title="", x=axis, y=Axis(), rows=made, level=(at, "")))
    axes.tick_params(labelsize=8)
    axes.set_xlabel(title, fontsize=8)
    axes.set_xlim(-0.03, 1.03 if improvement else None)


def _profiles(figure: Any, every: Sequence[Aggregate]) -> None:
    """A panel for each encoding, with the baseline behind it."""
    base = next(one for one in every if one.improvement is None)
    others = [one for one in every if one is not base]
    grid = figure.subplots(-(-len(others) // 3), 3, sharex=True, sharey=True, squeeze=False)
    for axes, one in zip(grid.flat, others):
        for own, color, dash in ((base, MUTED, "--"), (one, COLORS[0], "-")):
            axes.fill_between(THRESHOLDS, own.low, own.high, step="post", color=color, alpha=0.16, linewidth=0)
            axes.step(THRESHOLDS, own.profile, where="post", color=color, linewidth=1.3, linestyle=dash)
        axes_of_lines(axes)
        axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axes.set_xticklabels(["0", "0.5", "1"])
        axes.set_title(one.label, fontsize=8, loc="left", pad=3)
        axes.tick_params(labelsize=8)
    for axes in grid.flat[len(others) :]:
        axes.set_visible(False)
    figure.supxlabel("score, floor 0, best 1", fontsize=8)
    figure.supylabel(f"share of runs above it (grey: {base.label})", fontsize=8)


def _matrix(figure: Any, words: Matrix) -> None:
    axes = figure.add_subplot()
    for y, row in enumerate(words.rows.values()):
        for x, column in enumerate(words.columns):
            if column in row:
                _cell(axes, x, y, sign(row[column]))
    below = len(words.rows) + 0.5
    for y, (mark, said) in enumerate(SIGNS.items()):
        _cell(axes, 0, below + y, mark)
        axes.text(0.8, below + y, said, ha="left", va="center_baseline", fontsize=8)
    axes.set_xlim(-0.5, len(words.columns) - 0.5)
    axes.set_ylim(below + len(SIGNS) + 0.5, -0.5)
    axes.set_xticks(range(len(words.columns)), words.columns, rotation=90, fontsize=7.5)
    axes.text(0.8, below + len(SIGNS), _ASIDE, ha="left", va="center_baseline", fontsize=8, color=MUTED)
    axes.set_yticks(range(len(words.rows)), list(words.rows), fontsize=8)
    axes.xaxis.tick_top()
    for label, column in zip(axes.get_xticklabels(), words.columns, strict=True):
        label.set_color(MUTED if is_column(column) else INK)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cell(axes: Any, x: float, y: float, mark: str) -> None:
    """A sign on its colour, which is light where it is of one length."""
    from matplotlib.patches import Rectangle

    color, alone = _COLORS.get(mark[0]), mark[-1] in "¹²³"
    face = "none" if color is None else f"{color}55" if alone else color
    axes.add_patch(Rectangle((x - 0.44, y - 0.44), 0.88, 0.88, facecolor=face, edgecolor=color or GRID, linewidth=0.8))
    ink = "white" if color in OF_WORDS.values() and not alone else INK
    axes.text(x, y, mark, ha="center", va="center_baseline", color=ink, fontsize=7 if alone else 8)
