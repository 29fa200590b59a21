"""Random streams of a call, and dropout whose masks do not depend on how a batch is split."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array


@functools.partial(jax.tree_util.register_dataclass, data_fields=["dropout", "positions"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Streams:
    """PRNG keys of one call; a model keeps none. ``dropout``: needed in training with dropout. ``positions``: needed by encodings that draw positions."""

    dropout: Array | None = None
    positions: Array | None = None

    def positions_of(self, stack: str) -> Array | None:
        """The key for the positions of one stack, another for each."""
        return None if self.positions is None else jax.random.fold_in(self.positions, ("encoder", "decoder", "cross").index(stack))


@dataclasses.dataclass(frozen=True)
class Dropout:
    """Inverted dropout of one stack: zero with probability ``rate``, else ``x / (1 - rate)``.

    The mask of a row is a function of (key, site, its entry of ``example_ids [B]``, its shape): a batch in microbatches draws what the whole batch draws.
    """

    rate: float
    key: Array | None
    example_ids: Array | None = None

    @classmethod
    def of_call(cls, rate: float, streams: Streams, example_ids: Array | None, train: bool, stack: str) -> Dropout:
        """The dropout of one stack in one call; the identity outside training."""
        if not train or rate == 0.0:
            return cls(0.0, None)
        if streams.dropout is None:
            raise ValueError(f"dropout = {rate} in training draws masks: pass streams=Streams(dropout=key), or set dropout to 0")
        return cls(rate, jax.random.fold_in(streams.dropout, ("encoder", "decoder").index(stack)), example_ids)

    def __call__(self, x: Array, site: int) -> Array:
        """``x [B, ...]`` with dropout; ``site`` numbers the places of a stack."""
        if self.key is None:
            return x
        ids = jnp.arange(x.shape[0]) if self.example_ids is None else self.example_ids
        keys = jax.vmap(functools.partial(jax.random.fold_in, jax.random.fold_in(self.key, site)))(ids)
        keep = jax.vmap(lambda key: jax.random.bernoulli(key, 1.0 - self.rate, x.shape[1:]))(keys)
        return jnp.where(keep, x * (1.0 / (1.0 - self.rate)), 0).astype(x.dtype)
