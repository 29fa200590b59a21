"""Random streams of a call, and dropout whose masks, those of `jax.random.bernoulli` to the bit, do not depend on how a
batch is split.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.attention.choice import backend
from posenc_jax.encodings.interface.arrays import check_key
from posenc_jax.encodings.interface.base import Array, Key

_STACKS = ("encoder", "decoder", "cross")
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def stack_key(key: Key, stack: str) -> Key:
    """The key of one stack ("encoder", "decoder" or "cross")."""
    check_key("key", key)
    return jax.random.fold_in(key, _STACKS.index(stack))


@functools.partial(jax.tree_util.register_dataclass, data_fields=["dropout", "positions"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Streams:
    """PRNG keys of one call; a model keeps none.

    Attributes:
      dropout: needed in training with dropout.
      positions: needed by encodings that draw positions.
    """

    dropout: Key | None = None
    positions: Key | None = None

    def positions_of(self, stack: str) -> Key | None:
        """The key for the positions of one stack."""
        return None if self.positions is None else stack_key(self.positions, stack)


@dataclasses.dataclass(frozen=True)
class Dropout:
    """Inverted dropout of one stack: zero with probability ``rate``, else ``x / (1 - rate)``; the identity without key.

    The mask of a row depends on the key, the site, the row's entry of ``example_ids [B]`` and the shape of the row: a
    batch in microbatches draws what the whole batch draws.
    """

    rate: float
    key: Key | None
    example_ids: Array | None = None
    masks: Mapping[int, Array] = dataclasses.field(default_factory=dict)

    @classmethod
    def of_call(cls, rate: float, streams: Streams, example_ids: Array | None, train: bool, stack: str) -> Dropout:
        """The dropout of one stack in one call."""
        if not train or rate == 0.0:
            return cls(0.0, None)
        if streams.dropout is None:
            raise ValueError(
                f"dropout = {rate} in training draws masks: pass streams=Streams(dropout=key), or set dropout to 0"
            )
        return cls(rate, stack_key(streams.dropout, stack), example_ids)

    def drawn(self, x: jax.Array, sites: Sequence[int]) -> Dropout:
        """The same dropout, with its masks of arrays of the shape of ``x`` at these sites where `is_served` says so:
        in a loop, since XLA would draw each once more wherever a backward pass reads it.
        """
        if self.key is None or not is_served(self.key, x.shape[1:]):
            return self
        masks = jax.lax.map(functools.partial(self._mask, self.key, x.shape), jnp.asarray(sites, jnp.uint32))
        return dataclasses.replace(self, masks=dict(zip(sites, masks, strict=True)))

    def _mask(self, key: Key, shape: tuple[int, ...], site: int | Array) -> jax.Array:
        """True where an array of this shape is kept."""
        ids = jnp.arange(shape[0]) if self.example_ids is None else self.example_ids
        keys = jax.vmap(functools.partial(jax.random.fold_in, jax.random.fold_in(key, site)))(ids)
        return jax.vmap(lambda key: bernoulli(key, 1.0 - self.rate, shape[1:]))(keys)

    def __call__(self, x: jax.Array, site: int) -> jax.Array:
        """``x [B, ...]`` with dropout; ``site`` numbers the dropouts of the stack."""
        if self.key is None:
            return x
        keep = self.masks[site] if site in self.masks else self._mask(self.key, x.shape, site)
        return jnp.where(keep, x / (1.0 - self.rate), 0).astype(x.dtype)


def bernoulli(key: Key, p: float, shape: tuple[int, ...]) -> jax.Array:
    """``jax.random.bernoulli(key, p, shape)``: True with probability ``p``.

    JAX's own program for threefry on a CPU is a loop over its rounds, with a pass over all numbers in each operation.
    Here the rounds stand one after the other, so all operations on a number are one pass. Where keys, settings or
    devices are others, JAX's own is called.
    """
    if not is_served(key, shape):
        return jax.random.bernoulli(key, p, shape)
    # JAX compares the upper 23 bits, a float below 1, with p.
    threshold = math.ceil(float(np.float32(p)) * 2**23)
    mask: jax.Array = _bits(jax.random.key_data(key), shape) >> np.uint32(9) < np.uint32(threshold)
    return mask


def is_served(key: Key, shape: tuple[int, ...]) -> bool:
    """True if a mask is drawn here: where JAX draws 32 bits for each entry by its number alone, and slowly."""
    settings: Any = jax.config
    drawn = str(jax.random.key_impl(key)) == "threefry2x32" and settings.jax_threefry_partitionable
    return backend() == "cpu" and drawn and not settings.jax_enable_x64 and 0 < math.prod(shape) < 2**32


def _bits(key: Array, shape: tuple[int, ...]) -> jax.Array:
    """Threefry-2x32 of 20 rounds (Salmon et al. 2011, Parallel Random Numbers: As Easy as 1, 2, 3, section 3.3) of the
    counts ``(0, 0), (0, 1), ...``; both words of a result in one, by exclusive or, as JAX has it.
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    counts = [jax.lax.broadcasted_iota(jnp.uint32, shape, axis) * np.uint32(n) for axis, n in enumerate(strides)]
    keys = key[0], key[1], key[0] ^ key[1] ^ np.uint32(_PARITY)
    x, y = keys[0], sum(counts, start=keys[1])
    for four in range(5):
        for by in _ROTATIONS[four % 2]:
            x = x + y
            y = x ^ (y << np.uint32(by) | y >> np.uint32(32 - by))
        x, y = x + keys[(four + 1) % 3], y + keys[(four + 2) % 3] + np.uint32(four + 1)
    return x ^ y
