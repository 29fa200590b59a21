"""Plots as plain values, which `posenc_jax.show.paper` and `posenc_jax.show.interactive` both draw."""

from __future__ import annotations

import dataclasses

import numpy as np

from posenc_jax.drawing.style import Style


@dataclasses.dataclass(frozen=True, eq=False)
class Plot:
    """The common fields of plots: a file name without ending, its view, a title, a caption, titles of axes."""

    slug: str
    view: str
    title: str
    caption: str
    x_title: str
    y_title: str


@dataclasses.dataclass(frozen=True, eq=False)
class HeatMap(Plot):
    """Panels (a title and an array ``[Y, X]``, first row on top) with one colour scale from ``low`` to ``high``;
    ``diverging`` around 0.
    """

    z_title: str
    panels: tuple[tuple[str, np.ndarray], ...]
    low: float
    high: float
    diverging: bool
    square: bool
    columns: int = 1
    x_names: tuple[str, ...] = ()
    y_names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """One line; ``group`` is its entry in the legend, which lines of one group share. A band from low to high, or
    None; ``wide`` where another line lies upon it.
    """

    group: str
    hover: str
    x: np.ndarray
    y: np.ndarray
    style: Style
    opacity: float = 1.0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    wide: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Lines(Plot):
    """Lines on one pair of axes, or, ``stacked``, each on its own below the others. ``levels`` are values of y with a
    name, ``x_ticks`` and ``y_ticks`` where ticks are (empty: anywhere).
    """

    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    markers: bool = False
    levels: tuple[tuple[float, str], ...] = ()
    x_ticks: tuple[float, ...] = ()
    y_ticks: tuple[float, ...] = ()
    stacked: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Points(Plot):
    """Positions ``0 .. P-1`` as points ``[P, 2]``, some labelled; ``path`` joins successive ones."""

    points: np.ndarray
    labelled: tuple[int, ...]
    path: bool
