"""Entries of a report's tables, and names of scores."""

from collections.abc import Iterable

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.drawing.quantities import NONE, p_value
from posenc_jax.results.ablation_info import PublishedInfo
from posenc_jax.results.summary import CellSummary, TaskSummary
from posenc_jax.results.sweep import RATE
from posenc_jax.statistics import Interval


def heading(title: str) -> str:
    """A name at the beginning of a line; chrF stays chrF."""
    return title.capitalize() if title == title.lower() else title


def field_words(field: str) -> str:
    """A field of the config, or the learning rate, in words."""
    return "learning rate" if field == RATE else field


def fields_words(fields: Iterable[str]) -> str:
    """Fields in a sentence: ``model.d_model, rope.base and learning rate``."""
    *others, last = map(field_words, fields)
    return " and ".join(filter(None, (", ".join(others), last)))


def number(value: float | None, kind: ScoreKind) -> str:
    """A score with the digits of its kind."""
    return NONE if value is None else kind.show(value)


def interval_text(interval: Interval, kind: ScoreKind) -> str:
    """Mean and interval, ``0.986 [0.981, 0.993]``; the mean alone when there is no interval, with a word when all seeds
    are equal.
    """
    if interval.all_equal:
        return f"{number(interval.mean, kind)} (all seeds equal)"
    if interval.low is None:
        return number(interval.mean, kind)
    return f"{number(interval.mean, kind)} [{number(interval.low, kind)}, {number(interval.high, kind)}]"


def difference_text(cell: CellSummary, kind: ScoreKind) -> str:
    """The paired difference (a ratio if logarithmic) with its number of pairs and in how many the score is better,
    in the word that says so.
    """
    if cell.is_baseline:
        return "baseline"
    if cell.difference is None or cell.difference.interval.n == 0:
        return NONE
    found = cell.difference.interval
    assert found.mean is not None
    said = kind.show_difference(found.mean)
    if found.low is not None and found.high is not None and not found.all_equal:
        said += f" [{kind.show_difference(found.low)}, {kind.show_difference(found.high)}]"
    same = "all pairs equal; " if found.all_equal else ""
    better = getattr(cell.difference, kind.better)
    return f"{said} ({same}{better} of {found.n} {kind.better})"


def p_text(p: float) -> str:
    """A p-value, ``0.004`` or ``under 0.001``."""
    return p_value(p).replace("<", "under")


def seeds_text(cell: CellSummary, noun: str = "") -> str:
    """The number of seeds behind the means, of those in the config: ``3 of 4 (1 diverged)``."""
    not_finite = [seed for seed in cell.not_finite if seed not in cell.scores]
    n = len(cell.asked) - len(cell.diverged) - len(cell.unfinished) - len(not_finite)
    missing = [f"{len(cell.diverged)} diverged"] if cell.diverged else []
    missing += [f"{len(cell.unfinished)} not finished"] if cell.unfinished else []
    missing += [f"{len(not_finite)} not finite"] if not_finite else []
    return f"{n} of {len(cell.asked)}{noun}" + (f" ({', '.join(missing)})" if missing else "")


def rate_text(cell: CellSummary) -> str:
    """The learning rate behind the means."""
    if cell.learning_rate is None or not (cell.scores or cell.diverged or cell.not_finite):
        return NONE
    return f"{cell.learning_rate:g}"


def parameters_text(cell: CellSummary) -> str:
    """Parameters of the model, and in brackets those of its encodings."""
    every, encoding = cell.info["num_parameters"], cell.info["num_posenc_parameters"]
    if every is None:
        return NONE
    return f"{every:,}" if encoding is None else f"{every:,} ({encoding:,})"


def published_text(task: TaskSummary, published: PublishedInfo) -> str:
    """A verified value with its lengths, or the direction in words; the metric too where it is not ours."""
    shown = published["direction"]
    if published["value"] is not None:
        shown = f"{published['value']:g}"
        shown = shown if len(shown.partition(".")[2]) >= 2 else f"{published['value']:.2f}"
    details = [published["lengths"]] if published["lengths"] else []
    details += [published["metric"]] if published["metric"] and not _same_metric(task, published) else []
    return f"{shown} ({'; '.join(details)})" if details else shown


def comparable(task: TaskSummary, published: PublishedInfo) -> bool:
    """True if a published value is of our metric, so that both may share an axis."""
    return published["value"] is not None and _same_metric(task, published)


def _same_metric(task: TaskSummary, published: PublishedInfo) -> bool:
    named = published["metric"].replace("_", " ").strip().lower()
    return named in ("", task.metric.replace("_", " "), task.kind.title.lower())
