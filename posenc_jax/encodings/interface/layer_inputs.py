"""Arguments of `attend` besides queries, keys and values, for one layer of any model, in one call."""

from typing import Any, NamedTuple

import jax

from posenc_jax.encodings.interface.arrays import check_choices, check_kind, check_options, check_size
from posenc_jax.encodings.interface.base import Array, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.geometry import CALL_OPTIONS
from posenc_jax.encodings.interface.parameters import check_params
from posenc_jax.encodings.interface.slots import (
    Slot,
    SlotParams,
    elements,
    for_layer,
    geometries,
    layer_params,
    own_terms,
)


class LayerInputs(NamedTuple):
    """The arguments of `attend` after q, k and v, in its order."""

    encodings: tuple[PositionalEncoding, ...]
    params: tuple[Params, ...]
    geometry: Geometry | tuple[Geometry, ...]
    terms: tuple[Terms, ...]


def layer_inputs(
    slot: Slot,
    params: SlotParams,
    x: Array | None,
    sequence: Sequence | None = None,
    *,
    num_heads: int,
    causal: bool = False,
    layer: int = 0,
    embedded: bool = False,
    key: Key | None = None,
    train: bool = False,
    **call: Any,
) -> LayerInputs:
    """Arguments of the self-attention of one layer for any slot: ``attend(q, k, v, *layer_inputs(...))``.

    It takes the encodings and the parameters of the layer, maps positions, and computes what encodings read of the
    tokens. Parameters that are not trained (`frozen`) get no gradient. The next tokens of a sequence whose past a cache
    holds, `Sequence.part` of the whole, attend to the whole: q is of these tokens, k and v of all, and so are the terms
    to be given to `attend`; those returned, of the new tokens, go into the cache as k and v do.

    Args:
      slot, params: the slot, and what `init_slot` gave for it.
      x: ``[B, S, M]``, what q, k and v are projected from; None where it is not at hand and no encoding reads it.
      sequence: the tokens, or a part of their ``context``; None for the S of x, unpadded, at the positions 0 .. S-1.
      embedded: whether `embed` was called, before the first layer: encodings that act on embeddings do it there.
      key, train: for random positions, as of `geometries`, which takes ``call`` too (``window``, ``head_axis``, ...).
      params, x: where heads are split over devices (`Geometry.head_axis`) whole, on each of them.

    Raises:
      ValueError: if an encoding acts on embeddings and `embed` was not called; if it needs a causal mask, tokens, token
        types, a key, x, or positions of other axes; if ``params`` are of another slot or model, or have no such
        layer.
      TypeError: naming an argument in ``call`` that there is not.

    >>> from posenc_jax.encodings import Dims, init_slot, parse
    >>> slot, dims = parse("shaw|rope"), Dims(8, 2, 2, 4, num_layers=3, max_len=16)
    >>> params = init_slot(jax.random.key(0), slot, dims)
    >>> of_layer = layer_inputs(slot, params, jax.numpy.ones((1, 5, 8)), num_heads=2, layer=2)
    >>> [sorted(own) for own in of_layer.params]
    [['keys', 'values'], []]
    """
    check_options("layer_inputs", call, CALL_OPTIONS - {"num_heads", "causal"})
    sizes = {"num_heads": num_heads}
    if x is not None:
        check_kind("x", x, "the inputs of a layer", "floats", "batch", "sequence", "d_model")
        sizes["d_model"] = x.shape[2]
    check_choices(embedded=embedded, train=train)
    check_size("num_heads", num_heads)
    check_size("layer", layer, 0)
    if sequence is None:
        if x is None:
            raise ValueError("x and sequence are both None: pass sequence=Sequence.of_length(length), at least")
        sequence = Sequence.of_length(x.shape[1])
    for element in elements(slot):
        if x is None and "token_terms" in element.acts_on:
            raise ValueError(
                f"{element!r} reads the inputs of the layer: pass x, what queries, keys and values are projected from"
            )
        if "embed" in element.acts_on and not embedded:
            raise ValueError(
                f"{element!r} acts on embeddings, not in attention: call embed(slot, params, x, sequence) before the "
                "first layer, and say embedded=True in every layer"
            )
        if element.causal_only and not causal:
            raise ValueError(
                f"{element!r} needs a causal mask: say causal=True (is_causal=True where Flax or jax.nn is called), or "
                "choose another encoding"
            )
    Sequence.check(sequence)
    keys = sequence if sequence.context is None else sequence.context
    encodings = for_layer(slot, layer)
    own = layer_params(slot, params, layer)
    check_params(encodings, own, sizes)
    own = tuple(map(_without_gradients, encodings, own))
    seen = geometries(
        encodings, sequence, keys, num_heads=num_heads, causal=causal, key=key, train=train, layer=layer, **call
    )
    terms: tuple[Terms, ...] = (None,) * len(own) if x is None else own_terms(encodings, own, x, sequence)
    return LayerInputs(encodings, own, seen, terms)


def _without_gradients(element: PositionalEncoding, params: Params) -> Params:
    frozen = element.frozen
    return {name: jax.lax.stop_gradient(array) if name in frozen else array for name, array in params.items()}
