"""What `posenc show` draws, as plain values: encodings as measured, and plots that matplotlib and plotly both draw.

A plot is a `HeatMap`, `Lines` or `Points`; `report.shown_plots` makes them of a `Shown`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from posenc_jax.report.style import Style

PERPLEXITY = 4.0  # of t-SNE

# What a view is, in messages and headings.
VIEW_NAMES = {
    "heatmap": "heat map of positions",
    "lines": "vectors of single positions",
    "frequencies": "frequencies and wavelengths",
    "kernel": "similarity by offset",
    "distances": "distance matrix",
    "pca": "principal components",
    "tsne": "t-SNE",
    "shift": "linear map of a shift",
    "bias": "bias curves",
    "attention": "attention maps",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Shifts:
    """Residuals of the linear map to the position k later, by k, and the map ``[M, M]`` of one of them."""

    residuals: dict[int, float]
    offset: int
    matrix: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Attention:
    """Attention weights ``[L, H, Q, K]`` of one input, and the names of queries and keys (or empty)."""

    name: str
    weights: np.ndarray
    queries: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    about: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """One encoding, measured: None for what it does not have.

    Attributes:
      label: its spec. vectors: ``[P, M]`` float64, of positions ``0 .. P-1``. products: ``[H, Q, K]``, of queries and
        keys of equal unit contents. bias: ``[H, Q, K]``. frequencies: ``[F]``, radians per position.
      causal: whether keys are never after their queries. attention: maps. note: what should be known of all this.
    """

    label: str
    vectors: np.ndarray | None = None
    products: np.ndarray | None = None
    bias: np.ndarray | None = None
    frequencies: np.ndarray | None = None
    shifts: Shifts | None = None
    attention: tuple[Attention, ...] = ()
    causal: bool = False
    note: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Plot:
    """What every plot has: a file name without ending, the view it belongs to, a title, a caption, titles of axes."""

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


def has(one: Shown) -> tuple[str, ...]:
    """The names in `VIEW_NAMES` of what an encoding has."""
    there = {
        "heatmap": one.vectors is not None,
        "lines": one.vectors is not None,
        "frequencies": one.frequencies is not None,
        "kernel": one.vectors is not None or one.products is not None,
        "distances": one.vectors is not None,
        "pca": one.vectors is not None and len(one.vectors) > 2,
        "tsne": one.vectors is not None and len(one.vectors) > 3 * PERPLEXITY,
        "shift": one.shifts is not None,
        "bias": one.bias is not None,
        "attention": bool(one.attention),
    }
    return tuple(view for view in VIEW_NAMES if there[view])


def distances(vectors: np.ndarray) -> np.ndarray:
    """``[P, P]`` Euclidean distances of ``vectors [P, M]``, without the cancellation of an expanded square."""
    return np.stack([np.linalg.norm(vectors - row[None], axis=1) for row in vectors.astype(np.float64)])


def by_offset(matrices: np.ndarray, offsets: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the entries of ``[N, Q, K]`` at each ``key - query = offset`` the mean, and the 5 % and 95 % quantile; each
    ``[len(offsets)]``.
    """
    entries = [np.diagonal(matrices, offset, axis1=1, axis2=2) for offset in offsets]
    low, high = (np.array([np.quantile(e, q) for e in entries]) for q in (0.05, 0.95))
    return np.array([np.mean(e) for e in entries]), low, high


def slug(label: str) -> str:
    """A label as part of a file name."""
    words = "".join(c if c.isalnum() or c in "._" else "-" for c in label).strip("-")
    while "--" in words:
        words = words.replace("--", "-")
    return words[:80].strip("-") or "nope"
