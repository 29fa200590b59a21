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
    shift_map,
    shift_plots,
    tsne_plot,
    wave_plot,
)


@dataclasses.dataclass(frozen=True)
class View:
    """One view.

    Attributes:
      words: what it is, in messages and headings.
      about: more of it, where the words do not say all.
      there: whether an encoding has it.
      plots: of the encodings that have it, in the style of each: one for all, or one for each.
    """

    words: str
    about: str
    there: Callable[[MeasuredEncoding], bool]
    plots: Callable[[Encodings, Styles, Chosen], list[Plot]]


def _has_vectors(one: MeasuredEncoding) -> bool:
    return one.vectors is not None


def _has_frequencies(one: MeasuredEncoding) -> bool:
    return one.frequencies is not None


VIEWS = {
    "flow": View(
        "from words to the encoder",
        "from words to the encoder, on request only",
        lambda one: one.flow is not None and one.vectors is not None,
        of_each(flow_plot),
    ),
    "heatmap": View("heat map of positions", "values of all positions", _has_vectors, of_each(heat_map)),
    "lines": View("vectors of single positions", "of single positions", _has_vectors, of_each(line_plot)),
    "waves": View("dimensions along positions", "single dimensions along positions", _has_vectors, of_each(wave_plot)),
    "frequencies": View("frequencies", "", _has_frequencies, frequency_plots),
    "wavelengths": View("wavelengths", "", _has_frequencies, wavelength_plots),
    "exp": View("frequencies on plain axes", "frequencies on plain axes", _has_frequencies, exponential_plots),
    "kernel": View(
        "similarity by offset",
        "similarity by offset",
        lambda one: one.vectors is not None or one.products is not None,
        kernel_plots,
    ),
    "distances": View("distance matrix", "of every two positions", _has_vectors, of_each(distance_map)),
    "pca": View(
        "principal components", "", lambda one: one.vectors is not None and len(one.vectors) > 2, of_each(pca_plot)
    ),
    "tsne": View(
        "t-SNE", "", lambda one: one.vectors is not None and len(one.vectors) > 3 * PERPLEXITY, of_each(tsne_plot)
    ),
    "shift": View(
        "linear map of a shift",
        "residual of the linear map from a position to the one k later",
        lambda one: one.shifts is not None,
        shift_plots,
    ),
    "shift-map": View("map of a shift", "that map", lambda one: one.shifts is not None, of_each(shift_map)),
    "bias": View("bias curves", "of logits, by offset", lambda one: one.bias is not None, bias_plots),
    "attention": View(
        "attention maps",
        "of a run, otherwise of equal contents",
        lambda one: one.attention is not None,
        of_each(weight_map("attention")),
    ),
    "contents": View(
        "attention with one content everywhere",
        "attention where all tokens have one content, if it depends on contents",
        lambda one: one.contents is not None,
        of_each(contents_map),
    ),
    "positions": View(
        "positions that tokens have",
        "of an example's tokens, if they depend on tokens",
        lambda one: one.positions is not None,
        of_each(position_map),
    ),
    "pairs": View(
        "pairs of an example's tokens",
        "of an example's tokens, if their attributes count",
        lambda one: one.pairs is not None,
        of_each(pair_map),
    ),
    "pooling": View(
        "weights of pooling",
        "of a run that pools by attention",
        lambda one: one.pooling is not None,
        of_each(weight_map("pooling")),
    ),
    "sections": View(
        "attention by section",
        "attention by section, of a run that classifies documents",
        lambda one: one.sections is not None,
        of_each(section_map),
    ),
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
