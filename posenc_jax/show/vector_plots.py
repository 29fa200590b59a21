"""Plots of position vectors, computed from what was measured of encodings. Nothing here draws."""

import math
from collections.abc import Callable

import numpy as np

from posenc_jax.drawing.plots import Axis, HeatMap, Lines, Plot, PlotLine, Points, tick_name
from posenc_jax.drawing.style import styles
from posenc_jax.extras import needed
from posenc_jax.files.names import file_name
from posenc_jax.show.measured import Chosen, Encodings, MeasuredEncoding, Styles, distances, sines_and_cosines

FLOW_DIMENSIONS = 8  # whose values can be read in a cell
PERPLEXITY = 4.0  # of t-SNE


def of_each(
    draw: Callable[[str, str, MeasuredEncoding, Chosen], Plot],
) -> Callable[[Encodings, Styles, Chosen], list[Plot]]:
    """The plot of every encoding, of its file name, its name, what was measured of it, and what was chosen."""

    def plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
        return [draw(file_name(one.label), style[one.label].name, one, chosen) for one in encodings]

    return plots


def _vectors(one: MeasuredEncoding) -> np.ndarray:
    assert one.vectors is not None  # the view has said so
    return one.vectors


def heat_map(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The vectors of every position."""
    vectors = _vectors(one)
    high, (rows, columns) = _limit(vectors), vectors.shape
    return HeatMap(
        slug=f"{slug}-heatmap",
        view="heatmap",
        title=f"Vectors of {name}",
        caption=f"The values added to an embedding at {rows} {one.unit}s, in each of {columns} dimensions.",
        x=Axis("dimension"),
        y=Axis(one.unit),
        z_title="value",
        panels=(("", vectors),),
        low=-high,
        high=high,
        diverging=True,
    )


def line_plot(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The vectors of single positions, sines and cosines apart."""
    vectors, parts = _vectors(one), sines_and_cosines(one)
    columns = {"": np.arange(vectors.shape[1])} if parts is None else dict(zip(_WAVES, parts))
    own = styles(tuple(columns))
    first, *others = map(str, chosen.positions)
    listed = f"{', '.join([first, *others[:-1]])} and {others[-1]}" if others else first
    apart = "" if parts is None else " Sines and cosines have separate lines."
    return Lines(
        slug=f"{slug}-lines",
        view="lines",
        title=f"Vectors of {name}",
        caption=f"The vector{'s' * bool(others)} at {one.unit}{'s' * bool(others)} {listed}, value by value.{apart}",
        x=Axis("dimension"),
        y=Axis("value"),
        lines=tuple(
            PlotLine(name=wave, label=f"{one.unit} {p}", panel=f"{one.unit} {p}", x=x, y=vectors[p, x], style=own[wave])
            for p in chosen.positions
            for wave, x in columns.items()
        ),
        markers=vectors.shape[1] <= 64,
    )


_WAVES = ("sine", "cosine")


def wave_plot(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """Single dimensions along the positions, the sine and the cosine of a frequency together."""
    vectors, parts = _vectors(one), sines_and_cosines(one)
    width, every = vectors.shape[1], np.arange(len(vectors))
    varying = np.flatnonzero(np.ptp(vectors, axis=0)).tolist()
    drawn = range(width) if chosen.dimensions or not varying else varying
    groups: list[tuple[tuple[int, ...], str]] = [((d,), f"dimension {d}") for d in drawn]
    if parts is not None and one.frequencies is not None:
        waves = [f"wavelength {math.tau / w:.4g}" if w > 0 else "no wave" for w in one.frequencies]
        groups = [((a, b), f"dimensions {a} and {b}, {wave}") for a, b, wave in zip(*parts, waves)]
    wanted = chosen.dimensions or [d for pair, _ in (groups[i] for i in _some(len(groups))) for d in pair]
    own = styles(_WAVES if parts else ("",))
    lines = [
        PlotLine(name=wave, label=f"dimension {d}", panel=title, x=every, y=vectors[:, d], style=own[wave])
        for pair, title in groups
        for d, wave in zip(pair, own)
        if d in wanted
    ]
    apart = " A sine and the cosine beside it have the same wavelength." if parts else ""
    return Lines(
        slug=f"{slug}-waves",
        view="waves",
        title=f"Dimensions of {name}, along {one.unit}s",
        caption=f"{len(lines)} of {width} dimensions at all {one.unit}s: the columns of the heat map.{apart}",
        x=Axis(one.unit),
        y=Axis("value"),
        lines=tuple(lines),
        markers=len(vectors) <= 64,
    )


def _some(count: int, least: int = 4) -> tuple[int, ...]:
    """The first of ``count``, and those at an eighth, a quarter and half of them; of few the first ones."""
    return tuple(range(min(count, least))) if count < 2 * least else (0, count // 8, count // 4, count // 2)


def flow_plot(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """Words, their embeddings, the vectors of their positions, and the sums."""
    flow = one.flow
    assert flow is not None
    shown, width = FLOW_DIMENSIONS, flow.sums.shape[1]
    added = _vectors(one)[: len(flow.words)]
    embeddings, added, sums = (values[:, :shown] for values in (flow.embeddings, added, flow.sums))
    high = float(max(np.abs(values).max() for values in (embeddings, added, sums)))
    part = f" The first {shown} of {width} dimensions are shown." if width > shown else ""
    return HeatMap(
        slug=f"{slug}-flow",
        view="flow",
        title=f"What an encoder reads of “{' '.join(flow.words)}”, {name}",
        caption="Each word selects a row of the table of embeddings, times sqrt(d_model); the table is random, so the "
        "words mean nothing yet. Each position, counted from 0, has a vector of the same size. The encoder reads "
        f"their sum.{part}",
        x=Axis("dimension"),
        y=Axis(""),
        z_title="value",
        panels=(("embeddings of words", embeddings), ("vectors of positions", added), ("sums", sums)),
        rows=(tuple(f"{w} →" for w in flow.words), tuple(f"{p} →" for p in range(len(added))), ("",) * len(added)),
        signs=("+", "=", "→"),
        box="encoder",
        low=-high,
        high=high,
        diverging=True,
        written=True,
        columns=3,
    )


def distance_map(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The distance of every two positions."""
    matrix = distances(_vectors(one))
    return HeatMap(
        slug=f"{slug}-distances",
        view="distances",
        title=f"Distances in {name}",
        caption=f"Euclidean distance between the vectors of every two {one.unit}s.",
        x=Axis(one.unit),
        y=Axis(one.unit),
        z_title="distance",
        panels=(("", matrix),),
        low=0.0,
        high=float(matrix.max()) or 1.0,
        square=True,
    )


def pca_plot(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The first two principal components."""
    points, explained = principal_components(_vectors(one))
    x, y = (Axis(f"component {i + 1} ({share:.0%} of the variance)") for i, share in enumerate(explained))
    return Points(
        slug=f"{slug}-pca",
        view="pca",
        title=f"Principal components of {name}",
        caption=f"The vectors on their first two principal components; the line joins successive {one.unit}s.",
        x=x,
        y=y,
        points=points,
        labelled=_labelled(len(points)),
        path=True,
    )


def tsne_plot(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The positions in the plane, by t-SNE."""
    points = t_sne(_vectors(one), PERPLEXITY)
    return Points(
        slug=f"{slug}-tsne",
        view="tsne",
        title=f"t-SNE of {name}",
        caption=f"Perplexity {PERPLEXITY:g}, started from the principal components. Near points are near vectors; "
        f"distances between groups, and their sizes, mean nothing.{_neighbours(points)}",
        x=Axis("t-SNE 1 (no unit)"),
        y=Axis("t-SNE 2 (no unit)"),
        points=points,
        labelled=_labelled(len(points), 128),
        path=False,
    )


def _neighbours(points: np.ndarray) -> str:
    """A note on the distance in the sequence of nearest points, where it forms a pattern."""
    found = nearest_offsets(points, NEAREST)
    every = sum(found.values())
    common = [f"{count} are {offset} positions away" for offset, count in found.items() if count >= every / 10]
    if not common:
        return ""
    return f" Of the {every} nearest neighbours ({NEAREST} of each point) in this plane, {' and '.join(common)}."


NEAREST = 3
_RESIDUALS = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0)


def shift_plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
    """Residuals of the linear map to a later position."""
    shifts = {one.label: one.shifts for one in encodings if one.shifts is not None}
    floor = 1e-16  # a logarithmic axis has no 0
    drawn = [
        PlotLine(
            name=style[label].name,
            x=np.array(list(shift)),
            y=np.maximum(list(shift.values()), floor),
            style=style[label],
        )
        for label, shift in shifts.items()
    ]
    return [
        Lines(
            slug="shift-residual",
            view="shift",
            title="Linear map to the position k later: residual",
            caption="Residual of the linear map from the vector of a position to that of the position k later, fitted "
            "by least squares at half of the positions and measured at the others: rounding (1e-15) means an exact "
            "map, 1 none at all.",
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


def _limit(values: np.ndarray) -> float:
    """A limit of a scale around 0: 1 where values are between, but not far inside, -1 and 1."""
    high = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return 1.0 if 0.5 < high <= 1.0 + 1e-6 else high or 1.0


def _labelled(count: int, most: int = 16) -> tuple[int, ...]:
    """Round positions to label, at most ``most``."""
    step = next(s * 10**e for e in range(9) for s in (1, 2, 5) if count <= most * s * 10**e)
    return tuple(range(0, count, step))


def principal_components(vectors: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """``[P, 2]`` coordinates of ``vectors [P, M]`` on the two directions of most variance, and their shares of it.

    The sign of a direction is chosen so that its coordinate of largest size is positive.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)[None]
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    left, values = (np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, max(2 - a.shape[-1], 0))]) for a in (left, values))
    points = left[:, :2] * values[None, :2]
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    total = float((values**2).sum()) or 1.0
    return points * np.where(signs == 0, 1.0, signs)[None], (values[0] ** 2 / total, values[1] ** 2 / total)


def nearest_offsets(points: np.ndarray, count: int) -> dict[int, int]:
    """The distances in rows of the ``count`` nearest neighbours of each of ``points [P, 2]``, with their counts, the
    most frequent offset first.
    """
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    near = apart.argsort(axis=1, kind="stable")[:, :count]
    offsets, found = np.unique(np.abs(near - np.arange(len(points))[:, None]), return_counts=True)
    return {int(offsets[i]): int(found[i]) for i in np.argsort(-found, kind="stable")}


def t_sne(vectors: np.ndarray, perplexity: float) -> np.ndarray:
    """``[P, 2]`` by t-SNE (van der Maaten and Hinton 2008), started from the principal components, in one thread, so
    that the same vectors give the same points on one machine. Needs scikit-learn.
    """
    with needed("report", "t-SNE"):
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    # The usual start, the principal components at a standard deviation of 1e-4; those of sklearn are drawn by chance.
    start = principal_components(vectors)[0]
    start = start / (start[:, 0].std() or 1.0) * 1e-4
    # Exact gradients do not depend on an approximation's tree; beyond 500 points they take too long.
    method = "exact" if len(vectors) <= 500 else "barnes_hut"
    with threadpool_limits(1):
        run = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=0, method=method, n_jobs=1)
        return run.fit_transform(vectors.astype(np.float64)).astype(np.float64)
