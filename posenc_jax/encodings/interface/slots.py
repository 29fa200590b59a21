"""Slots: what a model holds where an encoding can stand.

A slot is a tuple of encodings, or a tuple of such tuples that repeats over the layers (``((RoPE(),), (RoPE(),),
(RoPE(),), ())``: NoPE in every fourth layer). Equal elements of a slot are one encoding and share their parameters; a
``per_layer`` class has one parameter set per layer.
"""

import dataclasses
import difflib
from collections import abc
from typing import Any

import jax
import numpy as np

from posenc_jax.encodings.interface.arrays import (
    check_choices,
    check_embedded,
    check_key,
    check_kind,
    check_size,
    summable,
)
from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Sequence,
    Terms,
    check_init,
)
from posenc_jax.encodings.interface.parameters import check_params

SlotParams = tuple[Any, ...]  # by element of a slot: its `Params`, or a tuple of them, one for each layer
Slot = tuple[PositionalEncoding, ...] | tuple[tuple[PositionalEncoding, ...], ...]


def is_pattern(slot: Slot) -> bool:
    """True when the slot is a tuple of tuples that repeats over the layers."""
    return isinstance(slot, tuple) and any(isinstance(element, tuple) for element in slot)


def _groups(slot: Slot) -> tuple[tuple[PositionalEncoding, ...], ...]:
    """The encodings of each layer of the pattern; ValueError for what is no slot."""
    if not isinstance(slot, tuple):
        raise ValueError(f"a slot is a tuple of encodings, got {slot!r}: {as_slot(slot)}")
    groups: tuple[Any, ...] = slot if is_pattern(slot) else (slot,)
    for group in groups:
        if not isinstance(group, tuple):
            raise ValueError(f"a slot holds either encodings or tuples of encodings, not both: {slot!r}")
        for element in group:
            if not isinstance(element, PositionalEncoding):
                raise ValueError(f"{element!r} is not a positional encoding; see `posenc list` for the known ones")
    return groups


def as_slot(given: Any) -> str:
    """The way out for a value that is no slot."""
    return f"write parse({given!r})" if isinstance(given, str) else f"write ({given!r},)"


def for_layer(slot: Slot, layer: int) -> tuple[PositionalEncoding, ...]:
    """The encodings of one layer, counted from 0."""
    groups = _groups(slot)
    return groups[layer % len(groups)]


def different_layers(slot: Slot) -> tuple[tuple[PositionalEncoding, ...], ...]:
    """The encodings of the layers that have any, each once, in order of appearance."""
    return tuple(dict.fromkeys(filter(None, _groups(slot))))


def elements(slot: Slot) -> tuple[PositionalEncoding, ...]:
    """The different encodings of a slot, in order of appearance."""
    return tuple(dict.fromkeys(element for group in _groups(slot) for element in group))


def position_axes(slot: Slot) -> int | None:
    """The number of axes of the positions that a slot takes; None for plain ones, or for those too.

    The first encoding that is not indifferent says so: those behind it read what it maps them to.

    >>> from posenc_jax.encodings import parse
    >>> [position_axes(parse(spec)) for spec in ("rope", "axial_rope", "grid(width=8)|axial_rope", "nope")]
    [None, 2, None, None]
    """
    for element in elements(slot):
        if element.position_axes != "any":
            return None if element.reads_text else element.position_axes
        if element.needs_attributes and "map_positions" in element.acts_on:  # attributes in place of positions
            return None
    return None


def check_slot(slot: Slot, dims: Dims) -> None:
    """Runs every element's `check` with the ``max_len`` that it will see; ValueError on the first that cannot serve
    the model.
    """
    for group in _groups(slot):
        seen = dims
        for element in group:
            element.check(seen)
            seen = dataclasses.replace(seen, max_len=element.mapped_max_len(seen.max_len))
        for index, element in enumerate(group):
            element.check_beside(group[:index] + group[index + 1 :])
            _check_before(element, group[:index], dims)
        for hook in PositionalEncoding.EXCLUSIVE:
            only(group, hook)


def _check_before(element: PositionalEncoding, before: tuple[PositionalEncoding, ...], dims: Dims) -> None:
    """Refuses what stands before an element of the same layer and would not do what is written."""
    if element in before and jax.eval_shape(lambda: element.init(jax.random.key(0), dims)):
        raise ValueError(
            f"{element!r} stands twice in one layer, and equal encodings are one: both would read the same parameters; "
            "make them differ in a field, such as the size of a table, or keep one of them"
        )
    first = next((other for other in before if "encode_queries" in other.acts_on), None)
    if not element.linear_in_queries and first is not None:
        raise ValueError(
            f"{element!r} is not linear in its queries, and {first!r} before it changes them: write {element.name} "
            "first"
        )


def check_hooks(element: PositionalEncoding) -> None:
    """Refuses an encoding without a hook, which would be no positions under its name: a hook is misspelt, perhaps."""
    if element.acts_on:
        return
    own = [name for name in dir(type(element)) if not name.startswith("_") and not hasattr(PositionalEncoding, name)]
    near = {name: found[0] for name in own if (found := difflib.get_close_matches(name, element.HOOKS, n=1))}
    hint = "".join(f"; did you mean {hook} by {name}?" for name, hook in near.items())
    raise ValueError(
        f"{element!r} has none of the hooks of an encoding, so it would do nothing: write one of "
        f"{', '.join(element.HOOKS)}{hint}"
    )


def only(encodings: tuple[PositionalEncoding, ...], hook: str) -> int | None:
    """The index of the one encoding that has a hook of `PositionalEncoding.EXCLUSIVE`, or None; ValueError for two."""
    found = [i for i, e in enumerate(encodings) if hook in e.acts_on]
    if len(found) > 1:
        raise ValueError(
            f"{encodings[found[0]]} and {encodings[found[1]]} both have `{hook}`, and attention has one: "
            "keep one of them in a slot"
        )
    return found[0] if found else None


def dims_seen(slot: Slot, dims: Dims) -> dict[PositionalEncoding, Dims]:
    """``Dims`` that each element of a slot is initialised for, with the ``max_len`` that earlier elements leave."""
    seen_by: dict[PositionalEncoding, Dims] = {}
    for group in _groups(slot):
        seen = dims
        for element in group:
            # An element that occurs behind different mappings needs a table for the longest.
            if element not in seen_by or seen_by[element].max_len < seen.max_len:
                seen_by[element] = seen
            seen = dataclasses.replace(seen, max_len=element.mapped_max_len(seen.max_len))
    return seen_by


def init_slot(key: Key, slot: Slot, dims: Dims) -> SlotParams:
    """Parameters of a slot: one entry per element of `elements`, for a ``per_layer`` class a tuple with one set per
    layer.
    """
    check_init(key, dims)
    check_slot(slot, dims)
    seen_by = dims_seen(slot, dims)

    def init(index: int, element: PositionalEncoding) -> Params | tuple[Params, ...]:
        element_key = jax.random.fold_in(key, index)
        if not element.per_layer:
            return element.init(element_key, seen_by[element])
        return tuple(
            element.init(jax.random.fold_in(element_key, layer), seen_by[element]) for layer in range(dims.num_layers)
        )

    return tuple(init(index, element) for index, element in enumerate(elements(slot)))


def layer_params(slot: Slot, params: SlotParams, layer: int) -> tuple[Params, ...]:
    """The parameters of one layer's encodings, parallel to `for_layer`."""
    index = {element: i for i, element in enumerate(elements(slot))}
    check_sets(params)
    if len(params) != len(index):
        raise ValueError(
            f"a slot of {len(index)} different encodings has as many parameter sets, got {len(params)}: pass what "
            "init_slot gave for this slot"
        )
    for element, i in index.items():
        if element.per_layer and not (isinstance(params[i], tuple | list) and 0 <= layer < len(params[i])):
            given = f"those of {len(params[i])} layers" if isinstance(params[i], tuple | list) else "those of one layer"
            raise ValueError(
                f"layer = {layer}: {element!r} has parameters for every layer, counted from 0, and here are {given}: "
                "pass what init_slot gave, with num_layers in dims"
            )
    return tuple(params[index[e]][layer] if e.per_layer else params[index[e]] for e in for_layer(slot, layer))


def check_sets(params: Any) -> None:
    """Refuses (ValueError) what is no tuple or list, for something of every element of a slot."""
    if not isinstance(params, abc.Sequence) or isinstance(params, str | bytes):
        raise ValueError(
            f"parameters are of type {type(params).__name__}, and a slot has a tuple of them, one entry for each "
            "encoding: pass what init_slot gave for this slot"
        )


def map_slot(
    encodings: tuple[PositionalEncoding, ...],
    sequence: Sequence,
    *,
    key: Key | None = None,
    train: bool = False,
    layer: int = 0,
) -> tuple[Sequence, ...]:
    """The sequence as each element sees it: every element's `map_positions` folds into the positions of the later ones.

    The key is folded with the element's index, and with the layer only for elements that redraw per layer, so queries
    and keys of one layer, and a full pass and its cached decoding, see the same draw.
    """
    Sequence.check(sequence)
    check_choices(train=train)
    check_size("layer", layer, 0)
    if key is not None:
        check_key("key", key)
    seen = []
    for index, element in enumerate(encodings):
        if (positions := summable(sequence.positions)) is not sequence.positions:
            sequence = dataclasses.replace(sequence, positions=positions)
        check_axes(element, sequence.positions)
        seen.append(sequence)
        if "map_positions" not in element.acts_on:
            continue
        element_key = None
        if element.random and key is not None:  # without one an element refuses when it would draw
            element_key = jax.random.fold_in(key, index)
            if element.redraws_per_layer:
                element_key = jax.random.fold_in(element_key, layer)
        sequence = dataclasses.replace(
            sequence, positions=element.map_positions(sequence, key=element_key, train=train), packed=False
        )
    return tuple(seen)


def check_axes(element: PositionalEncoding, positions: Array) -> None:
    """Refuses positions with other axes than the encoding reads."""
    wanted, axes = element.position_axes, positions.shape[2] if len(positions.shape) == 3 else None
    if wanted not in ("any", axes) and not (element.reads_text and axes is None):

        def words(n: int | str | None) -> str:
            return "plain positions [batch, length]" if n is None else f"positions of {n} axes [batch, length, {n}]"

        raise ValueError(
            f"{element!r} reads {words(wanted)}, but it is given {words(axes)}: pass others, or put an encoding that "
            "maps them (`grid`, for rows and columns) before it"
        )


def check_mapped(slot: Slot, axes: int | None, real: bool) -> None:
    """Refuses (ValueError) elements that are given positions of other axes than they read, or fractions where they read
    whole positions, by what those before them make of positions of so many ``axes`` (None: plain ones), ``real``
    numbers or whole ones. Only shapes and types count: nothing is computed.
    """
    shape, kind = ((1, 1), np.int32) if axes is None else ((1, 1, axes), np.float32 if real else np.int32)
    ids = np.zeros((1, 1), np.int32)
    sequence = Sequence(np.zeros(shape, kind), np.ones((1,), np.int32), tokens=ids, token_types=ids)
    for group in different_layers(slot):
        if axes is None and not any(_moves(element) for element in group):
            continue
        try:
            seen = jax.eval_shape(lambda own, group=group: map_slot(group, own, key=jax.random.key(0)), sequence)
        except OverflowError:  # a draw among more positions than an int32 counts, which no memory holds: refused later
            continue
        for element, own in zip(group, seen, strict=True):
            if element.integer_positions and not np.issubdtype(own.positions.dtype, np.integer):
                raise ValueError(
                    f"{element!r} reads whole positions, but it is given fractions: choose another encoding, or leave "
                    "out what makes them"
                )


def _moves(element: PositionalEncoding) -> bool:
    """True if an element maps positions, or reads positions of several axes."""
    return "map_positions" in element.acts_on or isinstance(element.position_axes, int)


def token_terms(
    encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], x: Array, sequence: Sequence
) -> tuple[Terms, ...]:
    """Every encoding's `token_terms` of a block's input ``x [B, S, M]``, for `attend`; None where it has none.

    Raises:
      ValueError: if ``params`` are not those of these encodings in a model of M dimensions.
    """
    check_sets(params)
    if len(params) != len(encodings):
        raise ValueError(f"{len(encodings)} encodings need as many parameter sets, got {len(params)}")
    check_kind("x", x, "embeddings", "floats", "batch", "sequence", "d_model")
    check_params(encodings, params, {"d_model": x.shape[2]})
    return own_terms(encodings, params, x, sequence)


def own_terms(
    encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], x: Array, sequence: Sequence
) -> tuple[Terms, ...]:
    """`token_terms` of parameters that are checked."""
    return tuple(
        element.token_terms(p, x, sequence) if "token_terms" in element.acts_on else None
        for element, p in zip(encodings, params, strict=True)
    )


def geometries(
    encodings: tuple[PositionalEncoding, ...],
    queries: Sequence,
    keys: Sequence,
    *,
    num_heads: int,
    contiguous: bool = False,
    key: Key | None = None,
    train: bool = False,
    layer: int = 0,
    **call: Any,
) -> Geometry | tuple[Geometry, ...]:
    """One `Geometry` per element, for `attend`: as each element sees the call after the mappings before it. For NoPE
    the one plain `Geometry`. ``call`` are its other fields: causal, window, structure, head_axis.
    """
    call |= {"num_heads": num_heads}
    check_choices(contiguous=contiguous)
    q_seen = map_slot(encodings, queries, key=key, train=train, layer=layer)
    k_seen = q_seen if keys is queries else map_slot(encodings, keys, key=key, train=train, layer=layer)
    if not encodings:
        return Geometry.between(queries, keys, contiguous=contiguous, **call)
    kept = [q.positions is queries.positions and k.positions is keys.positions for q, k in zip(q_seen, k_seen)]
    return tuple(
        Geometry.between(q, k, contiguous=contiguous and own, **call) for q, k, own in zip(q_seen, k_seen, kept)
    )


def embed(
    encodings: Slot, params: SlotParams, x: Array, sequence: Sequence, *, key: Key | None = None, train: bool = False
) -> Array:
    """``[B, S, M]`` input embeddings with every element's `embed` applied, left to right.

    For ``encodings`` that are a whole slot, with the parameters of `init_slot`, those of its first layer act.
    """
    _groups(encodings)
    check_sets(params)
    # Equal elements of a slot have one set of parameters.
    whole = is_pattern(encodings) or len(params) < len(encodings) or any(isinstance(own, tuple) for own in params)
    own = layer_params(encodings, params, 0) if whole else params
    first = for_layer(encodings, 0)
    if len(own) != len(first):
        raise ValueError(f"{len(first)} encodings need as many parameter sets, got {len(own)}")
    sequences = map_slot(first, sequence, key=key, train=train)
    check_embedded(x, sequence.positions)
    for element, element_params, seen in zip(first, own, sequences, strict=True):
        if "embed" in element.acts_on:
            check_params((element,), (element_params,), {"d_model": x.shape[2]})
            x = element.embed(element_params, x, seen)
    return x
