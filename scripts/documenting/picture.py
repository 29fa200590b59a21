"""Pictures of an encoding: its vectors, the kernel of its products, its biases, the positions that it gives
and what it does to pairs of an example's tokens, or, where contents decide, what it changes in attention.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from posenc_jax.analysis.audit import model_for
from posenc_jax.analysis.views import available, bias, content_logits, position_vectors
from posenc_jax.drawing.plots import Plot
from posenc_jax.encodings import Dims, Slot, for_layer, parse
from posenc_jax.show.measure import with_contents, with_equal_contents
from posenc_jax.show.measured import Chosen, MeasuredEncoding
from posenc_jax.show.views import plots_of

LENGTH = 64
# Of these words a comparison says more than the encoding alone.
BASELINE = {"rope": "rope", "sinusoidal": "sinusoidal"}


def plots(name: str, spec: str) -> list[Plot]:
    """The plots of a row of the catalogue; at least one.

    Raises:
      ValueError: it has none.
    """
    slot = parse(spec)
    dims = dataclasses.replace(model_for(for_layer(slot, 0)), max_len=256)
    has = available(slot, dims)
    found: list[Plot] = []
    if set(has) & {"vectors", "content_logits", "bias"}:
        one = with_equal_contents(_measured(name, slot, dims), dims.head_dim)
        found += plots_of([one], "heatmap", Chosen()) if one.vectors is not None else []
        if one.vectors is not None or _varies(one.products):
            beside = _baseline(spec)
            others = [_measured(beside, parse(beside), dims)] if beside else []
            found += plots_of([one, *others], "kernel", Chosen())
        found += plots_of([one], "bias", Chosen()) if one.bias is not None else []
        found += plots_of([_first_heads(one)], "attention", Chosen()) if one.vectors is None and _maps(slot) else []
    if not found:
        one = with_contents(MeasuredEncoding(name), slot, dims)
        found = [plot for view in ("positions", "pairs", "contents") for plot in plots_of([one], view, Chosen())]
    return found


def _measured(label: str, slot: Slot, dims: Dims) -> MeasuredEncoding:
    """Measurements that are drawn of an encoding."""
    has = available(slot, dims)
    return MeasuredEncoding(
        label,
        vectors=position_vectors(slot, dims, np.arange(LENGTH), length=LENGTH) if "vectors" in has else None,
        products=content_logits(slot, dims, LENGTH) if "content_logits" in has else None,
        bias=bias(slot, dims, LENGTH) if "bias" in has else None,
        causal=any(e.causal_only for e in for_layer(slot, 0)),
    )


def _varies(products: np.ndarray | None) -> bool:
    """True if products of equal contents depend on positions."""
    return products is not None and float(np.ptp(products)) > 1e-3


def _first_heads(one: Any) -> Any:
    """The measurements with maps of at most four heads."""
    few = one.attention and dataclasses.replace(one.attention, weights=one.attention.weights[:, :4])
    return dataclasses.replace(one, attention=few)


def _baseline(spec: str) -> str | None:
    """The baseline of a spec: the encoding whose frequencies it changes."""
    return next((word for word in BASELINE if spec.startswith(f"{word}(")), None)


def _maps(slot: Slot) -> bool:
    return any("map_positions" in e.acts_on for e in for_layer(slot, 0))
