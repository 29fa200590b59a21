"""Plots as plain values, which `posenc_jax.drawing.interactive` and `posenc_jax.drawing.printed` both draw."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from posenc_jax.drawing.style import Style

if TYPE_CHECKING:  # commands import this to say what a figure lacks, and their help needs no NumPy
    import numpy as np


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis: ``ticks`` at values, with what is written there; without them, and without ``low`` and ``high``, as
    the plotted values ask for.
    """

    title: str = ""
    low: float | None = None
    high: float | None = None
    ticks: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    logarithmic: bool = False

    def coordinate(self, value: float) -> float:
        """The coordinate of a value in plotly's ranges and annotations."""
        return math.log10(value) if self.logarithmic else value


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Plot:
    """The common fields of plots; ``slug``: a file name without ending, ``view``: of `posenc_jax.show.views`."""

    slug: str
    title: str
    x: Axis
    y: Axis
    caption: str = ""
    view: str = ""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap(Plot):
    """Panels (a title and an array ``[Y, X]``, first row on top) with one colour scale from ``low`` to ``high``, or
    with ``own_scales``, each up to its own largest value; ``diverging`` around 0. Names of axes are those of rows and
    columns, ``rows`` those of each panel's where they differ. ``written``: values stand in the cells. ``signs``
    stand to the right of the panels, and a box with a word after the last.
    """

    z_title: str
    panels: tuple[tuple[str, np.ndarray], ...]
    low: float
    high: float
    own_scales: bool = False
    diverging: bool = False
    square: bool = False
    columns: int = 1
    rows: tuple[tuple[str, ...], ...] = ()
    written: bool = False
    signs: tuple[str, ...] = ()
    box: str = ""

    def top(self, values: np.ndarray) -> float:
        """The value at which the colours of a panel end."""
        return (float(values.max()) or self.high) if self.own_scales else self.high


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PlotLine:
    """One line.

    Attributes:
      name: its entry in the legend, which lines of one name share.
      label: its name where it is pointed at.
      panel: the title of the axes that it is drawn on, where a plot has several, one below the other.
      low, high: its interval, NaN where there is none.
      seeds: seed -> x -> y, which are drawn thin.
      notes: of every point, where it is pointed at.
      wide: whether another line lies upon it.
      drawn: as a line, with markers where the plot has some, or as one of these alone.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    style: Style
    label: str = ""
    panel: str = ""
    opacity: float = 1.0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    seeds: Mapping[int, Mapping[Any, float]] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    wide: bool = False
    drawn: Literal["both", "line", "points"] = "both"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Lines(Plot):
    """Lines on one pair of axes, or on one for each panel.

    Attributes:
      bars: intervals are bars, else bands.
      shade: from where to where x is shaded, and a word for it.
      levels: values of y with a name.
      y_format: of d3.
      x_words: x in words, where it is pointed at; "" where notes say it.
    """

    lines: tuple[PlotLine, ...]
    markers: bool = False
    bars: bool = False
    shade: tuple[float, float, str] | None = None
    levels: tuple[tuple[float, str], ...] = ()
    y_format: str = ".5g"
    x_words: str = "{}"

    @property
    def panels(self) -> dict[str, list[PlotLine]]:
        """The lines of each panel, by its title."""
        found: dict[str, list[PlotLine]] = {}
        for line in self.lines:
            found.setdefault(line.panel, []).append(line)
        return found

    def edge(self, level: float) -> Literal["top", "bottom", "center"]:
        """The edge of a level's name that is at its line: of several levels the lowest has its name below."""
        others = [own for own, _ in self.levels]
        return "center" if len(others) == 1 else "top" if level == min(others) else "bottom"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Points(Plot):
    """Positions ``0 .. P-1`` as points ``[P, 2]``, some labelled; ``path`` joins successive ones."""

    points: np.ndarray
    labelled: tuple[int, ...]
    path: bool


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class IntervalRow:
    """A mean with its interval, of each seed its value, and others' values with what is said of them. word: what
    stands to its right.
    """

    name: str
    style: Style
    mean: float | None
    low: float | None = None
    high: float | None = None
    label: str = ""
    note: str = ""
    word: str = ""
    seeds: Mapping[int, float] = dataclasses.field(default_factory=dict)
    others: tuple[tuple[float, str], ...] = ()


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class IntervalRows(Plot):
    """Rows, the first on top, along an axis x; ``level``: a value of it with a name; ``x_format``: of d3."""

    rows: tuple[IntervalRow, ...]
    level: tuple[float, str] | None = None
    x_format: str = ".3f"


def tick_name(value: float) -> str:
    """A number beside a logarithmic axis.

    >>> tick_name(20000.0), tick_name(2e6), tick_name(1e-3)
    ('20,000', '2·10⁶', '10⁻³')
    """
    if 0.01 <= value < 1e5:
        return f"{value:,g}"
    mantissa, exponent = f"{value:e}".split("e")
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if float(mantissa) == 1 else f"{float(mantissa):g}·{power}"
