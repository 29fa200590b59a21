"""Random streams of a call, and dropout whose masks do not depend on how a batch is split."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp

from posenc_jax.encodings.arrays import check_key
from posenc_jax.encodings.base import Array, Key
from posenc_jax.models.threefry import bernoulli, is_served

_STACKS = ("encoder", "decoder", "cross")


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
        """The same dropout, with its masks of arrays of the shape of ``x`` at these sites where `threefry` draws them:
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
