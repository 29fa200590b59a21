"""The card as a picture: the score against length in every table, and the differences with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc_jax.drawing.paper import DASHES, MARKERS, axes_of_lines, figure_of, legend, level, written
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.style import INK, MUTED, SHADE, Style, styles
from posenc_jax.verdict.card import Card

COLORS = {"better": "#009e73", "worse": "#d55e00", "no difference seen": MUTED}


def render(card: Card) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: a panel for each table, three in a row, and one of differences below them; as wide
    as two panels at least, which the words of the last one take.
    """
    names = list(card.tables)
    style = styles((card.label, *card.baselines))
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    drawn = [finding for finding in card.findings if finding.comparison.low is not None]
    below = 0.55 + 0.22 * max(len(drawn), 1)
    with figure_of(2.35 * max(columns, 2) + 0.4, 1.9 * lines + below + 0.4) as figure:
        grid = figure.add_gridspec(lines + 1, columns, height_ratios=[1.9] * lines + [below])
        named: dict[str, Any] = {}
        for number, name in enumerate(names):
            named = _curves(figure.add_subplot(grid[divmod(number, columns)]), card, name, style)
        _differences(figure.add_subplot(grid[lines, :]), card)
        legend(figure, named, beside=0, height=figure.get_figheight())
        return written(figure)


def _curves(axes: Any, card: Card, name: str, style: dict[str, Style]) -> dict[str, Any]:
    """Draws the curves of a table, and gives the line of each name."""
    table, named = card.tables[name], {}
    trained = [n for n in table.run.evaluation.lengths if table.run.task.range_of(n) == "within"]
    if trained:
        axes.axvspan(min(trained), max(trained), color=SHADE, linewidth=0, zorder=0)
    if table.run.task.chance:
        level(axes, table.run.task.chance, "chance")
    for label in (card.label, *card.baselines):
        own, by_length = style[label], card.measured[label][name].by_length
        lengths = [length for length in sorted(by_length) if by_length[length]]
        for seed in card.seeds:
            values = [by_length[length].get(seed, np.nan) for length in lengths]
            axes.plot(lengths, values, color=own.color, alpha=0.3, linewidth=0.4)
        means = [np.mean(list(by_length[length].values())) for length in lengths]
        judged = label == card.label  # wide, below: it is seen where another has the same scores
        (named[own.name],) = axes.plot(
            lengths,
            means,
            color=own.color,
            linestyle=DASHES[own.dash],
            marker=MARKERS[own.marker],
            markersize=4.6 if judged else 2.4,
            linewidth=2.6 if judged else 1.0,
        )
    if table.kind.whole_axis:
        axes.set_ylim(-0.03, 1.03)
    axes.set_title(f"{plain(name)}: {table.kind.title}", fontsize=8, loc="left")
    axes.set_xlabel(plain(table.run.task.length_unit or "length"), fontsize=7)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes_of_lines(axes)
    return named


def _differences(axes: Any, card: Card) -> None:
    """A line for each finding that is measurable, the first on top; those of perplexities are logarithms."""
    drawn = [finding for finding in card.findings if finding.comparison.low is not None]
    several = len(card.baselines) > 1
    for row, finding in enumerate(reversed(drawn)):
        found = finding.comparison
        color = COLORS.get(finding.word, MUTED)
        axes.plot([found.low, found.high], [row, row], color=color, linewidth=1.6, solid_capstyle="butt")
        axes.plot([found.difference], [row], "o", color=color, markersize=3.6)
        axes.annotate(
            finding.word,
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            color=color,
            fontsize=7,
            va="center",
            annotation_clip=False,
        )
    axes.axvline(0, color=INK, linewidth=0.6)
    axes.set_ylim(-0.6, len(drawn) - 0.4)
    names = [f"{f.table} (to {f.baseline})" if several else f.table for f in reversed(drawn)]
    axes.set_yticks(range(len(drawn)), [plain(name) for name in names], fontsize=7)
    axes.set_xlabel(f"{plain(card.label)} minus baseline, 95 % interval over paired seeds", fontsize=7)
    axes_of_lines(axes)
    axes.grid(axis="y", visible=False)
