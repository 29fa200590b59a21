"""Plots of position vectors, computed from what was measured of encodings. Nothing here draws."""

from __future__ import annotations

import numpy as np

from posenc_jax.drawing.style import styles
from posenc_jax.file_names import file_name
from posenc_jax.show.measured import Encodings, Positions, Styles, distances
from posenc_jax.show.plots import HeatMap, Line, Lines, Plot, Points
from posenc_jax.show.projections import principal_components, t_sne

# Of a large map the first dimensions are drawn: the fast waves of interleaved sines and cosines.
MAP_DIMENSIONS = 32
PERPLEXITY = 4.0  # of t-SNE


def heat_maps(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """The vectors of every position."""
    found: list[Plot] = []
    for one in encodings:
        if one.vectors is not None:
            high = _limit(one.vectors)
            rows, columns = one.vectors.shape
            found.append(
                HeatMap(
                    f"{file_name(one.label)}-heatmap",
                    "heatmap",
                    f"Vectors of {style[one.label].name}",
                    f"What is added to an embedding at {rows} positions, in each of {columns} dimensions.",
                    "dimension",
                    "position",
                    "value",
                    (("", one.vectors),),
                    -high,
                    high,
                    True,
                    False,
                )
            )
    return found


def line_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """The vectors of single positions."""
    found: list[Plot] = []
    for one in encodings:
        if one.vectors is None:
            continue
        own = styles(tuple(f"position {p}" for p in positions))
        drawn = tuple(
            Line(name, f"position {p}", np.arange(one.vectors.shape[1]), one.vectors[p], own[name])
            for p, name in zip(positions, own)
        )
        listed = _listed([str(p) for p in positions])
        found.append(
            Lines(
                f"{file_name(one.label)}-lines",
                "lines",
                f"Vectors of {style[one.label].name}",
                f"The vector at position {listed}, value by value."
                if len(positions) == 1
                else f"The vectors at positions {listed}, value by value.",
                "dimension",
                "value",
                drawn,
                markers=one.vectors.shape[1] <= 64,
                stacked=len(drawn) > 1,
            )
        )
    return found


def distance_maps(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """The distance of every two positions."""
    found: list[Plot] = []
    for one in encodings:
        if one.vectors is not None:
            matrix = distances(one.vectors)
            found.append(
                HeatMap(
                    f"{file_name(one.label)}-distances",
                    "distances",
                    f"Distances in {style[one.label].name}",
                    "Euclidean distance of the vectors of every two positions.",
                    "position",
                    "position",
                    "distance",
                    (("", matrix),),
                    0.0,
                    float(matrix.max()) or 1.0,
                    False,
                    True,
                )
            )
    return found


def pca_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """The first two principal components."""
    found: list[Plot] = []
    for one in encodings:
        if one.vectors is not None:
            points, explained = principal_components(one.vectors)
            x, y = (f"component {i + 1} ({share:.0%} of the variance)" for i, share in enumerate(explained))
            found.append(
                Points(
                    f"{file_name(one.label)}-pca",
                    "pca",
                    f"Principal components of {style[one.label].name}",
                    "The vectors on their first two principal components; the line joins successive positions.",
                    x,
                    y,
                    points,
                    _labelled(len(points)),
                    True,
                )
            )
    return found


def tsne_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """The positions in the plane, by t-SNE."""
    found: list[Plot] = []
    for one in encodings:
        if one.vectors is not None:
            points = t_sne(one.vectors, PERPLEXITY)
            found.append(
                Points(
                    f"{file_name(one.label)}-tsne",
                    "tsne",
                    f"t-SNE of {style[one.label].name}",
                    f"Perplexity {PERPLEXITY:g}, started from the principal components. Near points are near vectors; "
                    "distances of groups, and sizes, mean nothing.",
                    "t-SNE 1 (no unit)",
                    "t-SNE 2 (no unit)",
                    points,
                    _labelled(len(points), 128),
                    False,
                )
            )
    return found


def shift_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """Residuals of the linear map to a later position, and the map."""
    with_maps = [one for one in encodings if one.shifts is not None]
    if not with_maps:
        return []
    floor = 1e-16  # a logarithmic axis has no 0
    drawn = []
    for one in with_maps:
        assert one.shifts is not None
        name, residuals = style[one.label].name, one.shifts.residuals
        drawn.append(
            Line(name, name, np.array(list(residuals)), np.maximum(list(residuals.values()), floor), style[one.label])
        )
    found: list[Plot] = [
        Lines(
            "shift-residual",
            "shift",
            "Linear map to the position k later: what it misses",
            "Residual of the linear map that takes the vector of a position to that k later, fitted by least squares "
            "at half of the positions, measured at the others: rounding (1e-15) is an exact map, 1 is none at all.",
            "shift k (positions)",
            "relative residual",
            tuple(drawn),
            log_x=True,
            log_y=True,
            markers=True,
            x_ticks=tuple(sorted({float(k) for line in drawn for k in line.x})),
            y_ticks=(1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0),
            levels=((1.0, "no map"),),
        )
    ]
    for one in with_maps:
        assert one.shifts is not None
        shift, size = one.shifts, min(len(one.shifts.matrix), MAP_DIMENSIONS)
        part = shift.matrix[:size, :size]
        rest = "" if size == len(shift.matrix) else f", first {size} of {len(shift.matrix)} dimensions"
        high = _limit(part)
        found.append(
            HeatMap(
                f"{file_name(one.label)}-shift-map",
                "shift",
                f"Map to the position {shift.offset} later, {style[one.label].name}",
                f"The map from the vector of a position to that {shift.offset} later{rest}: blocks of two by two "
                "beside the diagonal are rotations.",
                "dimension, from",
                "dimension, to",
                "weight",
                (("", part),),
                -high,
                high,
                True,
                True,
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


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
