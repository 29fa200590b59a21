"""The views of encodings: what each is called, which encodings have it, and its plots."""

import dataclasses
from collections.abc import Callable

from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.style import styles
from posenc_jax.show.logit_plots import (
    bias_plots,
    contents_map,
    exponential_plots,
    frequency_plots,
    kernel_plots,
    pair_map,
    position_map,
    section_map,
    wavelength_plots,
    weight_map,
)
from posenc_jax.show.measured import Chosen, Encodings, MeasuredEncoding, Styles
from posenc_jax.show.vector_plots import (
    PERPLEXITY,
    distance_map,
    flow_plot,
    heat_map,
    line_plot,
    of_each,
    pca_plot,
    shift_plots,
    tsne_plot,
    wave_plot,
)


@dataclasses.dataclass(frozen=True)
class View:
    """One view.

    Attributes:
      words: what it is, in messages and headings.
      there: whether an encoding has it.
      plots: of the encodings that have it, in the style of each: one for all, or one for each.
    """

    words: str
    there: Callable[[MeasuredEncoding], bool]
    plots: Callable[[Encodings, Styles, Chosen], list[Plot]]


def _has(name: str) -> Callable[[MeasuredEncoding], bool]:
    return lambda one: getattr(one, name) is not None


def _has_points(more_than: float) -> Callable[[MeasuredEncoding], bool]:
    return lambda one: one.vectors is not None and len(one.vectors) > more_than


_VECTORS = _has("vectors")
VIEWS = {
    "flow": View("from words to the encoder", lambda one: one.flow is not None and _VECTORS(one), of_each(flow_plot)),
    "heatmap": View("heat map of positions", _VECTORS, of_each(heat_map)),
    "lines": View("vectors of single positions", _VECTORS, of_each(line_plot)),
    "waves": View("dimensions along positions", _VECTORS, of_each(wave_plot)),
    "frequencies": View("frequencies", _has("frequencies"), frequency_plots),
    "wavelengths": View("wavelengths", _has("frequencies"), wavelength_plots),
    "exp": View("frequencies on plain axes", _has("frequencies"), exponential_plots),
    "kernel": View("similarity by offset", lambda one: _VECTORS(one) or one.products is not None, kernel_plots),
    "distances": View("distance matrix", _VECTORS, of_each(distance_map)),
    "pca": View("principal components", _has_points(2), of_each(pca_plot)),
    "tsne": View("t-SNE", _has_points(3 * PERPLEXITY), of_each(tsne_plot)),
    "shift": View("linear map of a shift", _has("shifts"), shift_plots),
    "bias": View("bias curves", _has("bias"), bias_plots),
    "attention": View("attention maps", _has("attention"), of_each(weight_map("attention"))),
    "contents": View("attention with one content everywhere", _has("contents"), of_each(contents_map)),
    "positions": View("positions that tokens have", _has("positions"), of_each(position_map)),
    "pairs": View("pairs of an example's tokens", _has("pairs"), of_each(pair_map)),
    "pooling": View("weights of pooling", _has("pooling"), of_each(weight_map("pooling"))),
    "sections": View("attention by section", _has("sections"), of_each(section_map)),
}


def views_of(one: MeasuredEncoding) -> tuple[str, ...]:
    """The names in `VIEWS` of what an encoding has."""
    return tuple(name for name, view in VIEWS.items() if view.there(one))


def plots_of(encodings: Encodings, view: str, chosen: Chosen) -> list[Plot]:
    """Every plot of a view that the encodings have."""
    style = styles(tuple(one.label for one in encodings))
    found = VIEWS[view]
    having = [one for one in encodings if found.there(one)]
    return found.plots(having, style, chosen) if having else []
