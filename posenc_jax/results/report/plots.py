"""The plots of a report: scores by length, their means, perplexity by position, losses, and swept fields.

An encoding has the same colour, dash and marker everywhere. Every seed is drawn; nothing is smoothed.
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from posenc_jax.data.score_kinds import ScoreKind, kind_of
from posenc_jax.drawing.plots import Axis, HeatMap, IntervalRow, IntervalRows, Lines, Plot, PlotLine
from posenc_jax.drawing.style import FLOOR, Style, styles
from posenc_jax.files.fields import value_text
from posenc_jax.files.names import file_name
from posenc_jax.results.report import entries
from posenc_jax.results.report.axes import (
    drawn,
    length_axis,
    loss_axis,
    mean_losses,
    score_axis,
    sweep_axis,
    with_bounds,
)
from posenc_jax.results.summary import Summary, TaskSummary, Tried
from posenc_jax.results.sweep import Sweep, SweptField, sweeps_of
from posenc_jax.statistics import Interval


def plots_of(task: TaskSummary, style: dict[str, Style]) -> dict[str, Plot]:
    """The plots of a task that have something to show: of its curves, scores, learning and positions."""
    there = {
        "curves": (curves, any(cell.curve for cell in task.cells)),
        "scores": (scores, any(cell.scores for cell in task.cells)),
        "learning": (learning, any(cell.losses for cell in task.cells)),
        "positions": (positions, any(cell.positions for cell in task.cells)),
    }
    return {name: made(task, style) for name, (made, shown) in there.items() if shown}


def printed(summary: Summary) -> Iterator[tuple[str, Plot]]:
    """The plots for a paper, by the name of their file."""
    style = styles(summary.labels)
    for task in summary.tasks:
        plots = plots_of(task, style)
        for name, ending in (("curves", ""), ("learning", "-training")):
            if name in plots:
                yield task.slug + ending, plots[name]
    for sweep in sweeps_of(summary):
        for plot in of_sweep(sweep, summary.labels):
            yield plot.slug, plot


def curves(task: TaskSummary, style: dict[str, Style]) -> Lines:
    """The metric against length: per encoding the mean, its interval and every seed; the training range is shaded."""
    along, mixed = length_axis(task), ""
    if task.mixed_lengths:
        mixed = " Mixed: examples of both trained and unseen lengths, excluded from all means."
    shade = None
    if task.train_lengths:
        first, last = task.train_lengths
        start, end = max(first, along.low or first), min(last, along.high or last)
        shade = (start, end, f"trained on {first}..{last}")
    lines = []
    for cell in task.cells:
        if cell.curve:
            seeds = sorted({seed for point in cell.curve for seed in point.scores})
            own = {s: {point.length: point.scores.get(s, math.nan) for point in cell.curve} for s in seeds}
            x, intervals = [point.length for point in cell.curve], [point.interval for point in cell.curve]
            lines.append(_line(style[cell.label], cell.label, x, intervals, task.kind, seeds=own))
    levels = (None if task.floors else task.chance, "chance"), (task.shortcut_score, "shortcut")
    if task.floors:
        lengths = sorted(task.ranges)
        floors = np.array([task.floors.get(n, task.chance or 0.0) for n in lengths])
        lines.append(PlotLine(name="without looking", x=np.array(lengths), y=floors, style=FLOOR, drawn="line"))
    return Lines(
        slug=f"curves-{task.slug}",
        title=task.task_label,
        caption="Thick: mean over seeds; thin: every seed; band: 95 % interval of the mean; grey: training "
        f"lengths.{mixed} Click an encoding to hide or show it, double-click to show it alone.",
        x=along,
        y=score_axis(task.kind, _held(((p.interval, p.scores) for c in task.cells for p in c.curve), task.kind)),
        lines=tuple(lines),
        markers=True,
        shade=shade,
        levels=tuple((own, f"{name}\n{own:.3g}") for own, name in levels if own),
        y_format=task.kind.d3_format,
        x_words=f"{{}} {task.length_unit}".rstrip(),
    )


def scores(task: TaskSummary, style: dict[str, Style]) -> IntervalRows:
    """The mean over `TaskSummary.score_lengths`: per encoding every seed, the mean with its interval, and the published
    value.
    """
    rows = []
    for cell in task.cells:
        published = [value for value in cell.published if entries.comparable(task, value)]
        if cell.scores or published:
            low, high = drawn(cell.score) or (None, None)
            others = ((p["value"], f"{cell.label}, published: {entries.published_text(task, p)}") for p in published)
            rows.append(
                IntervalRow(
                    name=style[cell.label].name,
                    label=cell.label,
                    style=style[cell.label],
                    mean=cell.score.mean,
                    low=low,
                    high=high,
                    note=_interval(cell.score, task.kind),
                    seeds=cell.scores,
                    others=tuple((value, said) for value, said in others if value is not None),
                )
            )
    theirs = [value for row in rows for value, _ in row.others]
    diamond = "; open diamond below: published, at the lengths in the table" if theirs else ""
    values = _held(((cell.score, cell.scores) for cell in task.cells), task.kind)
    return IntervalRows(
        slug=f"scores-{task.slug}",
        title=f"Mean over {'the ' if task.unseen_lengths else ''}{task.score_name}",
        caption=f"Large mark: mean over seeds with its 95 % interval; dots above: every seed{diamond}.",
        x=score_axis(task.kind, [*values, *theirs], 0.03),
        y=Axis(),
        rows=tuple(rows),
        level=(task.floor, f"{'without looking' if task.floors else 'chance'} {task.floor:.3g}")
        if task.floor
        else None,
        x_format=task.kind.d3_format,
    )


def positions(task: TaskSummary, style: dict[str, Style]) -> Lines:
    """Perplexity by position: per encoding the mean over seeds with its interval; the training length is shaded."""
    kind = kind_of("perplexity")
    ranges = sorted({(p.first, p.last) for cell in task.cells for p in cell.positions})
    index_of = {where: i for i, where in enumerate(ranges)}
    lines = []
    for cell in task.cells:
        if cell.positions:
            x = [index_of[p.first, p.last] for p in cell.positions]
            intervals = [p.interval for p in cell.positions]
            said = tuple(f"{_interval(p.interval, kind)} at positions {p.name}" for p in cell.positions)
            lines.append(_line(style[cell.label], cell.label, x, intervals, kind, notes=said))
    trained = task.train_lengths[1] if task.train_lengths else 0
    within = [i for (_, last), i in index_of.items() if last < trained]
    ticks = tuple(i for i in index_of.values() if len(ranges) <= 8 or (len(ranges) - 1 - i) % 2 == 0)
    names = tuple(str(ranges[i][0]) for i in ticks)
    return Lines(
        slug=f"positions-{task.slug}",
        title=f"Perplexity by position, windows of {task.position_length} tokens",
        caption="Mean over seeds with its 95 % interval, positions counted from 0; grey: within the training length.",
        x=Axis("position in the window, from", -0.4, len(ranges) - 0.6, ticks, names),
        y=score_axis(kind, _held(((p.interval, p.scores) for c in task.cells for p in c.positions), kind)),
        lines=tuple(lines),
        markers=True,
        bars=True,
        shade=(-0.4, max(within) + 0.5, f"trained on {trained} tokens") if within else None,
        y_format=kind.d3_format,
        x_words="",
    )


def learning(task: TaskSummary, style: dict[str, Style]) -> Lines:
    """The loss while training: per encoding the mean over seeds, and every seed."""
    lines = []
    for cell in task.cells:
        if means := mean_losses(cell):
            x, y = np.array([*means]), np.array([*means.values()])
            look = style[cell.label]
            lines.append(PlotLine(name=look.name, label=cell.label, x=x, y=y, style=look, seeds=cell.losses))
    return Lines(
        slug=f"learning-{task.slug}",
        title=task.task_label,
        caption="Thick: mean over seeds; thin: every seed; at the chosen learning rate.",
        x=Axis("step"),
        y=loss_axis(task),
        lines=tuple(lines),
        y_format=".3r",
        x_words="step {}",
    )


def of_sweep(sweep: Sweep, labels: tuple[str, ...]) -> list[Plot]:
    """The plots of a sweep: for each field the score against it, for each pair of fields a heat map.

    Args:
      labels: of the whole report, by whose colours arms are drawn that are called like them.
    """
    style = styles(labels if sweep.arms.keys() <= set(labels) else tuple(sweep.arms))
    pairs = itertools.combinations(sweep.fields, 2)
    maps = (_heat_map(sweep, *(field.name for field in pair)) for pair in pairs)
    return [*(_against(sweep, field, style) for field in sweep.fields), *(plot for plot in maps if plot is not None)]


def _against(sweep: Sweep, field: SweptField, style: dict[str, Style]) -> Lines:
    """The score against a field of the config: per arm every seed, and the mean with its interval."""
    lines: list[PlotLine] = []
    found: list[Tried] = []
    for name in sweep.arms:
        tried = {value: point.tried for (value,), point in sweep.along(name, field.name).items()}
        if tried:
            seeds = dict.fromkeys(seed for own in tried.values() for seed in own.scores)
            own = {s: {value: at.scores[s] for value, at in tried.items() if s in at.scores} for s in seeds}
            scores = [at.score for at in tried.values()]
            lines.append(_line(style[name], name, [*tried], scores, sweep.kind, seeds=own))
            found += tried.values()
    along = f" Changes with it: {entries.fields_words(field.along)}." if field.along else ""
    single = " A single seed has no interval." if any(len(at.scores) == 1 for at in found) else ""
    return Lines(
        slug=_slug(sweep, field.name),
        title=f"{_score(sweep)} against {entries.field_words(field.name)}",
        caption=f"Large mark: mean over seeds with its 95 % interval; small: every seed.{single}"
        f"{_diverged(sweep)}{along}{_others(sweep, field.name)}",
        x=sweep_axis(entries.field_words(field.name), sweep.values(field.name)),
        y=score_axis(sweep.kind, _held(((at.score, at.scores) for at in found), sweep.kind)),
        lines=tuple(lines),
        markers=True,
        bars=True,
        y_format=sweep.kind.d3_format,
        x_words=f"{entries.field_words(field.name)} {{}}",
    )


def _heat_map(sweep: Sweep, across: str, upwards: str) -> HeatMap | None:
    """The mean score against two fields, a panel for each arm that has several values of both."""
    x, y = sweep.values(across), sweep.values(upwards)[::-1]
    panels = []
    for name in sweep.arms:
        found = sweep.along(name, across, upwards)
        if all(len({where[axis] for where in found}) > 1 for axis in (0, 1)):
            means = {where: point.tried.score.mean for where, point in found.items()}
            panels.append((name, np.array([[means.get((u, v), math.nan) for u in x] for v in y], np.float64)))
    if not panels:
        return None
    values = [value for _, panel in panels for value in panel.ravel() if not math.isnan(value)]
    return HeatMap(
        slug=_slug(sweep, across, upwards),
        title=f"{_score(sweep)} against {entries.field_words(across)} and {entries.field_words(upwards)}",
        caption=f"Mean over seeds.{_diverged(sweep)}{_others(sweep, across, upwards)}",
        x=Axis(entries.field_words(across), names=tuple(map(value_text, x))),
        y=Axis(entries.field_words(upwards), names=tuple(map(value_text, y))),
        z_title=sweep.kind.title,
        panels=tuple(panels),
        low=min(values),
        high=max(values),
        columns=min(len(panels), 2),
        written=len(x) <= 8,
    )


def _score(sweep: Sweep) -> str:
    return f"{sweep.tables[0]}: {sweep.kind.title}" if len(sweep.tables) == 1 else entries.heading(sweep.kind.title)


def _diverged(sweep: Sweep) -> str:
    every = (own for points in sweep.arms.values() for point in points for own in point.cell.tried)
    said = " Seeds that diverged have no score: see Learning rates tried."
    return said if any(own.diverged for own in every) else ""


def _others(sweep: Sweep, *shown: str) -> str:
    others = [field.name for field in sweep.fields if field.name not in shown]
    if not others:
        return ""
    return f" Each point uses the {entries.fields_words(others)} that validation on training lengths chooses for it."


def _slug(sweep: Sweep, *fields: str) -> str:
    return file_name("-".join(("swept", *fields, sweep.tables[0])).replace(".", "-"))


def _line(
    style: Style, label: str, x: list[Any], intervals: list[Interval], kind: ScoreKind, **others: Any
) -> PlotLine:
    bounds = [drawn(own) or (math.nan, math.nan) for own in intervals]
    low, high = np.array(bounds, np.float64).reshape(-1, 2).T
    means = np.array([math.nan if own.mean is None else own.mean for own in intervals])
    notes = others.pop("notes", tuple(_interval(own, kind) for own in intervals))
    return PlotLine(
        name=style.name, label=label, x=np.array(x), y=means, style=style, low=low, high=high, notes=notes, **others
    )


def _held(found: Iterable[tuple[Interval, dict[int, float]]], kind: ScoreKind) -> list[float]:
    return [value for interval, own in found for value in with_bounds(interval, own.values(), kind)]


def _interval(interval: Interval, kind: ScoreKind) -> str:
    return entries.interval_text(interval, kind).removeprefix(entries.number(interval.mean, kind)).strip()
