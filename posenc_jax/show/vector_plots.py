"""Plots of position vectors, computed from what was measured of encodings. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posenc_jax.drawing.plots import Axis, HeatMap, Line, Lines, Plot, Points, tick_name
from posenc_jax.drawing.style import styles
from posenc_jax.file_names import file_name
from posenc_jax.show.measured import Encodings, Positions, Styles, distances
from posenc_jax.show.projections import principal_components, t_sne

# Of a large map the first dimensions are drawn: the fast waves of interleaved sines and cosines.
MAP_DIMENSIONS = 32
PERPLEXITY = 4.0  # of t-SNE


def of_each(
    draw: Callable[[str, str, np.ndarray, Positions], Plot],
) -> Callable[[Encodings, Styles, Positions], list[Plot]]:
    """The plots of every encoding that has vectors, each of its file name, its name, its vectors and the positions."""

    def plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
        return [
            draw(file_name(one.label), style[one.label].name, one.vectors, positions)
            for one in encodings
            if one.vectors is not None
        ]

    return plots


def heat_map(slug: str, name: str, vectors: np.ndarray, positions: Positions) -> Plot:
    """The vectors of every position."""
    high, (rows, columns) = _limit(vectors), vectors.shape
    return HeatMap(
        slug=f"{slug}-heatmap",
        view="heatmap",
        title=f"Vectors of {name}",
        caption=f"What is added to an embedding at {rows} positions, in each of {columns} dimensions.",
        x=Axis("dimension"),
        y=Axis("position"),
        z_title="value",
        panels=(("", vectors),),
        low=-high,
        high=high,
        diverging=True,
    )


def line_plot(slug: str, name: str, vectors: np.ndarray, positions: Positions) -> Plot:
    """The vectors of single positions."""
    own = styles(tuple(f"position {p}" for p in positions))
    first, *others = map(str, positions)
    listed = f"{', '.join([first, *others[:-1]])} and {others[-1]}" if others else first
    return Lines(
        slug=f"{slug}-lines",
        view="lines",
        title=f"Vectors of {name}",
        caption=f"The vector{'s' * bool(others)} at position{'s' * bool(others)} {listed}, value by value.",
        x=Axis("dimension"),
        y=Axis("value"),
        lines=tuple(
            Line(name=title, label=f"position {p}", x=np.arange(vectors.shape[1]), y=vectors[p], style=own[title])
            for p, title in zip(positions, own)
        ),
        markers=vectors.shape[1] <= 64,
        stacked=bool(others),
    )


def distance_map(slug: str, name: str, vectors: np.ndarray, positions: Positions) -> Plot:
    """The distance of every two positions."""
    matrix = distances(vectors)
    return HeatMap(
        slug=f"{slug}-distances",
        view="distances",
        title=f"Distances in {name}",
        caption="Euclidean distance of the vectors of every two positions.",
        x=Axis("position"),
        y=Axis("position"),
        z_title="distance",
        panels=(("", matrix),),
        low=0.0,
        high=float(matrix.max()) or 1.0,
        square=True,
    )


def pca_plot(slug: str, name: str, vectors: np.ndarray, positions: Positions) -> Plot:
    """The first two principal components."""
    points, explained = principal_components(vectors)
    x, y = (Axis(f"component {i + 1} ({share:.0%} of the variance)") for i, share in enumerate(explained))
    return Points(
        slug=f"{slug}-pca",
        view="pca",
        title=f"Principal components of {name}",
        caption="The vectors on their first two principal components; the line joins successive positions.",
        x=x,
        y=y,
        points=points,
        labelled=_labelled(len(points)),
        path=True,
    )


def tsne_plot(slug: str, name: str, vectors: np.ndarray, positions: Positions) -> Plot:
    """The positions in the plane, by t-SNE."""
    return Points(
        slug=f"{slug}-tsne",
        view="tsne",
        title=f"t-SNE of {name}",
        caption=f"Perplexity {PERPLEXITY:g}, started from the principal components. Near points are near vectors; "
        "distances of groups, and sizes, mean nothing.",
        x=Axis("t-SNE 1 (no unit)"),
        y=Axis("t-SNE 2 (no unit)"),
        points=t_sne(vectors, PERPLEXITY),
        labelled=_labelled(len(vectors), 128),
        path=False,
    )


_RESIDUALS = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0)


def shift_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """Residuals of the linear map to a later position, and the map."""
    shifts = {one.label: one.shifts for one in encodings if one.shifts is not None}
    floor = 1e-16  # a logarithmic axis has no 0
    drawn = [
        Line(
            name=style[label].name,
            x=np.array(list(shift.residuals)),
            y=np.maximum(list(shift.residuals.values()), floor),
            style=style[label],
        )
        for label, shift in shifts.items()
    ]
    found: list[Plot] = [
        Lines(
            slug="shift-residual",
            view="shift",
            title="Linear map to the position k later: what it misses",
            caption="Residual of the linear map that takes the vector of a position to that k later, fitted by least "
            "squares at half of the positions, measured at the others: rounding (1e-15) is an exact map, 1 is none at "
            "all.",
            x=Axis(
                "shift k (positions)",
                ticks=tuple(sorted({float(k) for line in drawn for k in line.x})),
                logarithmic=True,
            ),
            y=Axis(
                "relative residual",
                min(_RESIDUALS[0], *(line.y.min() for line in drawn)) / 3,
                max(_RESIDUALS[-1], *(line.y.max() for line in drawn)) * 3,
                ticks=_RESIDUALS,
                names=tuple(map(tick_name, _RESIDUALS)),
                logarithmic=True,
            ),
            lines=tuple(drawn),
            markers=True,
            levels=((1.0, "no map"),),
        )
    ]
    for label, shift in shifts.items():
        size = min(len(shift.matrix), MAP_DIMENSIONS)
        part = shift.matrix[:size, :size]
        rest = "" if size == len(shift.matrix) else f", first {size} of {len(shift.matrix)} dimensions"
        high = _limit(part)
        found.append(
            HeatMap(
                slug=f"{file_name(label)}-shift-map",
                view="shift",
                title=f"Map to the position {shift.offset} later, {style[label].name}",
                caption=f"The map from the vector of a position to that {shift.offset} later{rest}: blocks of two by "
                "two beside the diagonal are rotations.",
                x=Axis("dimension, from"),
                y=Axis("dimension, to"),
                z_title="weight",
                panels=(("", part),),
                low=-high,
                high=high,
                diverging=True,
                square=True,
            )
        )
    return found


def _limit(values: np.ndarray) -> float:
    """A limit of a scale around 0: 1 where values are between, but not far inside, -1 and 1."""
    high = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return 1.0 if 0.5 < high <= 1.0 + 1e-6 else high or 1.0


def _labelled(count: int, most: int = 16) -> tuple[int, ...]:
    """Round positions to label, at most ``most``."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if count <= most * s * 10**e)
    return tuple(range(0, count, step))
