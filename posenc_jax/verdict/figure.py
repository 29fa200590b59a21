"""The card as a picture: the score against length in every table, and the differences with their intervals."""

import math

import numpy as np

from posenc_jax.drawing.paper import figure_of, legend, written
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.plots import Axis, IntervalRow, IntervalRows, Lines, PlotLine
from posenc_jax.drawing.printed import draw_lines, draw_rows
from posenc_jax.drawing.quantities import p_value
from posenc_jax.drawing.style import FLOOR, INK, MUTED, Style, styles
from posenc_jax.verdict.card import Card
from posenc_jax.verdict.finding import of_rows
from posenc_jax.verdict.headline import row_name

_LOWER = "lower is better"


def render(card: Card) -> dict[str, bytes]:
    """``{"png": ..., "pdf": ...}``: a panel for each table, three in a row, and one of differences below them; as wide
    as two panels at least, which the words of the last one take.
    """
    style = styles(card.arms)
    columns = min(3, len(card.tables))
    lines = -(-len(card.tables) // columns)
    differences = _differences(card)
    below = 0.55 + 0.22 * max(len(differences.rows), 1)
    with figure_of(2.35 * max(columns, 2) + 0.4, 1.9 * lines + below + 0.4) as figure:
        grid = figure.add_gridspec(lines + 1, columns, height_ratios=[1.9] * lines + [below])
        for number, name in enumerate(card.tables):
            axes, plot = figure.add_subplot(grid[divmod(number, columns)]), _curves(card, name, style)
            named = draw_lines(axes, plot, 7)
            axes.set_title(plain(plot.title), fontsize=8, loc="left")
        draw_rows(figure.add_subplot(grid[lines, :]), differences)
        legend(figure, named, beside=0, height=figure.get_figheight())
        return written(figure)


def _curves(card: Card, name: str, style: dict[str, Style]) -> Lines:
    table, lines = card.tables[name], []
    for label in card.arms:
        by_length = {length: own for length, own in sorted(card.measured[label][name].by_length.items()) if own}
        seeds = {s: {length: own.get(s, math.nan) for length, own in by_length.items()} for s in card.seeds}
        x, y = np.array([*by_length]), np.array([np.mean(list(own.values())) for own in by_length.values()])
        wide = card.labels == (label,)  # and below: it is seen where another has the same scores
        lines.append(PlotLine(name=style[label].name, x=x, y=y, style=style[label], seeds=seeds, wide=wide))
    if table.floors:
        x = np.array(sorted({*table.trained_lengths, *table.score_lengths}))
        y = np.array([table.floors.get(n, table.chance) for n in x])
        lines.append(PlotLine(name="without looking", x=x, y=y, style=FLOOR, drawn="line"))
    trained = table.trained_lengths
    one = (*lines[0].x,) if len(lines[0].x) == 1 else ()
    levels = (None if table.floors else table.chance, "chance"), (table.shortcut_score, "shortcut")
    better = _LOWER * (table.kind.better == "lower")
    return Lines(
        slug=name,
        title=f"{name}: {table.kind.title}",
        x=Axis(table.length_unit or "length", ticks=one, names=tuple(f"{n:g}" for n in one)),
        y=Axis(better, -0.03, 1.03) if table.kind.whole_axis else Axis(better),
        lines=tuple(lines),
        markers=True,
        shade=(min(trained), max(trained), "") if trained else None,
        levels=tuple((own, name) for own, name in levels if own),
    )


def _differences(card: Card) -> IntervalRows:
    """A row for each finding that is measurable; of perplexities the difference of logarithms."""
    who = card.label if len(card.labels) == 1 else "encoding"
    other = card.baselines[0] if len(card.baselines) == 1 else "baseline"
    lower = [name for name, kind in card.kinds.items() if kind.better == "lower"]
    mixed = 0 < len(lower) < len(card.kinds)
    scales = {card.kinds[own.table].logarithmic for own in card.findings}
    scale = ", perplexities by their logarithms" if True in scales else ""
    return IntervalRows(
        slug="differences",
        title="Differences",
        x=Axis(f"{who} minus {other}{scale}\n95 % interval over paired seeds; {of_rows(card.corrected)}"),
        y=Axis(),
        rows=tuple(
            IntervalRow(
                name=row_name(own, card.labels, card.findings) + f" ({_LOWER})" * (mixed and own.table in lower),
                style=Style("", INK if own.word in ("better", "worse") else MUTED, "solid", "circle"),
                mean=own.comparison.difference,
                low=own.comparison.low,
                high=own.comparison.high,
                word=own.brief if own.p is None else f"{own.brief}, p {p_value(own.p)}",
            )
            for own in card.findings
            if own.comparison.low is not None and own.word != "not measurable here"
        ),
        level=(0.0, ""),
    )
