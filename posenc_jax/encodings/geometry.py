"""Arguments of the hooks: the tokens of one side of a model, and one call of attention between two sides."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.arrays import check_size, check_tokens, is_narrow
from posenc_jax.encodings.structure import Array, Coordinates, StructureMask, seen_by_structure


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        *("positions", "length", "tokens", "segment_ids", "token_types", "example_ids", "context", "places"),
        "outline",
    ],
    meta_fields=["right_padded", "packed"],
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
        whole. places: ``[#B, S]``, their places in it.
      outline: ``[#B, S, 4]`` where each token stands in a document (see `structure.Coordinates`), or None.
      right_padded: the segment ids of every row are known to be 1 for its first tokens and 0 for the rest, so that
        their number says all.
      packed: in every segment the positions, plain ones, are known to grow by one from token to token.
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
    right_padded: bool = False
    packed: bool = False

    @classmethod
    def of_length(cls, length: int, **fields: Any) -> Sequence:
        """An unpadded sequence at positions ``0 .. length-1``."""
        check_size("length", length, 0)
        return cls(np.arange(length, dtype=np.int32)[None], np.full((1,), length, np.int32), **fields)

    def check(self) -> None:
        """Refuses (ValueError) arrays that are not of the same tokens, or of other numbers than said above.

        Functions that take a sequence call it: when one is made, a transformation may hold anything instead of arrays.
        """
        if not isinstance(self, Sequence):
            raise ValueError(f"a side of a call is a Sequence, got {type(self).__name__}: write Sequence(...)")
        # Those that have all rows come last.
        names = ("positions", "places", "segment_ids", "token_types", "outline", "length", "tokens", "example_ids")
        check_tokens({name: getattr(self, name) for name in names})
        if self.context is not None:
            self.context.check()

    def from_context(self, function: Callable[[Sequence], Array]) -> Array:
        """``function(whole sequence)``, ``[#B, C, ...]`` with a value per token, at the tokens of this one:
        ``[#B, S, ...]``. For what a token's neighbours decide, such as its index in a run of digits.
        """
        if self.context is None:
            return function(self)
        assert self.places is not None
        values = jnp.asarray(function(self.context))
        places = jnp.asarray(self.places)
        rows = max(values.shape[0], places.shape[0])
        values, places = (jnp.broadcast_to(a, (rows, *a.shape[1:])) for a in (values, places))
        return jax.vmap(lambda v, i: jnp.take(v, i, axis=0, mode="clip"))(values, places)


def _signed(positions: Array) -> Array:
    """Unsigned positions as int32, and narrow ones: differences of less than 2**31 are then right, even where these
    wrap.
    """
    unsigned = jnp.issubdtype(positions.dtype, jnp.unsignedinteger)
    return positions.astype(np.int32) if unsigned or is_narrow(positions) else positions


def by_token(length: Array) -> Array:
    """``[#B, 1]`` of lengths ``[#B]``, ``[#B, S]`` as they are: either stands beside positions ``[#B, S]``."""
    return length[:, None] if len(length.shape) == 1 else length


_GEOMETRY_ARRAYS = [
    "q_positions",
    "k_positions",
    "q_places",
    "k_places",
    "q_segments",
    "k_segments",
    "q_types",
    "k_types",
    "q_length",
    "k_length",
    "q_outline",
    "k_outline",
]


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=_GEOMETRY_ARRAYS,
    meta_fields=["causal", "num_heads", "contiguous", "window", "structure", "right_padded", "packed", "head_axis"],
)
@dataclasses.dataclass(frozen=True)
class Geometry:
    """One attention call as one element of a slot sees it. Nothing of size Q x K is stored; `relative` and `mask` are
    computed on demand, for any `block`.

    Attributes:
      q_positions, k_positions: ``[#B, Q]``, ``[#B, K]`` (or with a last axis ``A``), as mapped for this element.
      q_places, k_places: ``[#B, Q]``, ``[#B, K]``: order of storage, from which causality follows (mapped positions
        never decide it).
      q_segments, k_segments: segment ids (0 = padding) or None. q_types, k_types: token types or None.
      q_length, k_length: real length of what is attended to, for every query and key: ``[#B]``, or where rows are
        packed ``[#B, Q]`` and ``[#B, K]``, that of the sequence on the key side in its segment (see `Sequence`).
      causal: a query sees only places up to its own. num_heads: query heads H, of the whole model.
      contiguous: both sides' positions grow by one per place, so that the bias is a Toeplitz matrix.
      window: a query sees only keys less than so many places away (1: itself); None: at any distance.
      q_outline, k_outline: ``[#B, Q, 4]``, ``[#B, K, 4]``, see `Sequence`, or None. structure: what else
        decides, by token types and outlines, or None. right_padded: as in `Sequence`, of each side that has segments.
      packed: a sequence attends to itself, with positions as in `Sequence`: tokens that see each other are as many
        positions apart as places.
      head_axis: the axis of a `jax.shard_map` over whose devices heads are split in equal parts, in order, or None.
    """

    q_positions: Array
    k_positions: Array
    q_places: Array
    k_places: Array
    q_length: Array
    k_length: Array
    q_segments: Array | None = None
    k_segments: Array | None = None
    q_types: Array | None = None
    k_types: Array | None = None
    causal: bool = False
    num_heads: int = 1
    contiguous: bool = False
    window: int | None = None
    q_outline: Array | None = None
    k_outline: Array | None = None
    structure: StructureMask | None = None
    right_padded: bool = False
    packed: bool = False
    head_axis: str | None = None

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise ValueError(f"window = {self.window} must be at least 1, a query's own place, or None for no window")
        check_size("num_heads", self.num_heads)

    @classmethod
    def between(
        cls,
        queries: Sequence,
        keys: Sequence,
        *,
        num_heads: int,
        causal: bool = False,
        q_places: Array | None = None,
        k_places: Array | None = None,
        contiguous: bool = False,
        window: int | None = None,
        structure: StructureMask | None = None,
        head_axis: str | None = None,
    ) -> Geometry:
        """The geometry of ``queries`` attending to ``keys``; places default to ``0 .. S-1`` on both sides.

        Raises:
          ValueError: as `Sequence.check`.
        """
        Sequence.check(queries)
        Sequence.check(keys)

        def default(places: Array | None, sequence: Sequence) -> Array:
            return np.arange(sequence.positions.shape[1], dtype=np.int32)[None] if places is None else places

        return cls(
            queries.positions,
            keys.positions,
            default(q_places, queries),
            default(k_places, keys),
            keys.length if queries is keys else _length_for(queries, keys),
            keys.length,
            queries.segment_ids,
            keys.segment_ids,
            queries.token_types,
            keys.token_types,
            causal,
            num_heads,
            contiguous,
            window,
            queries.outline,
            keys.outline,
            structure,
            all(side.segment_ids is None or side.right_padded for side in (queries, keys)),
            queries is keys and queries.packed and q_places is None and k_places is None,
            head_axis,
        )

    @classmethod
    def of_length(cls, length: int, *, num_heads: int, causal: bool = False) -> Geometry:
        """Self-attention over ``length`` unpadded tokens at positions ``0 .. length-1``."""
        sequence = Sequence.of_length(length)
        return cls.between(sequence, sequence, num_heads=num_heads, causal=causal, contiguous=True)

    def check(self, rows: int) -> None:
        """Refuses (ValueError) arrays that do not fit each other and a batch of ``rows``."""
        for side in ("q_", "k_"):
            names = ("positions", "places", "segments", "types", "outline", "length")
            check_tokens({name: getattr(self, side + name) for name in names}, rows, side)

    @property
    def head_shards(self) -> int:
        """How many devices share the heads.

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
        """Of ``x``, with something for each head of the model along ``axis``, what this device's heads need; of 1 for
        all heads that one.
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
            mask = self.k_places[:, None, :] <= self.q_places[:, :, None]
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
            sides = Coordinates(self.q_types, self.q_outline), Coordinates(self.k_types, self.k_outline)
            itself = self.k_places[:, None, :] == self.q_places[:, :, None]
            seen = seen_by_structure(self.structure, *sides) | itself
            mask = seen if mask is None else mask & seen
        return None if mask is None else mask[:, None]

    def by_place(self) -> Geometry:
        """A geometry that has the same `relative` wherever `mask` is True, and, for packed rows, one matrix of it for
        all rows: places become positions there. Other geometries are returned unchanged.
        """
        if not self.packed:
            return self
        return dataclasses.replace(self, q_positions=self.q_places, k_positions=self.k_places, contiguous=True)

    def block(self, q: slice, k: slice) -> Geometry:
        """This call, restricted to some queries and some keys."""

        def cut(array: Array | None, part: slice) -> Any:
            return None if array is None else array[:, part]

        return dataclasses.replace(
            self,
            q_positions=cut(self.q_positions, q),
            k_positions=cut(self.k_positions, k),
            q_places=cut(self.q_places, q),
            k_places=cut(self.k_places, k),
            q_segments=cut(self.q_segments, q),
            k_segments=cut(self.k_segments, k),
            q_types=cut(self.q_types, q),
            k_types=cut(self.k_types, k),
            q_outline=cut(self.q_outline, q),
            k_outline=cut(self.k_outline, k),
            q_length=self.q_length if len(self.q_length.shape) == 1 else cut(self.q_length, q),
            k_length=self.k_length if len(self.k_length.shape) == 1 else cut(self.k_length, k),
            contiguous=self.contiguous and {q.step, k.step} <= {None, 1},
            packed=self.packed and {q.step, k.step} <= {None, 1},
        )


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
