"""The views of encodings: what each is called, which encodings have it, and its plots."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from posenc_jax.drawing.style import styles
from posenc_jax.show import logit_plots, vector_plots
from posenc_jax.show.measured import Encodings, MeasuredEncoding, Positions, Styles
from posenc_jax.show.plots import Plot


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
    "heatmap": View("heat map of positions", "values of all positions", _has_vectors, vector_plots.heat_maps),
    "lines": View("vectors of single positions", "of single positions", _has_vectors, vector_plots.line_plots),
    "frequencies": View(
        "frequencies and wavelengths",
        "with wavelengths",
        lambda one: one.frequencies is not None,
        logit_plots.frequency_plots,
    ),
    "kernel": View(
        "similarity by offset",
        "similarity by offset",
        lambda one: one.vectors is not None or one.products is not None,
        logit_plots.kernel_plots,
    ),
    "distances": View("distance matrix", "of every two positions", _has_vectors, vector_plots.distance_maps),
    "pca": View(
        "principal components",
        "",
        lambda one: one.vectors is not None and len(one.vectors) > 2,
        vector_plots.pca_plots,
    ),
    "tsne": View(
        "t-SNE",
        "",
        lambda one: one.vectors is not None and len(one.vectors) > 3 * vector_plots.PERPLEXITY,
        vector_plots.tsne_plots,
    ),
    "shift": View(
        "linear map of a shift",
        "the linear map from a position to one k later",
        lambda one: one.shifts is not None,
        vector_plots.shift_plots,
    ),
    "bias": View("bias curves", "of logits, by offset", lambda one: one.bias is not None, logit_plots.bias_plots),
    "attention": View(
        "attention maps",
        "of a run; else of equal contents",
        lambda one: bool(one.attention),
        logit_plots.attention_maps,
    ),
}


def views_of(one: MeasuredEncoding) -> tuple[str, ...]:
    """The names in `VIEWS` of what an encoding has."""
    return tuple(name for name, view in VIEWS.items() if view.there(one))


def plots_of(encodings: Encodings, view: str, positions: Sequence[int]) -> list[Plot]:
    """Every plot of a view that the encodings have; ``positions`` are those of the line plots."""
    style = styles(tuple(one.label for one in encodings))
    found = VIEWS[view]
    return found.plots([one for one in encodings if found.there(one)], style, tuple(positions))
