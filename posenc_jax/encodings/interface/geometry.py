"""Arguments of the hooks: the tokens of one side of a model, and one call of attention between two sides."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import (
    check_choices,
    check_options,
    check_pairs,
    check_size,
    check_tokens,
    summable,
)
from posenc_jax.encodings.interface.structure import Array, Coordinates, StructureMask, seen_by_structure

# Fields of a `Sequence` that say something of its tokens; those that have all rows come last.
_TOKENS = (
    *("positions", "places", "segment_ids", "token_types", "outline", "attributes", "pairs"),
    *("length", "sees", "tokens", "example_ids"),
)


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=[*_TOKENS, "context"], meta_fields=["right_padded", "packed"]
)
@dataclasses.dataclass(frozen=True)
class Sequence:
    """One side of a model: what an encoding may know about its tokens.

    Attributes:
      positions: ``[#B, S]`` or ``[#B, S, A]``. A NumPy array when known at trace time: tables are then built on the
        host in float64.
      length: ``[#B]``, the real length (traced): real tokens, or prompt plus tokens to be generated. Never the padded
        size, and the same in a full pass, a prefill and a decoding step. Where a row is packed with several sequences
        ``[#B, S]``, for every token that of its own segment: so a packed sequence is what it is alone. `by_token` reads
        both.
      tokens: ``[B, S]`` token ids, or None.
      segment_ids: ``[#B, S]`` packing; 0 is padding, or None (all one segment).
      token_types: ``[#B, S]`` header / body / footer, or None.
      example_ids: ``[B]`` the row's index in the whole batch, or None for ``0..B-1``: per-example draws fold it in, so
        that splitting a batch changes no draw. A draw belongs to a row: sequences packed into one share it, and each
        takes of it what it would take alone in a row of that number.
      context: the whole sequence, past included, of which these tokens are a part (with a cache), or None: they are the
        whole.
      places: ``[#B, S]``: order of storage, from which causality follows (mapped positions never decide it), and where
        these tokens are in their ``context``; None: ``0 .. S-1``.
      outline: ``[#B, S, 4]`` where each token stands in a document (see `structure.Coordinates`), or None.
      sees: ``[#B, S, C]`` bool, which tokens of its context a token may see under a causal mask, where several
        continuations of one past stand side by side; None: all up to its own place.
      right_padded: the segment ids of every row are known to be 1 for its first tokens and 0 for the rest, so that
        their number says all.
      packed: in every segment the positions, plain ones, are known to grow by one from token to token.
      attributes: ``[#B, S, A]`` numbers of each token, floats or integers of 32 bits, or None: what `Attributes` makes
        positions of (time stamps, columns of a table, eigenvectors), and what methods for numbers read.
      pairs: ``[#B, S, K, P]`` numbers of each of these tokens with every token of the whole sequence (the ``context``,
        where these are a part), such as distances in a graph, or None. Their rows are padded, so segment ids say which
        tokens are real. Attention of a sequence to itself reads them.
    """

    positions: Array
    length: Array
    tokens: Array | None = None
    segment_ids: Array | None = None
    token_types: Array | None = None
    example_ids: Array | None = None
    context: Sequence | None = None
    places: Array | None = None
    outline: Array | None = None
    sees: Array | None = None
    right_padded: bool = False
    packed: bool = False
    attributes: Array | None = None
    pairs: Array | None = None

    @classmethod
    def of_length(cls, length: int, **fields: Any) -> Sequence:
        """An unpadded sequence at positions ``0 .. length-1``."""
        check_size("length", length, 0)
        check_options("Sequence.of_length", fields, _FIELDS - {"positions", "length"})
        return cls(np.arange(length, dtype=np.int32)[None], np.full((1,), length, np.int32), **fields)

    def check(self) -> None:
        """Refuses (ValueError) arrays that are not of the same tokens, or of other numbers than said above.

        Functions that take a sequence call it: when one is made, a transformation may hold anything instead of arrays.
        """
        if not isinstance(self, Sequence):
            raise ValueError(f"a side of a call is a Sequence, got {type(self).__name__}: write Sequence(...)")
        for name in ("positions", "length"):
            if getattr(self, name) is None:
                raise ValueError(f"{name} is None, and every sequence has both: begin with Sequence.of_length(length)")
        check_choices(right_padded=self.right_padded, packed=self.packed)
        check_tokens({name: getattr(self, name) for name in _TOKENS})
        if self.pairs is not None:
            whole = self if self.context is None else self.context
            check_pairs(self.pairs, whole.positions.shape[1], self.segment_ids)
        if self.context is not None:
            Sequence.check(self.context)
            if self.places is None:
                raise ValueError("places is None, and a part of a context has them: say where its tokens are in it")

    def for_each_token(self) -> dict[str, Array]:
        """The arrays with a value for each token, by field."""
        arrays = {name: getattr(self, name) for name in _TOKENS if name != "example_ids"}
        return {name: x for name, x in arrays.items() if x is not None and (name != "length" or x.ndim == 2)}

    def part(self, tokens: slice | Array) -> Sequence:
        """Some of these tokens, which know their places and the whole: a slice, numbers ``[N]``, or one number. Numbers
        beyond the last are an IndexError; in a program, where they are not known, they are the last, as in JAX.
        """
        if not isinstance(tokens, slice):
            tokens = (jnp if isinstance(tokens, jax.core.Tracer) else np).atleast_1d(tokens)
        places = np.arange(self.positions.shape[1], dtype=np.int32)[None] if self.places is None else self.places
        whole = self if self.context is None else self.context
        return dataclasses.replace(_cut(self, tokens), places=_taken(places, tokens), context=whole)

    def from_context(self, function: Callable[[Sequence], Array]) -> Array:
        """``function(whole sequence)``, ``[#B, C, ...]`` with a value per token, at the tokens of this one:
        ``[#B, S, ...]``. For what a token's neighbours decide, such as its index in a run of digits.
        """
        if self.sees is not None:
            raise ValueError(
                "continuations stand side by side in this context, so it is no one sequence: an encoding that reads "
                "neighbours anywhere but in map_positions says by_pairs = False in its class"
            )
        if self.context is None:
            return function(self)
        assert self.places is not None
        values = jnp.asarray(function(self.context))
        places = jnp.asarray(self.places)
        rows = max(values.shape[0], places.shape[0])
        values, places = (jnp.broadcast_to(a, (rows, *a.shape[1:])) for a in (values, places))
        return jax.vmap(lambda v, i: jnp.take(v, i, axis=0, mode="clip"))(values, places)


_FIELDS = {field.name for field in dataclasses.fields(Sequence)}


def _taken(x: Array, tokens: slice | Array) -> Array:
    return (jnp.asarray(x) if isinstance(tokens, jax.Array) else x)[:, tokens]


def _cut(sequence: Sequence, tokens: slice | Array) -> Sequence:
    """Some tokens, their arrays alone."""
    ordered = isinstance(tokens, slice) and tokens.step in (None, 1)
    cut: dict[str, Any] = {name: _taken(x, tokens) for name, x in sequence.for_each_token().items()}
    cut |= {name: getattr(sequence, name) and ordered for name in ("packed", "right_padded")}
    return dataclasses.replace(sequence, **cut)


def _signed(positions: Array) -> Array:
    """Positions whose differences are right: of uint32 as int32, even where these wrap."""
    return positions.astype(np.int32) if positions.dtype == np.uint32 else summable(positions)


def by_token(length: Array) -> Array:
    """``[#B, 1]`` of lengths ``[#B]``, ``[#B, S]`` as they are: either stands beside positions ``[#B, S]``."""
    return length[:, None] if len(length.shape) == 1 else length


def _of_both(field: str) -> tuple[Any, Any]:
    """A field of the queries and of the keys, as attributes of a `Geometry`."""
    return property(lambda self: getattr(self.queries, field)), property(lambda self: getattr(self.keys, field))


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["queries", "keys"],
    meta_fields=["causal", "num_heads", "contiguous", "window", "structure", "head_axis"],
)
@dataclasses.dataclass(frozen=True)
class Geometry:
    """One attention call as one element of a slot sees it; `between` and `of_length` make it. Nothing of size Q x K is
    stored; `relative` and `mask` are computed on demand, for any `block`.

    Attributes:
      queries, keys: both sides as mapped for this element, without tokens, with places, and with the real length of
        what is attended to: for every query that of the sequence on the key side in its segment. ``q_positions``,
        ``k_positions``, ``q_places``, ``k_places``, ``q_length``, ``k_length``, ``q_segments``, ``k_segments`` (0 =
        padding, or None), ``q_types`` and ``k_types`` are their arrays. ``pairs`` ``[#B, Q, K, P]`` are those of the
        queries, where a sequence attends to itself, or None.
      causal: a query sees only places up to its own.
      num_heads: query heads H, of the whole model.
      contiguous: both sides' positions grow by one per place, so that the bias is a Toeplitz matrix.
      window: a query sees only keys less than so many places away (1: itself); None: at any distance.
      structure: what else decides, by token types and outlines, or None.
      head_axis: the axis of a `jax.shard_map` over whose devices heads are split in equal parts, in order, or None.
    """

    queries: Sequence
    keys: Sequence
    causal: bool = False
    num_heads: int = 1
    contiguous: bool = False
    window: int | None = None
    structure: StructureMask | None = None
    head_axis: str | None = None

    q_positions, k_positions = _of_both("positions")
    q_places, k_places = _of_both("places")
    q_length, k_length = _of_both("length")
    q_segments, k_segments = _of_both("segment_ids")
    q_types, k_types = _of_both("token_types")

    @property
    def pairs(self) -> Array | None:
        """``[#B, Q, K, P]``, see `Sequence.pairs`."""
        return self.queries.pairs

    def __post_init__(self) -> None:
        if self.window is not None:
            check_size("window", self.window, because=": 1 is a query's own place, None no window")
        check_size("num_heads", self.num_heads)
        check_choices(causal=self.causal, contiguous=self.contiguous)
        if not isinstance(self.structure, StructureMask | None):
            raise ValueError(f"structure = {self.structure!r} must be a mask such as structure.OwnSection(), or None")
        if not isinstance(self.head_axis, str | None):
            raise ValueError(f"head_axis = {self.head_axis!r} must be the name of an axis of a mesh, or None")

    @classmethod
    def between(cls, queries: Sequence, keys: Sequence, **call: Any) -> Geometry:
        """The geometry of ``queries`` attending to ``keys``; ``call`` are its other fields.

        Raises:
          ValueError: as `Sequence.check`.
        """
        Sequence.check(queries)
        Sequence.check(keys)
        check_options("Geometry.between", call, CALL_OPTIONS)
        size, of = queries.positions.shape[1], keys.positions.shape[1]
        if size < of and queries.places is None and any(call.get(name) for name in ("causal", "window", "structure")):
            raise ValueError(
                f"places is None for {size} queries of {of} keys, and the mask needs them: cut the queries out of the "
                "keys' sequence, as in geometries(encodings, keys.part(slice(first, last + 1)), keys, ...), or give "
                "places="
            )
        packed = queries is keys and queries.packed and queries.places is None

        def side(own: Sequence, length: Array) -> Sequence:
            places = np.arange(own.positions.shape[1], dtype=np.int32)[None] if own.places is None else own.places
            unread: dict[str, Any] = dict.fromkeys(("tokens", "example_ids", "context", "attributes"))
            if own is not queries or not (own is keys or own.context is not None):
                unread["pairs"] = None  # those of another call
            return dataclasses.replace(own, places=places, length=length, packed=packed, **unread)

        of_queries = keys.length if queries is keys else _length_for(queries, keys)
        return cls(side(queries, of_queries), side(keys, keys.length), **call)

    @classmethod
    def of_length(cls, length: int, *, num_heads: int, causal: bool = False) -> Geometry:
        """Self-attention over ``length`` unpadded tokens at positions ``0 .. length-1``."""
        sequence = Sequence.of_length(length)
        return cls.between(sequence, sequence, num_heads=num_heads, causal=causal, contiguous=True)

    def check(self, rows: int) -> None:
        """Refuses (ValueError) arrays that do not fit each other and a batch of ``rows``."""
        for name, side in (("queries.", self.queries), ("keys.", self.keys)):
            if not isinstance(side, Sequence) or side.places is None:
                raise ValueError(
                    f"{name[:-1]} of a Geometry is a Sequence with places: make it by Geometry.between(queries, keys)"
                )
            check_tokens({field: getattr(side, field) for field in _TOKENS}, rows, name)

    @property
    def right_padded(self) -> bool:
        """True if `Sequence.right_padded` is, of each side that has segments."""
        return all(side.segment_ids is None or side.right_padded for side in (self.queries, self.keys))

    @property
    def packed(self) -> bool:
        """True if a sequence attends to itself, with `Sequence.packed` positions: tokens that see each other are as
        many positions apart as places.
        """
        return self.queries.packed and self.keys.packed

    @property
    def head_shards(self) -> int:
        """The number of devices that share the heads.

        Raises:
          ValueError: outside of a `jax.shard_map` over `head_axis`.
        """
        if self.head_axis is None:
            return 1
        try:
            return int(jax.lax.axis_size(self.head_axis))
        except NameError:
            raise ValueError(
                f"head_axis = {self.head_axis!r} is no axis here: call attend in a jax.shard_map over it, or leave "
                "head_axis out where every device has all heads"
            ) from None

    def own_heads(self, x: Array, axis: int = 0) -> Array:
        """The part of ``x``, which has something for each head of the model along ``axis``, that this device's heads
        need; all of it where ``axis`` has size 1, for all heads.
        """
        if self.head_axis is None or x.shape[axis] == 1:
            return x
        size = x.shape[axis] // self.head_shards
        return jax.lax.dynamic_slice_in_dim(jnp.asarray(x), jax.lax.axis_index(self.head_axis) * size, size, axis)

    def all_heads(self, x: Array, axis: int = 1) -> Array:
        """``x``, with something for each head of this device along ``axis``, of all devices."""
        return x if self.head_axis is None else jax.lax.all_gather(x, self.head_axis, axis=axis, tiled=True)

    @property
    def relative(self) -> Array:
        """Key position minus query position, ``[#B, Q, K]`` (or ``[#B, Q, K, A]``): the one sign convention. NumPy if
        both sides are. Signed also where positions are not.
        """
        q, k = _signed(self.q_positions), _signed(self.k_positions)
        return k[:, None, :] - q[:, :, None]

    @property
    def mask(self) -> Array | None:
        """``[#B, 1, Q, K]``, True = may attend; None when everything may. From places, segments and structure, never
        from mapped positions.
        """
        mask = None
        if self.causal:
            sees = self.queries.sees
            mask = self.k_places[:, None, :] <= self.q_places[:, :, None] if sees is None else sees
        if self.window is not None:
            away = self.k_places[:, None, :] - self.q_places[:, :, None]
            near = (away < self.window) & (-away < self.window)
            mask = near if mask is None else mask & near
        if self.k_segments is not None:
            visible = (self.k_segments != 0)[:, None, :]
            if self.q_segments is not None:
                visible = visible & (self.k_segments[:, None, :] == self.q_segments[:, :, None])
            mask = visible if mask is None else mask & visible
        if self.structure is not None:
            sides = (Coordinates(side.token_types, side.outline) for side in (self.queries, self.keys))
            itself = self.k_places[:, None, :] == self.q_places[:, :, None]
            seen = seen_by_structure(self.structure, *sides) | itself
            mask = seen if mask is None else mask & seen
        return None if mask is None else mask[:, None]

    @property
    def only_causal(self) -> bool:
        """True if places alone decide who sees whom: each query all keys up to its own place."""
        free = (self.queries.sees, self.window, self.k_segments, self.structure)
        return self.causal and all(other is None for other in free)

    def by_place(self) -> Geometry:
        """A geometry that has the same `relative` wherever `mask` is True, and, for packed rows, one matrix of it for
        all rows: places become positions there. Other geometries are returned unchanged.
        """
        if not self.packed:
            return self
        return self.at(self.q_places, self.k_places, contiguous=True)

    def at(self, q_positions: Array, k_positions: Array, **changes: Any) -> Geometry:
        """This call at other positions."""
        queries = dataclasses.replace(self.queries, positions=q_positions)
        keys = dataclasses.replace(self.keys, positions=k_positions)
        return dataclasses.replace(self, queries=queries, keys=keys, **changes)

    def block(self, q: slice, k: slice) -> Geometry:
        """This call, restricted to some queries and some keys."""
        contiguous = self.contiguous and {q.step, k.step} <= {None, 1}
        queries = _cut(self.queries, q)
        if queries.sees is not None:
            queries = dataclasses.replace(queries, sees=queries.sees[:, :, k])
        if queries.pairs is not None:
            queries = dataclasses.replace(queries, pairs=queries.pairs[:, :, k])
        return dataclasses.replace(self, queries=queries, keys=_cut(self.keys, k), contiguous=contiguous)


# What `Geometry.between` takes beside both sides.
CALL_OPTIONS = frozenset(field.name for field in dataclasses.fields(Geometry)) - {"queries", "keys"}


def _length_for(queries: Sequence, keys: Sequence) -> Array:
    """``[#B]``, or ``[#B, Q]``: the length that the keys of each query's own segment have. Without segments on both
    sides a query sees all keys, and has the longest of their lengths.
    """
    if len(keys.length.shape) == 1:
        return keys.length
    if queries.segment_ids is None or keys.segment_ids is None:
        return jnp.max(jnp.asarray(keys.length), axis=1)
    own = jnp.asarray(queries.segment_ids)[:, :, None] == jnp.asarray(keys.segment_ids)[:, None, :]
    return jnp.max(jnp.where(own, jnp.asarray(keys.length)[:, None, :], 0), axis=2)
