"""The largest error of sin and cos at far positions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.results import Table
from posenc_jax.encodings import sincos, vaswani_frequencies

PI = Fraction(31415926535897932384626433832795028841971693993751, 10**49)


def truth(position: int, frequencies: np.ndarray) -> np.ndarray:
    """``[2, M]``: sines and cosines of ``position * frequencies``, reduced to one turn exactly."""
    turns = [(Fraction(f) * position / (2 * PI)) % 1 for f in frequencies.tolist()]
    return np.array([[math.sin(2 * math.pi * float(t)), math.cos(2 * math.pi * float(t))] for t in turns]).T


def precision(d_model: int = 512, positions: tuple[int, ...] = (10**3, 10**6, 2**31 - 1)) -> Iterator[Table]:
    """Constant positions, traced ones, and a product in float32."""
    frequencies = vaswani_frequencies(d_model, 10000.0)
    rows = {}
    for position in positions:
        exact = truth(position, frequencies)
        constant = sincos(np.array([position], np.int32), frequencies, jnp.float32)
        traced = jax.jit(lambda p: sincos(p, frequencies, jnp.float32))(jnp.array([position], jnp.int32))
        angle = jnp.float32(position) * jnp.asarray(frequencies, jnp.float32)
        plain = (jnp.sin(angle), jnp.cos(angle))
        rows[str(position)] = tuple(
            float(np.abs(np.asarray(values, np.float64).reshape(2, -1) - exact).max())
            for values in (constant, traced, plain)
        )
    yield Table(
        title=f"Largest error of sin and cos, float32 (d_model {d_model}, base 10000; truth from exact phases)",
        first="position",
        columns=dict.fromkeys(("constant positions", "traced positions", "plain float32 product"), "{:.1e}"),
        rows=rows,
    )
