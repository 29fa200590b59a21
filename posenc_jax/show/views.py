"""The views of encodings: what each is called, which encodings have it, and its plots."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.style import styles
from posenc_jax.show.logit_plots import attention_maps, bias_plots, frequency_plots, kernel_plots
from posenc_jax.show.measured import Encodings, MeasuredEncoding, Positions, Styles
from posenc_jax.show.vector_plots import (
    PERPLEXITY,
    distance_map,
    heat_map,
    line_plot,
    of_each,
    pca_plot,
    shift_plots,
    tsne_plot,
)


@dataclasses.dataclass(frozen=True)
class View:
    """One view.

    Attributes:
      words: what it is, in messages and headings. about: more of it, where the words do not say all.
      there: whether an encoding has it. plots: of the encodings that have it, in the style of each; the positions are
        those of the line plots.
    """

    words: str
    about: str
    there: Callable[[MeasuredEncoding], bool]
    plots: Callable[[Encodings, Styles, Positions], list[Plot]]


def _has_vectors(one: MeasuredEncoding) -> bool:
    return one.vectors is not None


VIEWS = {
    "heatmap": View("heat map of positions", "values of all positions", _has_vectors, of_each(heat_map)),
    "lines": View("vectors of single positions", "of single positions", _has_vectors, of_each(line_plot)),
    "frequencies": View(
        "frequencies and wavelengths", "with wavelengths", lambda one: one.frequencies is not None, frequency_plots
    ),
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
        "the linear map from a position to one k later",
        lambda one: one.shifts is not None,
        shift_plots,
    ),
    "bias": View("bias curves", "of logits, by offset", lambda one: one.bias is not None, bias_plots),
    "attention": View(
        "attention maps", "of a run; else of equal contents", lambda one: bool(one.attention), attention_maps
    ),
}


def views_of(one: MeasuredEncoding) -> tuple[str, ...]:
    """The names in `VIEWS` of what an encoding has."""
    return tuple(name for name, view in VIEWS.items() if view.there(one))


def plots_of(encodings: Encodings, view: str, positions: Sequence[int]) -> list[Plot]:
    """Every plot of a view that the encodings have; ``positions`` are those of the line plots."""
    style = styles(tuple(one.label for one in encodings))
    found = VIEWS[view]
    having = [one for one in encodings if found.there(one)]
    return found.plots(having, style, tuple(positions)) if having else []
