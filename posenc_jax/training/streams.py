"""Named random streams: every random number is a function of (seed, stream, step)."""

import jax
import numpy as np

from posenc_jax.encodings.interface.base import Array, Key

# The order is part of every result: append, never reorder.
STREAMS = ("model", "posenc", "data", "dropout", "positions", "validation", "evaluation", "evaluation_positions")


def stream(seed: Array | np.integer | int, name: str) -> Key:
    """The key of one stream of one seed. Always threefry: other generators give other numbers under `vmap`."""
    return jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), STREAMS.index(name))


def at_step(seed: Array | int, name: str, step: Array | int) -> Key:
    """The key of a stream at one step (or batch, or draw)."""
    return jax.random.fold_in(stream(seed, name), step)
