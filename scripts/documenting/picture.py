"""Pictures of an encoding: its vectors, the kernel of its products, its biases, the positions that it gives,
or, where contents decide, what it changes in attention.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from posenc_jax.analysis.audit import model_for
from posenc_jax.analysis.views import available, bias, content_logits, position_vectors
from posenc_jax.drawing.plots import Axis, HeatMap, Plot
from posenc_jax.encodings import (
    Dims,
    Sequence,
    Slot,
    attend,
    embed,
    for_layer,
    geometries,
    init_slot,
    layer_params,
    map_slot,
    parse,
    token_terms,
)
from posenc_jax.show.measure import with_equal_contents
from posenc_jax.show.measured import Chosen, MeasuredEncoding
from posenc_jax.show.views import plots_of

LENGTH = 64
# Of these words a comparison says more than the encoding alone.
BASELINE = {"rope": "rope", "sinusoidal": "sinusoidal"}
# An addition and a document, for encodings that read tokens: 6 8 + 9 7 = 5 6 1, two separators, token types.
TOKENS = (7, 9, 11, 10, 8, 12, 6, 7, 2, 1, 14, 3, 1, 5, 13, 2)
TYPES = (1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3)


def plots(name: str, spec: str) -> list[Plot]:
    """The plots of a row of the catalogue; at least one.

    Raises:
      ValueError: it has none.
    """
    slot = parse(spec)
    dims = dataclasses.replace(model_for(for_layer(slot, 0)), max_len=256)
    has = available(slot, dims)
    found = list(_positions(name, slot)) if _maps(slot) and not has else []
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
        found = [_of_contents(name, slot, dims)]
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


def _positions(name: str, slot: Slot) -> Iterator[Plot]:
    """The positions that each element is given, of one example."""
    sequence = Sequence.of_length(len(TOKENS), tokens=np.array([TOKENS]), token_types=np.array([TYPES]))
    encodings = for_layer(slot, 0)
    seen = [np.asarray(s.positions, float)[0] for s in map_slot(encodings, sequence, key=jax.random.key(0))]
    if any(p.ndim != 1 for p in seen):
        return
    kept = [(e.name, p) for e, p in zip(encodings, seen, strict=True) if "map_positions" not in e.acts_on]
    yield HeatMap(
        slug="positions",
        view="positions",
        title=f"Positions that tokens have, {name}",
        caption="Of one example: the token ids are below, an addition and a text with separators, in three sections of "
        "token types. Colour is the position that each element reads.",
        x=Axis("token id", names=tuple(map(str, TOKENS))),
        y=Axis("read by", names=tuple(word for word, _ in kept)),
        z_title="position",
        panels=(("", np.stack([p for _, p in kept])),),
        low=0.0,
        high=float(max(1.0, *(p.max() for _, p in kept))),
    )


def _of_contents(name: str, slot: Slot, dims: Dims) -> Plot:
    """Attention weights where all contents are the same random ones, by the mask alone and with the encoding."""
    encodings = for_layer(slot, 0)
    rng = np.random.default_rng(0)
    params = layer_params(slot, init_slot(jax.random.key(0), slot, dims), 0)
    params = jax.tree.map(lambda a: a + 0.3 * rng.normal(size=a.shape).astype(a.dtype), params)
    length = LENGTH // 2

    def everywhere(*shape: int, axis: int) -> np.ndarray:
        return np.repeat(rng.normal(size=shape).astype(np.float32), length, axis=axis)

    x = everywhere(1, 1, dims.d_model, axis=1)
    heads = (dims.num_heads, dims.num_kv_heads, dims.num_kv_heads)
    q, k, v = (everywhere(1, h, 1, dims.head_dim, axis=2) for h in heads)
    tokens = Sequence.of_length(length, tokens=np.ones((1, length), np.int32))

    def weights(own: Any, params: Any) -> np.ndarray:
        key = jax.random.key(0)
        seen = geometries(own, tokens, tokens, num_heads=dims.num_heads, causal=True, contiguous=True, key=key)
        terms = token_terms(own, params, embed(own, params, x, tokens, key=key), tokens)
        found = attend(q, k, v, own, params, seen, terms, return_weights=True)[1]
        return np.asarray(found, np.float64)[0, 0]

    without, with_it = weights((), ()), weights(encodings, params)
    same = np.array_equal(without, with_it)
    about = (
        "Attention weights of one head, causal, where every token has the same query and the same key, drawn at random"
    )
    state = "; parameters as initialised, and 0.3 times a normal draw added" if jax.tree.leaves(params) else ""
    panels = (("the mask alone", without), ("with it", with_it))
    return HeatMap(
        slug="attention",
        view="attention",
        title=f"Attention with equal contents, {name}",
        caption=f"{about}. Nothing but the mask depends on positions." if same else f"{about}{state}.",
        x=Axis("key"),
        y=Axis("query"),
        z_title="attention weight",
        panels=panels[:1] if same else panels,
        low=0.0,
        high=float(max(without[4:].max(), with_it[4:].max())),
        square=True,
        columns=2,
    )
