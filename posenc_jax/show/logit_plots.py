"""Plots of frequencies, similarities, biases and attention, computed from what was measured of encodings. Nothing here
draws.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from posenc_jax.drawing.plots import Axis, HeatMap, Lines, Plot, PlotLine
from posenc_jax.drawing.style import styles
from posenc_jax.show.measured import Chosen, Encodings, MeasuredEncoding, Styles, by_offset

MOST_WRITTEN = 8  # parts of a document whose numbers can be read in a cell
MOST_HEADS = 2  # of pairs of an example's tokens


def frequency_plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
    """Frequencies by pair, on a logarithmic axis."""
    about = "The frequency of each pair of a sine and a cosine (for rotations, of each plane in one head)."
    y = Axis("frequency (radians per position)", logarithmic=True)
    return [_by_pair("frequencies", about, y, _frequencies(encodings), style)]


def wavelength_plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
    """Wavelengths by pair, on a logarithmic axis."""
    waves = {label: math.tau / w for label, w in _frequencies(encodings).items()}
    every = [wave for own in waves.values() for wave in own if np.isfinite(wave)]
    levels = [(math.tau, "2π")] if min(every, default=math.inf) < 10 * math.tau else []
    levels += [(1e4 * math.tau, "10000 · 2π")] if max(every, default=0.0) > 1e3 * math.tau else []
    about = "The wavelength of each pair, 2π over its frequency: the number of positions after which it repeats."
    plot = _by_pair("wavelengths", about, Axis("wavelength (positions)", logarithmic=True), waves, style)
    return [dataclasses.replace(plot, levels=tuple(levels))]


def exponential_plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
    """Frequencies over the first dimension of their pairs, on plain axes, with the exponential that they lie on."""
    about = "The frequency of each pair, over its first dimension x, on plain axes."
    plot = _by_pair("exp", about, Axis("frequency (radians per position)"), _frequencies(encodings), style)
    plot = dataclasses.replace(plot, title="Frequencies, on plain axes", x=Axis("dimension x"))
    lines, bases = [], set()
    for line in plot.lines:
        w, x = line.y, 2 * line.x
        steps = np.log(w[1:] / w[:-1]) / 2
        if geometric := len(steps) > 0 and np.allclose(steps, steps[0]):
            dense = np.linspace(0, x[-1], 201)
            lines.append(dataclasses.replace(line, x=dense, y=w[0] * np.exp(steps[0] * dense), drawn="line"))
            bases.add(f"ln({math.exp(-steps[0] * 2 * len(w)):,.6g})/{2 * len(w)}")
        lines.append(dataclasses.replace(line, x=x, drawn="points" if geometric else "both"))
    curve = f" All lie on exp(-c x) with c = {bases.pop()}." if len(bases) == len(plot.lines) == 1 else ""
    return [dataclasses.replace(plot, caption=f"{plot.caption}{curve}", lines=tuple(lines))]


def _frequencies(encodings: Encodings) -> dict[str, np.ndarray]:
    found = {one.label: one.frequencies for one in encodings if one.frequencies is not None}
    return {label: np.where(w > 0, w, np.nan) for label, w in found.items()}


def _by_pair(view: str, about: str, y: Axis, values: dict[str, np.ndarray], style: Styles) -> Lines:
    still = " A frequency of 0 is not drawn." if any(np.isnan(own).any() for own in values.values()) else ""
    drawn = [PlotLine(name=style[l].name, x=np.arange(len(own)), y=own, style=style[l]) for l, own in values.items()]
    return Lines(
        slug=view,
        view=view,
        title=view.capitalize(),
        caption=about + still,
        x=Axis("pair"),
        y=y,
        lines=_drawn_apart(drawn),
        markers=True,
    )


def kernel_plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
    """Similarity by offset."""
    drawn = []
    for one in encodings:
        products = one.products if one.vectors is None else (one.vectors @ one.vectors.T)[None]
        assert products is not None
        # Keys before their queries, which every encoding has.
        scale = np.einsum("nqq->n", products).mean() / products.shape[1] or 1.0
        mean, low, high = by_offset(products / scale, range(0, -products.shape[1], -1))
        look = style[one.label]
        drawn.append(PlotLine(name=look.name, x=np.arange(len(mean)), y=mean, style=look, **_band(low, high, 1e-3)))
    banded = " Band: 5 % to 95 % of positions and heads." if _banded(drawn) else ""
    return [
        Lines(
            slug="kernel",
            view="kernel",
            title="Similarity by offset",
            caption="Dot product of the vectors of two positions, by their offset; where queries and keys are encoded, "
            f"the product of a query and an earlier key of equal content. Mean, relative to offset 0.{banded}",
            x=Axis("offset (positions)"),
            y=Axis("dot product, relative to offset 0"),
            lines=_drawn_apart(drawn),
        )
    ]


def bias_plots(encodings: Encodings, style: Styles, chosen: Chosen) -> list[Plot]:
    """Biases of logits by offset."""
    drawn = []
    alone = len(encodings) == 1
    for one in encodings:
        assert one.bias is not None
        heads, length = one.bias.shape[:2]
        offsets = range(1 - length, 1 if one.causal else length)
        name = style[one.label].name
        own = styles(tuple(f"head {h + 1}" for h in range(heads)))
        for h, (head, look) in enumerate(own.items()):
            mean, low, high = by_offset(one.bias[h : h + 1], offsets)
            drawn.append(
                PlotLine(
                    name=head if alone else name,
                    label=head if alone else f"{name}, {head}",
                    x=np.array(offsets),
                    y=mean,
                    style=look if alone else style[one.label],
                    opacity=1.0 if alone else 1.0 - 0.75 * h / max(heads - 1, 1),
                    **_band(low, high, 1e-3 * max(np.abs(mean).max(), 1e-9)),
                )
            )
    about = "" if alone else " From head 1 (full colour) to the last (faint)."
    banded = " Band: 5 % to 95 % of queries." if _banded(drawn) else ""
    return [
        Lines(
            slug="bias",
            view="bias",
            title=f"Bias of {style[encodings[0].label].name}" if alone else "Biases",
            caption=f"The value added to a logit, by the position of the key relative to the query.{about}{banded}",
            x=Axis("key position − query position"),
            y=Axis("bias of the logit"),
            lines=_drawn_apart(drawn),
        )
    ]


def weight_map(view: Literal["attention", "pooling"]) -> Callable[[str, str, MeasuredEncoding, Chosen], Plot]:
    """A function that draws attention weights, head by head."""

    def draw(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
        found = getattr(one, view)
        layers, heads, queries, keys = found.weights.shape
        strips = 4 * queries < keys
        # Heads differ by powers of ten: on one scale the sharpest would be all that is seen.
        several = layers * heads > 1
        panels = tuple(
            (
                (f"layer {l + 1}, " if layers > 1 else "") + f"head {h + 1}\n0 to {weights.max():.2g}"
                if several
                else "",
                weights,
            )
            for l, layer in enumerate(found.weights)
            for h, weights in enumerate(layer)
        )
        scales = " Each map has its own colour scale, from 0 to its largest weight, written above it." * several
        whose = f" {found.name}" if found.name else ""
        return HeatMap(
            slug=f"{slug}-{view}{whose.replace(' ', '-')}",
            view=view,
            title=f"{view.capitalize()}{whose}, {name}",
            caption=f"{found.about}{scales}",
            x=Axis("key", names=found.keys),
            y=Axis("query", names=found.queries),
            z_title="attention weight",
            panels=panels,
            low=0.0,
            high=float(found.weights.max()) or 1.0,
            own_scales=several,
            square=not strips,
            columns=1 if strips else min(heads, 4),
        )

    return draw


def contents_map(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """Attention with one content everywhere: by the mask alone, and with the encoding."""
    found = one.contents
    assert found is not None
    weights = found.weights[0]
    first = weights.shape[1] // 8  # queries that see few keys, with much for each
    ends = f" The colour scale ends at the largest weight from query {first} on." if first else ""
    return HeatMap(
        slug=f"{slug}-contents",
        view="contents",
        title=f"Attention {found.name}, {name}",
        caption=f"{found.about}{ends}",
        x=Axis("key"),
        y=Axis("query"),
        z_title="attention weight",
        panels=tuple(zip(("the mask alone", "with it"), weights)),
        low=0.0,
        high=float(weights[:, first:].max()),
        square=True,
        columns=2,
    )


def position_map(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The positions of an example's tokens, as each element reads them."""
    found = one.positions
    assert found is not None
    return HeatMap(
        slug=f"{slug}-positions",
        view="positions",
        title=f"Positions that tokens have, {name}",
        caption=f"{found.about} The colour is the position that each element reads.",
        x=Axis("token", names=found.tokens),
        y=Axis("read by", names=found.readers),
        z_title="position",
        panels=(("", found.values),),
        low=float(min(0.0, found.values.min())),
        high=float(max(1.0, found.values.max())),
    )


def pair_map(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """The numbers of pairs of an example's tokens, of the first heads."""
    found = one.pairs
    assert found is not None
    values = found.values[:MOST_HEADS]
    titles = [f"head {head + 1}" if len(found.values) > 1 else "" for head in range(len(values))]
    high = float(np.abs(values).max()) or 1.0
    return HeatMap(
        slug=f"{slug}-pairs",
        view="pairs",
        title=f"Pairs of tokens, {name}",
        caption=f"{found.about} The colour is the {found.what} of two tokens; parameters, if any, as initialised.",
        x=Axis("token", names=found.tokens),
        y=Axis("token", names=found.tokens),
        z_title=found.what,
        panels=tuple(zip(titles, values, strict=True)),
        low=-high,
        high=high,
        diverging=True,
        square=True,
        columns=min(len(values), 2),
    )


def section_map(slug: str, name: str, one: MeasuredEncoding, chosen: Chosen) -> Plot:
    """Attention from parts of a document to others, layer by layer, and of pooling."""
    found = one.sections
    assert found is not None
    panels = [(f"layer {layer + 1}", values) for layer, values in enumerate(found.layers)]
    panels += [("pooling", found.pooling)] if found.pooling is not None else []
    high = max(1.5, *(float(np.nanmax(values)) for _, values in panels))
    return HeatMap(
        slug=f"{slug}-sections",
        view="sections",
        title=f"Attention by section, {name}",
        caption="How much of its attention a token of one part (row) gives to a token of another (column), averaged "
        "over heads and tokens: 1 is as much as to the average token that it sees, 2 is twice as much. A cell is empty "
        f"where a part is not seen; pooling reads each section by itself. {found.about}",
        x=Axis("part that is read", names=found.parts),
        y=Axis("part that reads"),
        z_title="attention, 1 = average token",
        panels=tuple(panels),
        rows=(*[found.parts] * len(found.layers), *([found.pooled] if found.pooled else [])),
        low=2.0 - high,
        high=high,
        diverging=True,
        written=len(found.parts) <= MOST_WRITTEN,
    )


def _band(low: np.ndarray, high: np.ndarray, least: float) -> dict[str, Any]:
    """An interval of a line, where it is at least so wide somewhere."""
    return {"low": low, "high": high} if (high - low).max() > least else {}


def _drawn_apart(lines: Sequence[PlotLine]) -> tuple[PlotLine, ...]:
    """The lines, wide where a later one would hide them."""

    def alike(a: PlotLine, b: PlotLine) -> bool:
        return a.y.shape == b.y.shape and np.allclose(a.y, b.y, rtol=0.02, equal_nan=True)

    return tuple(
        dataclasses.replace(line, wide=any(alike(line, later) for later in lines[i + 1 :]))
        for i, line in enumerate(lines)
    )


def _banded(lines: Sequence[PlotLine]) -> bool:
    return any(line.low is not None for line in lines)
