"""Masks of `jax.random.bernoulli`, to the bit, which XLA draws in one pass over a CPU's memory."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.attention.choice import backend
from posenc_jax.encodings.base import Array, Key

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


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
