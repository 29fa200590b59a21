"""Sums and short convolutions over the tokens before each token, along every sequence of a row, and their phases.

They go by places and segments, never by array indices, so that padding, packing and chunks change nothing: keys are
brought into the order of their segments and places, in which every sequence is one run, and back.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Geometry, at_least_float32
from posenc_jax.encodings.shared.rotation import Layout, turn


@dataclasses.dataclass(frozen=True)
class TokenOrder:
    """The keys of a call in the order of their segments, and of their places in each.

    Attributes:
      indices: ``[#B, K]``: which key is the first, the second, ...; None when they stand in order, which is known on
        the host for whole sequences without padding.
      inverse: ``[#B, K]``, the index of each key in order, or None.
      segments: ``[#B, K]`` segment ids in order (0 is padding), or None: all one segment.
    """

    indices: Array | None
    inverse: Array | None
    segments: Array | None

    @classmethod
    def of_keys(cls, geometry: Geometry) -> TokenOrder:
        """The order of a call's keys."""
        places, segments = geometry.k_places, geometry.k_segments
        if segments is None:
            if isinstance(places, np.ndarray) and (np.diff(places) > 0).all():
                return cls(None, None, None)
            indices = jnp.argsort(jnp.asarray(places), axis=1)
            return cls(indices, jnp.argsort(indices, axis=1), None)
        places, segments = jnp.broadcast_arrays(jnp.asarray(places), jnp.asarray(segments))
        indices = jnp.lexsort((places, segments), axis=1)
        return cls(indices, jnp.argsort(indices, axis=1), jnp.take_along_axis(segments, indices, axis=1))

    def arrange(self, x: Array, axis: int = 1) -> Array:
        """``x [B, ..., K, ...]``, its ``axis`` over the keys, in order."""
        return x if self.indices is None else take(x, self.indices, axis)

    def restore(self, x: Array, axis: int = 1) -> Array:
        """``x [B, ..., K, ...]`` with its ``axis`` from order back to the keys as they stand."""
        return x if self.inverse is None else take(x, self.inverse, axis)

    def real(self, x: Array) -> Array:
        """``x [B, K, ...]``, in order, with zeros for padding."""
        return x if self.segments is None else jnp.where(_like(self.segments != 0, x), x, 0)

    def sums(self, x: Array) -> Array:
        """Sums of ``x [B, K, ...]``, in order, over the tokens of a segment up to and including each.

        They run on from segment to segment of a row: only differences within a segment have a meaning. Padding adds 0.
        """
        return jnp.cumsum(self.real(x), axis=1)

    def sums_onwards(self, x: Array, *, itself: bool) -> Array:
        """Sums of a value per pair ``x [B, H, Q, K]`` over the keys after each key, including it if ``itself``. ``x``
        is 0 where a query may not attend, so the sums stay within its own segment.
        """
        x = self.arrange(x, axis=3)
        sums = jax.lax.cumsum(jnp.asarray(x), axis=3, reverse=True)
        if not itself:
            sums = jnp.concatenate([sums[..., 1:], jnp.zeros_like(sums[..., :1])], axis=3)
        return self.restore(sums, axis=3)

    def convolve(self, x: Array, kernel: Array) -> Array:
        """``y_t = sum_s kernel[s] x_(t - s)`` over the tokens s = 0, 1, ... back in the same segment, each channel by
        itself, of ``x [B, K, ...]``, in order, and ``kernel [size, ...]``.

        Before the first token there are zeros, and padding counts for nothing. (In the order of torch's kernels s = 0
        is last.)
        """
        x = self.real(x)
        total = x * kernel[0][None, None]
        for s in range(1, min(len(kernel), x.shape[1])):
            exists = jnp.arange(x.shape[1])[None] >= s
            if self.segments is not None:
                exists = exists & (self.segments == jnp.roll(self.segments, s, axis=1))
            total = total + jnp.where(_like(exists, x), jnp.roll(x, s, axis=1), 0) * kernel[s][None, None]
        return total

    def of_queries(self, geometry: Geometry) -> Array:
        """``[#B, Q]``: indices of the queries' own tokens among the keys in order."""
        own = own_key(geometry)
        own = jnp.arange(geometry.q_places.shape[1])[None] if own is None else jnp.asarray(own)
        if self.inverse is None:
            return own
        rows = max(len(self.inverse), len(own))
        inverse, own = (jnp.broadcast_to(a, (rows, a.shape[1])) for a in (self.inverse, own))
        return jnp.take_along_axis(inverse, own, axis=1, mode="clip")


def _like(mask: Array, x: Array) -> Array:
    """``mask [#B, K]`` with as many axes as ``x [B, K, ...]``."""
    return mask.reshape(*mask.shape, *(1,) * (x.ndim - 2))


def take(x: Array, indices: Array, axis: int = 1) -> Array:
    """``x [B, ..., K, ...]`` at ``indices [#B, N]`` along ``axis``, each row at its own: ``[B, ..., N, ...]``."""
    if indices.shape[0] == 1:
        return jnp.take(x, indices[0], axis=axis, mode="clip")
    return jax.vmap(lambda row, i: jnp.take(row, i, axis=axis - 1, mode="clip"))(x, jnp.asarray(indices))


def own_key(geometry: Geometry) -> Array | None:
    """``[#B, Q]``: which key is the query's own token, or None when query i is key i for all, known on the host.

    Self-attention only, where every query is among the keys.
    """
    q_places, k_places = geometry.q_places, geometry.k_places
    if isinstance(q_places, np.ndarray) and isinstance(k_places, np.ndarray):
        if q_places.shape[1] == k_places.shape[1] and (q_places == k_places).all():
            return None
        return np.argmax(k_places[:, None, :] == q_places[:, :, None], axis=2)
    return jnp.argmax(jnp.asarray(k_places)[:, None, :] == jnp.asarray(q_places)[:, :, None], axis=2)


def at_queries(x: Array, geometry: Geometry) -> Array:
    """``[B, Q, ...]``: the values ``x [B, K, ...]`` of the keys that are the queries' own tokens."""
    own = own_key(geometry)
    return x if own is None else take(x, own)


def phase_scores(q: Array, k: Array, phases: Array, geometry: Geometry, layout: Layout) -> Array:
    """``[B, H, Q, K]``: the product of query and key, each turned by its own token's phases, over sqrt(D).

    ``q``, ``k`` ``[B, H, S, D]``; ``phases [B, K, H, D/2]`` of the keys, among which are the queries' own tokens. Only
    differences of phases count. In at least float32: the sine of a phase of n radians is off by about n 2^-24, so that
    sums of 10^5 tokens are good to 0.01.
    """
    dtype = at_least_float32(q, k)
    of_keys, of_queries = (jnp.swapaxes(p.astype(dtype), 1, 2) for p in (phases, at_queries(phases, geometry)))
    q = turn(q.astype(dtype), jnp.sin(of_queries), jnp.cos(of_queries), layout)
    k = turn(k.astype(dtype), jnp.sin(of_keys), jnp.cos(of_keys), layout)
    return jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
