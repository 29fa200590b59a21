"""Planes of a vector turned by angles: what RoPE and its relatives share."""

from typing import Literal

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.shared.phase import sincos

Layout = Literal["interleaved", "half"]


def check_planes(encoding: PositionalEncoding, dims: Dims, multiple: int = 2, least: int = 2) -> None:
    """Refuses (ValueError) a head_dim that does not make whole planes."""
    if dims.head_dim % multiple or dims.head_dim < least:
        rule = "even" if multiple == 2 else f"a multiple of {multiple}"
        rule += f" and at least {least}" if least > multiple else ""
        raise ValueError(f"{encoding} turns planes of two dimensions, so head_dim = {dims.head_dim} must be {rule}")


class Rotary(PositionalEncoding):
    """Base class of encodings that turn queries and keys alike."""

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        """``[B, heads, S, D]`` queries or keys, each turned by its own position ``[#B, S]``."""
        raise NotImplementedError

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return self.rotated(params, q, positions, length)

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        return self.rotated(params, k, positions, length)


def rotate(x: Array, positions: Array, frequencies: Array, layout: Layout = "interleaved") -> Array:
    """Turns the first ``2F`` of the last dimension of ``x [..., D]`` in F planes by ``positions * frequencies [F]``.

    ``positions`` broadcasts to ``x.shape[:-1]``. In each plane::

        (a, b) -> (a cos - b sin, a sin + b cos)

    Plane k holds dimensions ``(2k, 2k+1)`` ("interleaved") or ``(k, F+k)`` ("half"); the rest passes through. Computed
    in at least float32, the angles exactly at integer positions (see `sincos`); the result has the dtype of x.
    """
    positions = positions.reshape((1,) * (x.ndim - 1 - positions.ndim) + positions.shape)
    return turn(x, *sincos(positions, frequencies, at_least_float32(x)), layout)


def turn(x: Array, sin: Array, cos: Array, layout: Layout = "interleaved") -> Array:
    """`rotate` by given sines and cosines ``[..., F]``, which broadcast to ``x.shape[:-1] + (F,)`` and need not be
    those of an angle: any factor of both multiplies the plane.
    """
    planes, dtype = sin.shape[-1], at_least_float32(x, sin)
    turned, rest = x[..., : 2 * planes], x[..., 2 * planes :]
    x_f = turned.astype(dtype)
    if layout == "interleaved":
        pairs = x_f.reshape(*x_f.shape[:-1], planes, 2)
        first, second = _turned(pairs[..., 0], pairs[..., 1], sin, cos)
        out = jnp.stack([first, second], axis=-1).reshape(x_f.shape)
    else:
        out = jnp.concatenate(_turned(x_f[..., :planes], x_f[..., planes:], sin, cos), axis=-1)
    out = out.astype(x.dtype)
    return jnp.concatenate([out, rest], axis=-1) if rest.shape[-1] else out


def _turned(a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
    return a * cos - b * sin, a * sin + b * cos
