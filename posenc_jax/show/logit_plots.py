"""Plots of frequencies, similarities, biases and attention, computed from what was measured of encodings. Nothing here
draws.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from posenc_jax.drawing.style import styles
from posenc_jax.file_names import file_name
from posenc_jax.show.measured import Encodings, Positions, Styles, by_offset
from posenc_jax.show.plots import HeatMap, Line, Lines, Plot


def frequency_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """Frequencies, and wavelengths."""
    frequencies = {one.label: one.frequencies for one in encodings if one.frequencies is not None}
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


def kernel_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """Similarity by offset."""
    drawn = []
    for one in encodings:
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


def bias_plots(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """Biases of logits by offset."""
    with_bias = [one for one in encodings if one.bias is not None]
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
            f"What is added to a logit, by the position of the key relative to the query.{about}{banded}",
            "key position − query position",
            "bias of the logit",
            _drawn_apart(drawn),
        )
    ]


def attention_maps(encodings: Encodings, style: Styles, positions: Positions) -> list[Plot]:
    """Attention weights, head by head."""
    found: list[Plot] = []
    for one in encodings:
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
                    f"{file_name(one.label)}-attention{name.replace(' ', '-')}",
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
