"""The plots of `posenc show`, computed from what was measured of encodings. Nothing here draws."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from posenc_jax.report.projections import principal_components, t_sne
from posenc_jax.report.shown import (
    PERPLEXITY,
    HeatMap,
    Line,
    Lines,
    Plot,
    Points,
    Shown,
    by_offset,
    distances,
    has,
    slug,
)
from posenc_jax.report.style import Style, styles

# Of a large map the first dimensions are drawn: the fast waves of interleaved sines and cosines.
MAP_DIMENSIONS = 32


def plots(shown: Sequence[Shown], positions: Sequence[int], views: Sequence[str]) -> list[Plot]:
    """Every plot of the ``views`` (names in `VIEW_NAMES`) that the encodings have, in the order of those; ``positions``
    are those of the line plots.
    """
    style = styles(tuple(one.label for one in shown))
    found: list[Plot] = []
    for view in _VIEWS:
        if view in views:
            found += _VIEWS[view](shown, style, tuple(positions))
    return found


def _heatmap(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    found: list[Plot] = []
    for one in shown:
        if one.vectors is not None:
            high = _limit(one.vectors)
            rows, columns = one.vectors.shape
            found.append(
                HeatMap(
                    f"{slug(one.label)}-heatmap",
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


def _lines(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    found: list[Plot] = []
    for one in shown:
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
                f"{slug(one.label)}-lines",
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


def _frequencies(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    frequencies = {one.label: one.frequencies for one in shown if one.frequencies is not None}
    if not frequencies:
        return []

    def drawn(values: dict[str, np.ndarray]) -> tuple[Line, ...]:
        names = {label: style[label].name for label in values}
        return _drawn_apart([Line(names[l], names[l], np.arange(len(y)), y, style[l]) for l, y in values.items()])

    turning = {label: np.where(w > 0, w, np.nan) for label, w in frequencies.items()}
    still = " A frequency of 0 is not drawn." if any((w <= 0).any() for w in frequencies.values()) else ""
    waves = {label: math.tau / w for label, w in turning.items()}
    every = [wave for own in waves.values() for wave in own if np.isfinite(wave)]
    levels = [(math.tau, "2π")] if min(every, default=math.inf) < 10 * math.tau else []
    levels += [(1e4 * math.tau, "10000 · 2π")] if max(every, default=0.0) > 1e3 * math.tau else []
    return [
        Lines(
            "frequencies",
            "frequencies",
            "Frequencies",
            "The frequency of each pair of a sine and a cosine (of each plane that is turned, in one head)." + still,
            "pair",
            "frequency (radians per position)",
            drawn(turning),
            log_y=True,
            markers=True,
        ),
        Lines(
            "wavelengths",
            "frequencies",
            "Wavelengths",
            "The wavelength of each pair, 2π over its frequency: after so many positions it is where it was." + still,
            "pair",
            "wavelength (positions)",
            drawn(waves),
            log_y=True,
            markers=True,
            levels=tuple(levels),
        ),
    ]


def _kernel(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    drawn = []
    for one in shown:
        if one.vectors is not None:
            products = (one.vectors @ one.vectors.T)[None]
        elif one.products is not None:
            products = one.products
        else:
            continue
        # Keys before their queries, which every encoding has.
        scale = np.einsum("nqq->n", products).mean() / products.shape[1] or 1.0
        mean, low, high = by_offset(products / scale, range(0, -products.shape[1], -1))
        name = style[one.label].name
        band = (low, high) if (high - low).max() > 1e-3 else (None, None)
        drawn.append(Line(name, name, np.arange(len(mean)), mean, style[one.label], 1.0, *band))
    if not drawn:
        return []
    banded = " Band: 5 % to 95 % of positions and heads." if _banded(drawn) else ""
    return [
        Lines(
            "kernel",
            "kernel",
            "Similarity by offset",
            "Dot product of the vectors of two positions by their offset; where queries and keys are encoded, the "
            f"product of a query and an earlier key of equal content. Mean, relative to offset 0.{banded}",
            "offset (positions)",
            "dot product, relative to offset 0",
            _drawn_apart(drawn),
        )
    ]


def _distances(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    found: list[Plot] = []
    for one in shown:
        if one.vectors is not None:
            matrix = distances(one.vectors)
            found.append(
                HeatMap(
                    f"{slug(one.label)}-distances",
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


def _pca(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    found: list[Plot] = []
    for one in shown:
        if "pca" in has(one):
            assert one.vectors is not None
            points, explained = principal_components(one.vectors)
            x, y = (f"component {i + 1} ({share:.0%} of the variance)" for i, share in enumerate(explained))
            found.append(
                Points(
                    f"{slug(one.label)}-pca",
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


def _tsne(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    found: list[Plot] = []
    for one in shown:
        if "tsne" in has(one):
            assert one.vectors is not None
            points = t_sne(one.vectors, PERPLEXITY)
            found.append(
                Points(
                    f"{slug(one.label)}-tsne",
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


def _shift(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    with_maps = [one for one in shown if one.shifts is not None]
    if not with_maps:
        return []
    floor = 1e-16  # an exact 0 has no place on a logarithmic axis
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
                f"{slug(one.label)}-shift-map",
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


def _bias(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    with_bias = [one for one in shown if one.bias is not None]
    if not with_bias:
        return []
    drawn = []
    alone = len(with_bias) == 1
    for one in with_bias:
        assert one.bias is not None
        heads, length = one.bias.shape[:2]
        offsets = range(1 - length, 1 if one.causal else length)
        own = styles(tuple(f"head {h + 1}" for h in range(heads)))
        for h in range(heads):
            mean, low, high = by_offset(one.bias[h : h + 1], offsets)
            band = (low, high) if (high - low).max() > 1e-3 * max(np.abs(mean).max(), 1e-9) else (None, None)
            head = f"head {h + 1}"
            line = (
                (head, head, own[head], 1.0)
                if alone
                else (
                    style[one.label].name,
                    f"{style[one.label].name}, {head}",
                    style[one.label],
                    1.0 - 0.75 * h / max(heads - 1, 1),
                )
            )
            drawn.append(Line(line[0], line[1], np.array(offsets), mean, line[2], line[3], *band))
    about = "" if alone else " From head 1 (full colour) to the last (faint)."
    banded = " Band: 5 % to 95 % of queries." if _banded(drawn) else ""
    title = f"Bias of {style[with_bias[0].label].name}" if alone else "Biases"
    return [
        Lines(
            "bias",
            "bias",
            title,
            f"What is added to a logit, by the place of the key relative to the query.{about}{banded}",
            "key position − query position",
            "bias of the logit",
            _drawn_apart(drawn),
        )
    ]


def _attention(shown: Sequence[Shown], style: dict[str, Style], positions: tuple[int, ...]) -> list[Plot]:
    found: list[Plot] = []
    for one in shown:
        for attention in one.attention:
            layers, heads = attention.weights.shape[:2]
            # A logit of minus infinity is a weight of 0: every map has one scale.
            panels = tuple(
                (f"layer {l + 1}, head {h + 1}" if layers > 1 else f"head {h + 1}" if heads > 1 else "", weights)
                for l, layer in enumerate(attention.weights)
                for h, weights in enumerate(layer)
            )
            name = f" {attention.name}" if attention.name else ""
            found.append(
                HeatMap(
                    f"{slug(one.label)}-attention{'-' + slug(attention.name) if attention.name else ''}",
                    "attention",
                    f"Attention{name}, {style[one.label].name}",
                    attention.about,
                    "key",
                    "query",
                    "attention weight",
                    panels,
                    0.0,
                    float(attention.weights.max()) or 1.0,
                    False,
                    True,
                    min(heads, 4),
                    attention.keys,
                    attention.queries,
                )
            )
    return found


_VIEWS = {
    "heatmap": _heatmap,
    "lines": _lines,
    "frequencies": _frequencies,
    "kernel": _kernel,
    "distances": _distances,
    "pca": _pca,
    "tsne": _tsne,
    "shift": _shift,
    "bias": _bias,
    "attention": _attention,
}


def _drawn_apart(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines, wide where a later one would hide them."""

    def alike(a: Line, b: Line) -> bool:
        return a.y.shape == b.y.shape and np.allclose(a.y, b.y, rtol=0.02, equal_nan=True)

    return tuple(
        dataclasses.replace(line, wide=any(alike(line, later) for later in lines[i + 1 :]))
        for i, line in enumerate(lines)
    )


def _banded(lines: Sequence[Line]) -> bool:
    return any(line.low is not None for line in lines)


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
