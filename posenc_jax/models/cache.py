"""The key-value cache of a decoder: what was projected and where it stood, never what an encoding made of it.

Keys are encoded when they are used, so no encoding needs another form for decoding, even if it depends on the length.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import check_ids, check_sizes
from posenc_jax.encodings.interface.base import Array, Params, Sequence
from posenc_jax.models.attention import KeysValues

_ARRAYS = ["layers", "tokens", "positions", "segment_ids", "token_types", "filled", "sees"]


@functools.partial(jax.tree_util.register_dataclass, data_fields=_ARRAYS, meta_fields=["shared"])
@dataclasses.dataclass(frozen=True)
class Cache:
    """The past of a decoder. Place j of ``C`` holds token number j, in every row.

    Attributes:
      layers: for each layer keys and values ``[B, Hkv, C, D]`` as projected, and terms ``[B, C, ...]``.
      tokens: ``[B, C]``.
      positions: ``[B, C]`` or ``[B, C, A]``, not mapped; None: place j stands at position j, in an `unpadded` cache.
      segment_ids: ``[#B, C]``, 0 where empty or padding: nobody attends there.
      token_types: ``[B, C]`` or None.
      filled: ``[]``, the number of places in use. Tokens beyond ``C`` give NaN.
      sees: ``[B, N, C]`` bool where each row holds N continuations of one past, see `branched`: the places that each
        sees; or None.
      shared: the number of places of that past.
    """

    layers: tuple[KeysValues, ...]
    tokens: Array
    positions: Array | None
    segment_ids: Array
    token_types: Array | None
    filled: Array
    sees: Array | None = None
    shared: int = 0

    @classmethod
    def empty(
        cls,
        batch_size: int,
        capacity: int,
        *,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: Any = jnp.float32,
        terms: tuple[tuple[Params, ...], ...] = (),
        token_types: bool = False,
        position_axes: int | None = None,
        position_dtype: Any = jnp.int32,
    ) -> Cache:
        """A cache without tokens; ``terms``: zeros for each layer's `token_terms`, where encodings have some."""
        check_sizes(batch_size=batch_size, capacity=capacity, num_kv_heads=num_kv_heads, head_dim=head_dim)
        if not jnp.issubdtype(dtype, jnp.floating):
            raise ValueError(f"dtype = {jnp.dtype(dtype)} rounds keys and values: a cache holds floats")
        zeros = jnp.zeros((batch_size, num_kv_heads, capacity, head_dim), dtype)
        layers = tuple(KeysValues(zeros, zeros, terms[layer] if terms else ()) for layer in range(num_layers))
        integers = jnp.zeros((batch_size, capacity), jnp.int32)
        axes = () if position_axes is None else (position_axes,)
        positions = jnp.zeros((batch_size, capacity, *axes), position_dtype)
        return cls(layers, integers, positions, integers, integers if token_types else None, jnp.int32(0))

    @property
    def capacity(self) -> int:
        """The number of places C."""
        return self.tokens.shape[1]

    @property
    def places(self) -> np.ndarray:
        """``[1, C]``: the order of storage, from which causality follows; that of continuations side by side is that of
        each.
        """
        slots = np.arange(self.capacity, dtype=np.int32)[None]
        if self.sees is None:
            return slots
        return np.where(slots < self.shared, slots, self.shared + (slots - self.shared) // self.sees.shape[1])

    def next_places(self, size: int) -> Array:
        """``[1, size]``: the places of the next tokens."""
        if self.sees is None:
            return self.filled + np.arange(size, dtype=np.int32)[None]
        return jnp.full((1, size), self.shared + (self.filled - self.shared) // size)

    def remember(self, layer: int, keys_values: KeysValues) -> KeysValues:
        """All keys, values and terms of a layer, those of new tokens in the next places."""
        old = self.layers[layer]
        return KeysValues(
            self._write(old.keys, keys_values.keys, axis=2),
            self._write(old.values, keys_values.values, axis=2),
            jax.tree.map(functools.partial(self._write, axis=1), old.terms, keys_values.terms),
        )

    def with_tokens(self, chunk: Sequence) -> Cache:
        """This cache with a chunk's tokens in its next places; keys and values follow by `with_keys_values`."""
        assert chunk.tokens is not None
        if chunk.token_types is not None and self.token_types is None:
            raise ValueError("this cache holds no token_types: make it with new_cache(..., token_types=True)")
        if self.positions is not None and not jnp.can_cast(chunk.positions.dtype, self.positions.dtype, "same_kind"):
            raise ValueError(
                f"{chunk.positions.dtype} positions lose their fractions in a cache of {self.positions.dtype}: "
                f"make it with new_cache(..., position_dtype={chunk.positions.dtype})"
            )
        size = chunk.tokens.shape[1]

        def write(old: Array, new: Array) -> Array:
            return self._write(old, jnp.broadcast_to(new, (old.shape[0], size, *old.shape[2:])), axis=1)

        segment_ids = np.ones((1, size), np.int32) if chunk.segment_ids is None else chunk.segment_ids
        types = np.zeros((1, size), np.int32) if chunk.token_types is None else chunk.token_types
        return dataclasses.replace(
            self,
            tokens=write(self.tokens, chunk.tokens),
            positions=None if self.positions is None else write(self.positions, chunk.positions),
            segment_ids=write(self.segment_ids, segment_ids),
            token_types=None if self.token_types is None else write(self.token_types, types),
        )

    def with_keys_values(self, keys_values: tuple[KeysValues, ...], size: int) -> Cache:
        """This cache with all layers' keys and values, as given by `remember` for a chunk of ``size`` tokens."""
        return dataclasses.replace(self, layers=keys_values, filled=self.filled + size)

    def unpadded(self) -> Cache:
        """An empty cache for rows that all begin in the first place and have no padding and no positions of their own.

        Then keys stand where their places say, which is known at trace time: tables of angles are made on the host. On
        CPU a decoding step with RoPE takes half the time.
        """
        return dataclasses.replace(self, positions=None, segment_ids=self.segment_ids[:1])

    def branched(self, size: int, shared: int) -> Cache:
        """This cache, with ``shared`` places in use, for ``size`` continuations of each row side by side: every chunk
        of tokens ``[B, size]`` has the next token of each. The shared past is never copied; `go_on` only changes which
        places a continuation sees. For encodings that are `PositionalEncoding.by_pairs`.
        """
        sees = jnp.broadcast_to(np.arange(self.capacity) < shared, (len(self.tokens), size, self.capacity))
        return dataclasses.replace(self, sees=sees | self._next_of_each(size), shared=shared)

    def go_on(self, parents: Array) -> Cache:
        """A `branched` cache whose continuation n goes on from continuation ``parents[:, n]``, ``[B, N]``."""
        assert self.sees is not None
        sees = jnp.take_along_axis(self.sees, parents[:, :, None], axis=1, mode="clip")
        return dataclasses.replace(self, sees=sees | self._next_of_each(parents.shape[1]))

    def _next_of_each(self, size: int) -> Array:
        """``[1, size, C]``: the next ``size`` places, one for each continuation."""
        return (self.filled + np.arange(size)[:, None] == np.arange(self.capacity)[None])[None]

    def take_rows(self, rows: Array) -> Cache:
        """A cache of the rows ``rows [R]`` of this one, again and in any order: as hypotheses of a search go on."""
        # The indices are never out of bounds; "clip" keeps XLA from looking for negative ones.
        take = functools.partial(jnp.take, indices=rows, axis=0, mode="clip")
        arrays = {name: jax.tree.map(take, getattr(self, name)) for name in _ARRAYS if name != "filled"}
        if self.segment_ids.shape[0] == 1:
            arrays["segment_ids"] = self.segment_ids
        return dataclasses.replace(self, **arrays)

    def _write(self, old: Array, new: Array, axis: int) -> Array:
        """An array with new places; ValueError where ``new`` is of another batch or model, or longer than the cache."""
        sizes = [size for number, size in enumerate(old.shape) if number != axis]
        if [size for number, size in enumerate(new.shape) if number != axis] != sizes or new.shape[
            axis
        ] > self.capacity:
            raise ValueError(
                f"a cache of {self.capacity} places has arrays of shape {list(old.shape)}, and what it is to remember "
                f"has {list(new.shape)}: make it with new_cache of this model, for this batch and all of its tokens"
            )
        return jax.lax.dynamic_update_slice_in_dim(old, new.astype(old.dtype), self.filled, axis)


def next_tokens(
    cache: Cache,
    tokens: Array,
    *,
    num_layers: int,
    positions: Array | None = None,
    segment_ids: Array | None = None,
    token_types: Array | None = None,
    length: Array | None = None,
    example_ids: Array | None = None,
) -> tuple[Sequence, Sequence, Cache]:
    """Arguments for decoding ``tokens [B, S]`` next: queries, keys, and the cache with the tokens.

    Positions default to the number of tokens already there, the length to the capacity. Where the cache has no room for
    all tokens, which only the running program knows, they are -1, an id that no vocabulary has.

    Raises:
      ValueError: layers or a batch that are not the cache's; a length for each token that is not one for each place of
        it; an unpadded cache and positions or segment ids of tokens; and as `Sequence.check`.
    """
    check_ids("tokens", tokens)
    if len(cache.layers) != num_layers:
        raise ValueError(
            f"a cache of {len(cache.layers)} layers, and the model has {num_layers}: make it with new_cache"
        )
    if tokens.shape[0] != len(cache.tokens):
        raise ValueError(
            f"tokens has {tokens.shape[0]} rows and the cache {len(cache.tokens)}: pass those of the same rows"
        )
    if cache.positions is None and (positions is not None or segment_ids is not None):
        raise ValueError(
            "an unpadded cache places tokens itself: pass neither positions nor segment_ids, or leave the cache as "
            "new_cache makes it"
        )
    places = cache.next_places(tokens.shape[1])
    positions = places if positions is None else positions
    length = np.full((1,), cache.capacity, np.int32) if length is None else length
    of_queries = length
    if len(length.shape) == 2:
        if length.shape[1] != cache.capacity:
            raise ValueError(
                f"length has {length.shape[1]} values a row, and the cache {cache.capacity} places: give one for each "
                "place, those of the past and of the tokens to come too, or one a row"
            )
        of_queries = jax.lax.dynamic_slice_in_dim(length, cache.filled, tokens.shape[1], axis=1)
    wide = tokens.astype(jnp.promote_types(tokens.dtype, np.int32))
    tokens = jnp.where(cache.filled + tokens.shape[1] <= cache.capacity, wide, -1)
    queries = Sequence(positions, of_queries, tokens, segment_ids, token_types, example_ids)
    queries.check()
    cache = cache.with_tokens(queries)
    k_positions = cache.places if cache.positions is None else cache.positions
    of_keys = cache.tokens, cache.segment_ids, cache.token_types, example_ids
    keys = Sequence(k_positions, length, *of_keys, places=cache.places)
    queries = dataclasses.replace(queries, context=keys, places=places, sees=cache.sees)
    return queries, keys, cache
