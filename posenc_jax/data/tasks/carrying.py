"""Arithmetic on digits, for numbers of any length."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array


def carried(columns: Array, base: int) -> Array:
    """``[S]`` digits, units first, of ``sum_i columns_i base^i``; what is carried beyond the last one is lost.

    >>> carried(jnp.array([12, 9, 9, 0]), 10).tolist()
    [2, 0, 0, 1]
    """

    def add(carry: Any, column: Any) -> tuple[Any, Any]:
        total = carry + column
        return total // base, total % base

    return jax.lax.scan(add, jnp.int32(0), columns)[1]


def product_columns(a: Array, b: Array) -> Array:
    """``[S]``: ``columns_k = sum_i a_i b_(k-i)`` for two numbers of S digits, the first S columns.

    >>> product_columns(jnp.array([1, 2, 0]), jnp.array([3, 1, 0])).tolist()
    [3, 7, 2]
    """

    def add(state: Any, digit: Any) -> tuple[Any, None]:
        columns, shifted = state
        return (columns + digit * shifted, jnp.pad(shifted, (1, 0))[:-1]), None

    return jax.lax.scan(add, (jnp.zeros_like(b), b), a)[0][0]


def subtracted(a: Array, b: Array) -> tuple[Array, Array]:
    """``a - b`` for two numbers as bits ``[S]``, units first, modulo ``2^S``, and whether it is negative.

    Borrows are composed, not passed on bit by bit: a bit borrows if it must, or if it passes on one from below.

    >>> difference, negative = subtracted(jnp.array([0, 0, 1]), jnp.array([1, 1, 0]))
    >>> difference.tolist(), bool(negative)
    ([1, 0, 0], False)
    """

    def compose(low: tuple[Array, Array], high: tuple[Array, Array]) -> tuple[Array, Array]:
        return high[0] | (high[1] & low[0]), low[1] & high[1]

    borrows, _ = jax.lax.associative_scan(compose, ((1 - a) & b, 1 - (a ^ b)))
    return a ^ b ^ jnp.pad(borrows, (1, 0))[:-1], borrows[-1] == 1
