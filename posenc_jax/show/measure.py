"""Encodings measured for `posenc_jax.show.views`: by their hooks, as initialised or as trained."""

import dataclasses
from typing import Any

import jax
import numpy as np

from posenc_jax.analysis import views
from posenc_jax.analysis.views import equal_content_weights
from posenc_jax.encodings import Dims, Sequence, Slot, elements, embed, for_layer, layer_params
from posenc_jax.encodings.absolute.numbers import OfNumbers
from posenc_jax.encodings.interface.slots import is_pattern
from posenc_jax.show.contents import one_content, pairs_of_example, read_positions
from posenc_jax.show.lead import what_it_does
from posenc_jax.show.measured import Flow, MeasuredAttention, MeasuredEncoding

SHIFTS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
MOST = 64  # positions of an attention map: more cannot be read


def measure(
    label: str, slot: Slot, dims: Dims, length: int, params: Any = None, *, shifts: bool = True
) -> MeasuredEncoding:
    """All that a slot has at positions ``0 .. length-1``, in float64; ``params`` default to the initial ones. Where
    layers differ it is the first one, which the label says. ``shifts``: with the maps of shifts, which take a quarter
    of a minute at d_model 512.

    Raises:
      ValueError: where it cannot serve the sizes.
    """
    found: dict[str, Any] = {}
    has = views.available(slot, dims)
    own = views.initial(slot, dims) if params is None else params
    if is_pattern(slot) or (params is not None and any(e.per_layer for e in elements(slot))):
        label = f"{label}, layer 1"
    options: dict[str, Any] = dict(params=own, dtype="float64")
    if "vectors" in has:
        found["vectors"] = views.position_vectors(slot, dims, np.arange(length), length=length, **options)
    if "vectors" in has and shifts:
        maps = views.linear_maps(slot, dims, [k for k in SHIFTS if k <= length // 2], params=own)
        found["shifts"] = {m.offset: m.residual for m in maps}
    if "content_logits" in has:
        found["products"] = views.content_logits(slot, dims, length, **options)
    if "bias" in has:
        found["bias"] = views.bias(slot, dims, length, **options)
    if "frequencies" in has:
        found["frequencies"] = views.frequencies(slot, dims)
    state = "as trained" if params is not None else "as initialised"
    state = f"; parameters {state}" if jax.tree.leaves(own) else ""
    encodings = for_layer(slot, 0)
    unit = "number" if any(isinstance(e, OfNumbers) for e in encodings) else "position"
    note = f"d_model {dims.d_model}, heads {dims.num_heads}, {unit}s 0 to {length - 1}{state}."
    causal = any(e.causal_only for e in encodings)
    return MeasuredEncoding(label, about=what_it_does(slot), causal=causal, unit=unit, note=note, **found)


def with_flow(measured: MeasuredEncoding, slot: Slot, dims: Dims, words: tuple[str, ...]) -> MeasuredEncoding:
    """Measurements with what an encoder without training reads of ``words``, for an encoding that adds vectors."""
    if measured.vectors is None:
        return measured
    from posenc_jax.models import Slots, Transformer, build  # Flax is half a second that no other view needs

    vocabulary = sorted(set(words))  # after padding, beginning and end
    tokens = np.array([[3 + vocabulary.index(word) for word in words]], np.int32)
    size = 3 + len(vocabulary)
    config = Transformer(d_model=dims.d_model, num_heads=dims.num_heads, num_layers=1)
    sizes, key = {"vocab_size": size, "num_classes": size, "max_len": len(words)}, jax.random.key(0)
    embeddings = build("encoder_only", config, Slots(), **sizes, key=key, posenc_key=key).embedding(tokens)
    params = layer_params(slot, views.initial(slot, dims), 0)
    sums = embed(for_layer(slot, 0), params, embeddings, Sequence.of_length(len(words), tokens=tokens), key=key)
    return dataclasses.replace(measured, flow=Flow(words, np.asarray(embeddings)[0], np.asarray(sums)[0]))


def with_contents(measured: MeasuredEncoding, slot: Slot, dims: Dims) -> MeasuredEncoding:
    """Measurements with what can be seen of an encoding without vectors, products and biases: the positions that it
    gives where it maps them, and what it does to pairs of tokens where it has an example of its attributes; else
    attention with one content everywhere.
    """
    if any(own is not None for own in (measured.vectors, measured.products, measured.bias)):
        return measured
    positions, pairs = read_positions(slot), pairs_of_example(slot, dims)
    if positions is not None or pairs is not None:
        return dataclasses.replace(measured, positions=positions, pairs=pairs)
    return dataclasses.replace(measured, contents=one_content(slot, dims))


def with_equal_contents(measured: MeasuredEncoding, head_dim: int) -> MeasuredEncoding:
    """Measurements with the attention maps of equal contents, for an encoding that acts on logits by position."""

    def first(values: Any) -> Any:
        return None if values is None else values[:, :MOST, :MOST]

    products, biases = first(measured.products), first(measured.bias)
    if products is None and biases is None:
        return measured
    scaled = None if products is None else products * head_dim**0.5
    weights = equal_content_weights(scaled, biases, causal=measured.causal)
    if (weights == weights[:1]).all():
        weights = weights[:1]
    parts = [f"products of contents of norm sqrt({head_dim})"] if products is not None else []
    parts += ["biases"] if biases is not None else []
    heads = "" if len(weights) > 1 else " All heads are alike."
    about = f"Attention weights where all contents are equal: the softmax of {' and '.join(parts)}.{heads}"
    return dataclasses.replace(measured, attention=MeasuredAttention("of equal contents", weights[None], about=about))
