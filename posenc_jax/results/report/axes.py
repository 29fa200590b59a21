"""Axes of figures: the range and the ticks of a score, and how lengths stand on theirs."""

import itertools
import math
from collections.abc import Iterable

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.plots import Axis, tick_name
from posenc_jax.files.fields import value_text
from posenc_jax.results.summary import CellSummary, TaskSummary
from posenc_jax.statistics import Interval


def score_axis(kind: ScoreKind, values: Iterable[float], room: float = 0.1) -> Axis:
    """An axis for a kind of score that holds ``values``, with ``room`` (a fraction of it) beyond the last tick.

    The whole range if the kind says so; else from 0 to the largest value; logarithmic around the values. Its title has
    the unit and, where it is not the usual one, the direction.
    """
    unit = f" ({kind.unit})" if kind.unit else ""
    title = f"{kind.title}{unit}{', lower is better' if kind.better == 'lower' else ''}"
    values = list(values)
    if kind.logarithmic:
        return _logarithmic(title, values, room)
    largest = kind.highest if kind.whole_axis and kind.highest else max(values, default=1.0) or 1.0
    step = _step(largest)
    ticks = tuple(round(step * i, 10) for i in range(math.ceil(largest / step - 1e-9) + 1))
    top = ticks[-1]
    return Axis(title, -0.03 * top, (1 + room) * top, ticks, tuple(f"{tick:g}" for tick in ticks))


def length_axis(task: TaskSummary) -> Axis:
    """A plain axis of numbers; of lengths of text a logarithmic one that names them."""
    lengths = sorted({point.length for cell in task.cells for point in cell.curve})
    if not task.length_unit or not lengths:
        return Axis(task.length_unit or "length")
    mixed = {length for length in lengths if task.ranges[length] == "mixed"}
    names = tuple(task.length_name(length) + "\nmixed" * (length in mixed) for length in lengths)
    room = 1.25 if len(lengths) < 2 else (lengths[-1] / lengths[0]) ** 0.08
    return Axis(task.length_unit, lengths[0] / room, lengths[-1] * room, tuple(lengths), names, logarithmic=True)


def sweep_axis(title: str, values: tuple[float, ...]) -> Axis:
    """An axis with a tick at every value: logarithmic where they grow by factors rather than by steps."""
    names = tuple(map(value_text, values))
    if values[0] > 0 and _by_factors(values):
        room = (values[-1] / values[0]) ** 0.08
        return Axis(title, values[0] / room, values[-1] * room, values, names, logarithmic=True)
    room = 0.08 * (values[-1] - values[0])
    return Axis(title, values[0] - room, values[-1] + room, values, names)


def _by_factors(values: tuple[float, ...]) -> bool:
    """True if ascending values grow by factors rather than by steps."""
    factors = [math.log(b / a) for a, b in itertools.pairwise(values)]
    steps = [b - a for a, b in itertools.pairwise(values)]
    if len(steps) == 1:
        return values[1] >= 4 * values[0]
    return max(factors) / min(factors) < max(steps) / min(steps)


def mean_losses(cell: CellSummary) -> dict[int, float]:
    """Step -> mean of the training loss over the seeds, at the steps that all of them have; those above 0."""
    shared = set.intersection(*map(set, cell.losses.values())) if cell.losses else set()
    means = {step: sum(own[step] for own in cell.losses.values()) / len(cell.losses) for step in sorted(shared)}
    return {step: mean for step, mean in means.items() if mean > 0}


def loss_axis(task: TaskSummary) -> Axis:
    """A logarithmic axis that holds every seed's training loss."""
    losses = (loss for cell in task.cells for own in cell.losses.values() for loss in own.values())
    return _logarithmic("training loss (nats)", [loss for loss in losses if loss > 0], 0.05)


def drawn(interval: Interval) -> tuple[float, float] | None:
    """The ends of a drawn interval: equal seeds show no spread, so only their mean is drawn, and a word says so."""
    if interval.mean is not None and interval.all_equal:
        return interval.mean, interval.mean
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)


def with_bounds(interval: Interval, scores: Iterable[float], kind: ScoreKind) -> list[float]:
    """The values of an interval that an axis must hold: bounds up to twice as far from 0 as the scores (those of two
    seeds can lie anywhere).
    """
    scores = list(scores)
    shown = drawn(interval)
    if interval.mean is None or shown is None or not scores:
        return scores
    reach = 2.0
    low, high = max(shown[0], min(scores) / reach), min(shown[1], max(scores) * reach)
    return [*scores, interval.mean, low, high if kind.highest is None else min(high, kind.highest)]


def _step(span: float) -> float:
    """A round number of which four or five make the span."""
    unit = 10.0 ** math.floor(math.log10(span / 4))
    return unit * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * unit * 5 >= span)


def _logarithmic(title: str, values: list[float], room: float) -> Axis:
    """Ticks at decades, at 1, 2 and 5 of each, or at more digits: the first of these that gives three; round numbers
    in a short range.
    """
    smallest, largest = min(values, default=1.0), max(values, default=10.0)
    margin = max((largest / smallest) ** (room + 0.03), 1.03)
    low, high = smallest / margin, largest * margin
    ticks: list[float] = []
    if high / low < 4:
        step = _step(0.7 * (high - low))
        ticks = [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        if len(ticks) < 3:
            ticks = [digit * 10.0**e for e in decades for digit in digits if low <= digit * 10.0**e <= high]
    ticks = [round(tick, 10) for tick in ticks[:: math.ceil(len(ticks) / 10)]]
    return Axis(title, low, high, tuple(ticks), tuple(map(tick_name, ticks)), logarithmic=True)
