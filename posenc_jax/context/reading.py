"""A language model that reads a text chunk by chunk into a cache, and goes on from it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.config import Run
from posenc_jax.encodings.interface.base import Array, Params
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.models import Streams
from posenc_jax.models.cache import Cache
from posenc_jax.runs.evaluation import changed_config, fitted
from posenc_jax.runs.inference import Loaded
from posenc_jax.training.precision import at_precision
from posenc_jax.training.step import model_of
from posenc_jax.training.streams import stream

CHUNK = 512
"""Tokens that are read at once; a layer holds logits for that many queries."""


def chunk_of(length: int) -> int:
    """The tokens that are read at once, for texts of a length."""
    return min(CHUNK, length)


def capacity_of(length: int) -> int:
    """The capacity of the cache for texts of a length, in whole chunks."""
    return -(-length // chunk_of(length)) * chunk_of(length)


@dataclasses.dataclass(frozen=True, eq=False)
class Reader:
    """A run with a slot in place of its own, for texts of up to ``length`` tokens; one row at a time."""

    run: Run
    params: Params
    length: int

    @classmethod
    def of(cls, loaded: Loaded, slot: Slot, length: int) -> Reader:
        """The reader of a loaded run; ValueError or RefusedError for a slot that the run cannot serve."""
        run = changed_config(loaded.config, (length,), slot)
        own = jax.tree.map(lambda leaf: leaf[None], loaded.params["posenc"])
        posenc = jax.tree.map(lambda leaf: leaf[0], fitted(loaded.config, run, own))
        return cls(run, {**loaded.params, "posenc": posenc}, length)

    @property
    def chunk(self) -> int:
        """The tokens that are read at once."""
        return chunk_of(self.length)

    @property
    def capacity(self) -> int:
        """The capacity of the cache."""
        return capacity_of(self.length)

    def losses(self, tokens: np.ndarray) -> np.ndarray:
        """``[S - 1]`` negative log-probabilities of each token but the first, in nats, given those before it."""
        return self._read(tokens, len(tokens))[0]

    def continued(self, tokens: np.ndarray, most: int, enough: Any) -> list[int]:
        """The most probable next tokens, one by one, up to ``most``, or until ``enough(tokens)``."""
        length = len(tokens) + most
        _, token, cache = self._read(tokens, length)
        found = [token]
        while len(found) < most and not enough(found):
            given = np.array([[found[-1]]], np.int32)
            _, token, cache = self._step(given, given[0], 1, cache, length)
            found.append(int(token))
        return found

    def _read(self, tokens: np.ndarray, length: int) -> tuple[np.ndarray, int, Cache]:
        """`losses`, the most probable token after the last, and the cache of all."""
        size, losses, token = self.chunk, [], 0
        cache = _empty(self.run, self.params, self.capacity)
        for start in range(0, len(tokens), size):
            count = min(size, len(tokens) - start)
            chunk, targets = (np.zeros(size, np.int32) for _ in range(2))
            chunk[:count] = tokens[start : start + count]
            following = tokens[start + 1 : start + 1 + count]
            targets[: len(following)] = following
            of_chunk, token, cache = self._step(chunk[None], targets, count, cache, length)
            losses.append(np.asarray(of_chunk)[: len(following)])
        return np.concatenate(losses), int(token), cache

    def _step(self, tokens: np.ndarray, targets: np.ndarray, count: int, cache: Cache, length: int) -> Any:
        return _extend(self.run, self.params, tokens, targets, np.int32(count), cache, np.array([length], np.int32))


@functools.partial(jax.jit, static_argnames=("run", "capacity"))
def _empty(run: Run, params: Params, capacity: int) -> Cache:
    return model_of(run, params).new_cache(1, capacity).unpadded()


@functools.partial(jax.jit, static_argnames="run", donate_argnames="cache")
@at_precision
def _extend(
    run: Run, params: Params, tokens: Array, targets: Array, count: Array, cache: Cache, length: Array
) -> tuple[Array, Array, Cache]:
    """Losses of the targets of a chunk, the token that is most probable after its ``count`` real ones, and the cache.

    The next chunk overwrites the entries behind the real ones, which no earlier token sees.
    """
    streams = Streams(positions=stream(np.int32(0), "evaluation_positions"))
    before = cache.filled
    logits, cache = model_of(run, params).extend(tokens, cache, streams=streams, length=length)
    losses = -jnp.take_along_axis(jax.nn.log_softmax(logits[0]), targets[:, None], axis=1)[:, 0]
    return losses, jnp.argmax(logits[0, count - 1]), dataclasses.replace(cache, filled=before + count)
