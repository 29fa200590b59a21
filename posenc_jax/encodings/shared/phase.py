"""Sines and cosines of position times frequency, exact where positions are integers.

A float32 product ``position * frequency`` is wrong by 0.06 at position 1e6 and by 2 (everything) at 1e8. Only its value
modulo one turn matters, and integers multiply exactly modulo a power of two: a frequency is held as a 64-bit fraction
of a turn per position, the product wraps, and what is left is the phase. The error is at most 2**-65 turn per position,
4e-10 at the largest int32 position.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, at_least_float32

_BITS = 1280  # float64 goes up to 2**1024: 256 bits are left behind the point


def _inverse_tau() -> int:
    """``2**_BITS / (2 pi)``, with pi from Machin's formula 16 arctan(1/5) - 4 arctan(1/239)."""
    guard = 32

    def inverse_arctan(n: int) -> int:
        power = (1 << (_BITS + guard)) // n
        total, k = power, 1
        while power:
            power //= -n * n
            k += 2
            total += power // k
        return total

    pi = 16 * inverse_arctan(5) - 4 * inverse_arctan(239)
    return (1 << (2 * _BITS + guard)) // (2 * pi)


_INVERSE_TAU = _inverse_tau()


def fixed_point(frequencies: np.ndarray) -> np.ndarray:
    """``[F]`` frequencies (radians per position, float64) as turns per position modulo 1, in 2**-64 turns (uint64).

    Computed from the exact rational value of each float64; frequencies may be negative or above one turn per position.

    Raises:
      ValueError: for a frequency that is not finite.
    """
    frequencies = np.asarray(frequencies, np.float64)
    if not np.isfinite(frequencies).all():
        raise ValueError(f"frequencies {frequencies} must be finite: use 0 for a component that does not turn")

    def turns(frequency: float) -> int:
        numerator, denominator = frequency.as_integer_ratio()
        unit = denominator << (_BITS - 64)
        return (2 * numerator * _INVERSE_TAU + unit) // (2 * unit) % 2**64  # to nearest

    return np.array([turns(f) for f in frequencies.ravel().tolist()], np.uint64).reshape(frequencies.shape)


def sincos(positions: Array, frequencies: Array, dtype: Any = jnp.float32) -> tuple[Array, Array]:
    """``sin(positions * frequencies)`` and the cosine, each of shape ``positions.shape + (F,)``, in ``dtype``.

    NumPy positions and frequencies: computed on the host in float64 and returned as NumPy. Traced integer positions:
    exact modulo one turn in two 32-bit words (64-bit integers where they are enabled), then sine and cosine in at least
    float32: right to 3e-7 in float32 and 1e-9 in float64 at every int32 position, negative ones included. (int64
    positions beyond int32 lose 2**-65 turn per position: 3e-7 is reached at 2**40.) Fractional positions: exact phase
    of the integer part plus fraction times frequency; they must lie within int32 unless 64-bit types are enabled.

    Frequencies that are a ``jax.Array`` (learned ones) have no fixed value to be exact about: the plain product in at
    least float32, differentiable in both.
    """
    if isinstance(frequencies, jax.Array):
        compute = at_least_float32(dtype, frequencies)
        angles = _times(jnp.asarray(positions).astype(compute), frequencies.astype(compute))
        return jnp.sin(angles).astype(dtype), jnp.cos(angles).astype(dtype)

    return sincos_of_turns(positions, turns(np.asarray(frequencies, np.float64)), dtype)


class Turns(NamedTuple):
    """Frequencies with their phase per position as integers, ``[F]`` or broadcastable to ``positions.shape + (F,)``.

    Attributes:
      high, low: turns per position modulo 1, in 2**-64 turns, as two words of 32 bits (uint32).
      frequencies: radians per position, for fractions of a position.
    """

    high: Array
    low: Array
    frequencies: Array


def turns(frequencies: Array) -> Turns:
    """`Turns` of frequencies: of NumPy ones to the last bit, of traced ones (not negative) for their value in their own
    dtype, so that from there on every position is exact.
    """
    if isinstance(frequencies, jax.Array):
        per_position = frequencies / math.tau
        scaled = (per_position - jnp.floor(per_position)) * 2.0**32  # by powers of two: no rounding
        high = jnp.floor(scaled)
        low = jnp.floor((scaled - high) * 2.0**32)
        return Turns(high.astype(jnp.uint32), low.astype(jnp.uint32), frequencies)
    words = fixed_point(frequencies)
    return Turns((words >> 32).astype(np.uint32), words.astype(np.uint32), np.asarray(frequencies, np.float64))


def sincos_of_turns(positions: Array, turns: Turns, dtype: Any = jnp.float32) -> tuple[Array, Array]:
    """`sincos` for frequencies as `Turns`: exact at integer positions also where frequencies are traced or chosen while
    the program runs. Not differentiable in the frequencies.
    """
    if not any(isinstance(array, jax.Array) for array in (positions, *turns)):
        sin, cos = _sincos_64(np, np.asarray(positions), turns, np.float64)
        return sin.astype(dtype), cos.astype(dtype)
    positions, compute = jnp.asarray(positions), at_least_float32(dtype)
    if jnp.issubdtype(positions.dtype, jnp.floating):
        positions = positions.astype(at_least_float32(positions))
    if compute == jnp.float64 or positions.dtype.itemsize == 8:
        sin, cos = _sincos_64(jnp, positions, turns, compute)
    else:
        sin, cos = _sincos_32(positions, turns)
    return sin.astype(dtype), cos.astype(dtype)


def _times(positions: Array, frequencies: Array) -> Array:
    return positions[..., None] * _beside(positions, frequencies)


def _beside(positions: Array, values: Array) -> Array:
    """``values [F]`` with as many axes as ``positions[..., None]``; those with more axes have them already."""
    return values.reshape((1,) * positions.ndim + (-1,)) if values.ndim == 1 else values


def _split(xp: Any, positions: Array, integer: Any) -> tuple[Array, Array | None]:
    """Integer part, as the integer type given, and fraction (None where positions are integers)."""
    if xp.issubdtype(positions.dtype, xp.integer):
        return positions.astype(integer), None
    whole = xp.floor(positions)
    with np.errstate(invalid="ignore"):  # of NaN: an integer part of no meaning, and a fraction that stays NaN
        return whole.astype(integer), positions - whole


def _sincos_64(xp: Any, positions: Array, turns: Turns, compute: Any) -> tuple[Array, Array]:
    """Sines and cosines by 64-bit integers: NumPy on the host, or jax.numpy where they are enabled."""
    words = (turns.high.astype(np.uint64) << 32) | turns.low.astype(np.uint64)
    whole, fraction = _split(xp, positions, np.int64)
    phase = _times(whole.astype(np.uint64), words).view(np.int64)  # half a turn either way
    angles = phase.astype(compute) * (math.tau / 2**64)
    if fraction is not None:
        angles = angles + _times(fraction.astype(compute), turns.frequencies.astype(compute))
    return xp.sin(angles), xp.cos(angles)


def _sincos_32(positions: Array, turns: Turns) -> tuple[Array, Array]:
    """Sines and cosines by 32-bit integers: the high word of the 64-bit product, by halves of 16 bits."""
    high, low = _beside(positions, turns.high), _beside(positions, turns.low)
    low_1, low_0 = low >> 16, low & 0xFFFF

    signed = positions.dtype != jnp.uint32
    whole, fraction = _split(jnp, positions, jnp.int32 if signed else jnp.uint32)
    p = whole.astype(jnp.uint32)[..., None]
    p_1, p_0 = p >> 16, p & 0xFFFF
    cross = p_1 * low_0 + (p_0 * low_0 >> 16)
    carried = p_0 * low_1 + (cross & 0xFFFF)
    phase = p * high + p_1 * low_1 + (cross >> 16) + (carried >> 16)
    if signed:  # as unsigned, a negative position is 2**32 too large
        phase = phase - jnp.where(whole[..., None] < 0, low, 0)

    # float32 resolves half a turn only to 1.2e-7: take whole quarters of a turn off first, as integers.
    quarter = phase + 2**29 >> 30
    angles = (phase - (quarter << 30)).astype(jnp.int32).astype(jnp.float32) * (math.tau / 2**32)
    if fraction is not None:
        angles = angles + _times(fraction, turns.frequencies.astype(np.float32))
    sin, cos = jnp.sin(angles), jnp.cos(angles)
    swap = quarter % 2 == 1
    sin, cos = jnp.where(swap, cos, sin), jnp.where(swap, sin, cos)
    return jnp.where(quarter >= 2, -sin, sin), jnp.where((quarter == 1) | (quarter == 2), -cos, cos)


def vaswani_frequencies(dim: int, base: float = 10000.0) -> np.ndarray:
    """``base ** (-2k / dim)`` for k = 0 .. ceil(dim/2)-1, in radians, float64 (Vaswani et al. 2017, section 3.5).

    >>> vaswani_frequencies(8).tolist()
    [1.0, 0.1, 0.01, 0.001]
    """
    return np.float64(base) ** (-np.arange(0, dim, 2, dtype=np.float64) / max(dim, 1))


def tensor2tensor_frequencies(dim: int, min_timescale: float = 1.0, max_timescale: float = 10000.0) -> np.ndarray:
    """The ``dim // 2`` frequencies of tensor2tensor's ``get_timing_signal_1d``, radians per position, float64::

        1 / (min_timescale * (max_timescale / min_timescale) ** (k / max(dim // 2 - 1, 1)))

    They reach ``1 / max_timescale`` exactly, where Vaswani's stop one step before it. A timescale divides, so the
    highest frequency is ``1 / min_timescale``; tensor2tensor and its descendants compute *inverse* timescales as
    ``min_timescale * exp(-...)``, which is right only for ``min_timescale = 1``. The ``max`` guards dim 2 and 3, which
    have a single frequency; some descendants divide by zero there.

    >>> tensor2tensor_frequencies(4, 1.0, 10000.0).tolist()
    [1.0, 0.0001]
    """
    count = dim // 2
    steps = np.arange(count, dtype=np.float64) / max(count - 1, 1)
    return 1.0 / (min_timescale * (max_timescale / min_timescale) ** steps)
