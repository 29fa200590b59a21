"""Rotation of queries and keys by phases that the tokens of a sequence add up."""

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Geometry, at_least_float32
from posenc_jax.encodings.shared.rotation import Layout, turn
from posenc_jax.encodings.shared.token_order import at_queries


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
