"""Activations of the feed-forward layer."""

from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.attention.choice import backend
from posenc_jax.encodings.interface.base import at_least_float32


def gelu(x: jax.Array) -> jax.Array:
    """``x Phi(x)``, Phi the normal distribution function, in the dtype of ``x``.

    On a CPU Phi is ``(1 + erf(x / sqrt 2)) / 2``, computed in at least float32: right to 1e-7 of 1, also where Phi is
    smaller than that. Elsewhere it is JAX's by erfc, which keeps all digits there; with its gradient that is slower on
    a CPU. The tanh form would be 5e-4 off.

    Reference: Hendrycks, D., Gimpel, K. (2016), arXiv:1606.08415, section 2.
    """
    return _by_erf(x) if backend() == "cpu" else jax.nn.gelu(x, approximate=False)


@jax.custom_jvp
def _by_erf(x: jax.Array) -> jax.Array:
    wide = x.astype(at_least_float32(x))
    return (wide * _phi(wide)).astype(x.dtype)


@_by_erf.defjvp
def _by_erf_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    """``Phi(x) + x phi(x)``, from the Phi of the value."""
    (x,), (change,) = primals, tangents
    wide = x.astype(at_least_float32(x))
    phi = _phi(wide)
    slope = phi + wide * jnp.exp(-0.5 * wide * wide) * (2 * jnp.pi) ** -0.5
    return (wide * phi).astype(x.dtype), (slope * change).astype(x.dtype)


def _phi(x: jax.Array) -> jax.Array:
    return 0.5 * (1 + jax.lax.erf(x * 0.5**0.5))
