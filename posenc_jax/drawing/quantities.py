"""Quantities as people say them, their units on the same line."""

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.statistics import Comparison

NONE = "-"
"""An empty entry: nothing is known."""


def duration(seconds: float | None) -> str:
    """Seconds in the unit that people would say: ``4.2 min``."""
    if seconds is None:
        return NONE
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= size:
            return f"{seconds / size:.3g}\u00a0{unit}"
    return f"{seconds:.2g}\u00a0s" if seconds >= 0.01 else "under\u00a00.01\u00a0s"


def p_value(p: float) -> str:
    """A p with three digits after the point, and more where they would put it on the other side of 0.05.

    >>> p_value(0.0004), p_value(0.004), p_value(0.0502)
    ('< 0.001', '0.004', '0.0502')
    """
    if p < 0.001:
        return "< 0.001"
    digits = next((n for n in range(3, 12) if (float(f"{p:.{n}f}") <= 0.05) == (p <= 0.05)), 12)
    return f"{p:.{digits}f}"


def difference(found: Comparison, kind: ScoreKind) -> str:
    """A difference of scores with its interval, as far as they are known: ``+0.33 [0.24, 0.40]``; a ratio where the
    kind is logarithmic.
    """
    if found.difference is None:
        return NONE
    text = kind.show_difference(kind.outer(found.difference))
    if found.low is None or found.high is None:
        return text
    return f"{text} [{kind.show(kind.outer(found.low))}, {kind.show(kind.outer(found.high))}]"


def count(value: float, unit: str = "") -> str:
    """A large number with three digits: ``1.33 TFLOP``."""
    value = float(f"{value:.3g}")  # 999,600 is 1 M
    for size, prefix in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}\u00a0{prefix}{unit}"
    return f"{value:.3g}\u00a0{unit}".rstrip("\u00a0")
