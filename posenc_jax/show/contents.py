"""Measurements of encodings by contents or tokens: attention with equal contents, positions of an example."""

from typing import Any

import jax
import numpy as np

from posenc_jax.analysis.synthetic_attributes import attributes_for
from posenc_jax.analysis.views import pair_values
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
    token_terms,
)
from posenc_jax.show.examples import example_of
from posenc_jax.show.measured import MeasuredAttention, PairsOfExample, ReadPositions

MOST = 32  # tokens: more say no more of contents that are all alike
# An addition and a document, for encodings that read tokens: 6 8 + 9 7 = 5 6 1, two separators, token types.
TOKENS = (7, 9, 11, 10, 8, 12, 6, 7, 2, 1, 14, 3, 1, 5, 13, 2)
TYPES = (1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3)
ABOUT = (
    "An addition and a text with separators, shown as token ids, in three sections of token types; encodings of images "
    "read the first section as an image of four tokens."
)


def read_positions(slot: Slot) -> ReadPositions | None:
    """The positions that each element of the first layer reads along each axis, of one example; None if none maps
    them.
    """
    encodings = for_layer(slot, 0)
    if not any("map_positions" in e.acts_on for e in encodings):
        return None
    example, ids = example_of(slot), np.array([TOKENS])
    names, about = (tuple(map(str, TOKENS)), ABOUT) if example is None else (example.names, example.about)
    fields = {"tokens": ids, "token_types": np.array([TYPES]), **attributes_for(encodings, ids)}
    sequence = Sequence.of_length(len(names), **(fields if example is None else example.fields))
    seen = [np.asarray(s.positions, float)[0] for s in map_slot(encodings, sequence, key=jax.random.key(0))]
    readers, values = [], []
    for e, p in zip(encodings, seen, strict=True):
        if "map_positions" not in e.acts_on:
            values += list(p.reshape(len(names), -1).T)
            readers += [e.name] if p.ndim == 1 else [f"{e.name}, axis {axis}" for axis in range(p.shape[1])]
    return ReadPositions(names, tuple(readers), np.stack(values), about) if readers else None


def pairs_of_example(slot: Slot, dims: Dims) -> PairsOfExample | None:
    """The `pair_values` of the example of a slot; None without an example."""
    example = example_of(slot)
    if example is None:
        return None
    sequence = Sequence.of_length(len(example.names), **example.fields)
    what, values = pair_values(slot, dims, sequence)
    return PairsOfExample(example.names, values, what, example.about)


def one_content(slot: Slot, dims: Dims) -> MeasuredAttention:
    """Weights ``[1, 2, Q, K]`` of one head, by the mask alone and with the encodings of the first layer, where every
    token has the same query and the same key; ``[1, 1, Q, K]`` where they are equal.
    """
    length = min(dims.max_len, MOST)
    encodings = for_layer(slot, 0)
    rng = np.random.default_rng(0)
    params = layer_params(slot, init_slot(jax.random.key(0), slot, dims), 0)
    params = jax.tree.map(lambda a: a + 0.3 * rng.normal(size=a.shape).astype(a.dtype), params)

    def everywhere(*shape: int, axis: int) -> np.ndarray:
        return np.repeat(rng.normal(size=shape).astype(np.float32), length, axis=axis)

    x = everywhere(1, 1, dims.d_model, axis=1)
    heads = (dims.num_heads, dims.num_kv_heads, dims.num_kv_heads)
    q, k, v = (everywhere(1, h, 1, dims.head_dim, axis=2) for h in heads)
    ones = np.ones((1, length), np.int32)
    made = attributes_for(encodings, np.arange(length, dtype=np.int32)[None])
    tokens = Sequence.of_length(length, tokens=ones, token_types=ones, **made)

    def weights(own: Any, params: Any) -> np.ndarray:
        key = jax.random.key(0)
        seen = geometries(own, tokens, tokens, num_heads=dims.num_heads, causal=True, contiguous=True, key=key)
        terms = token_terms(own, params, embed(own, params, x, tokens, key=key), tokens)
        found = attend(q, k, v, own, params, seen, terms, return_weights=True)[1]
        return np.asarray(found, np.float64)[0, 0]

    without, with_it = weights((), ()), weights(encodings, params)
    same = np.array_equal(without, with_it)
    state = "; parameters as initialised, plus 0.3 times a normal draw" if jax.tree.leaves(params) else ""
    about = (
        "Attention weights of one head, causal, where every token has the same query and the same key, drawn at random"
        + (". Only the mask depends on positions." if same else f"{state}.")
    )
    return MeasuredAttention("with one content", np.stack([without] if same else [without, with_it])[None], about=about)
