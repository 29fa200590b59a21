"""Separable biases, so that fused kernels serve them: numbers of queries and of keys, or further dimensions of both.

A bias that is an inner product of something of the query and something of the key needs no kernel of its own
(FlashBias, NeurIPS 2025): ``q_i . k_j + phi_i . psi_j`` is the product of longer vectors. An encoding says so with
`PositionalEncoding.factors`. Our kernel takes a few factors as they are, in float32 (`columns`), gradients too. Longer
vectors serve any kernel, but in a narrow type their gradients are rounded to it: enough where factors are fixed numbers
(`PositionalEncoding.fixed_factors`), and not for gates, whose gradients are differences of large sums.
"""

from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.attention import Prepared
from posenc_jax.encodings.interface.base import Array

PARTS = 3  # numbers of bfloat16 that together hold one of float32
# More factors than this the kernel takes as dimensions: a product of matrices is then cheaper than sums one by one.
MOST_COLUMNS = 4


def extra_dimensions(num_factors: int, dtype: Any) -> int:
    """The number of dimensions that `with_factors` adds: one per factor in float32, six in a narrower type."""
    return num_factors * len(_pairs(dtype))


def _pairs(dtype: Any) -> list[tuple[int, int]]:
    """The parts of a query's factor and of a key's whose products are as large as float32 can tell."""
    parts = 1 if jnp.finfo(dtype).bits >= 32 else PARTS
    return [(a, b) for a in range(parts) for b in range(parts - a)]


def in_parts(x: Array, dtype: Any) -> list[Array]:
    """``x``, float32, as `PARTS` arrays of a narrower type that add up to it: each is what the ones before it lack.

    Whole numbers below 65,536 need two of bfloat16 and those below 16,777,216 three. The gradient of x is that of the
    first part.
    """
    info = jnp.finfo(dtype)
    if info.bits >= 32:
        return [x]
    parts = []
    for _ in range(PARTS):
        # XLA may take a conversion there and back for none at all, but leaves this operation.
        rounded = jax.lax.reduce_precision(x, exponent_bits=info.nexp, mantissa_bits=info.nmant)
        part = x + jax.lax.stop_gradient(rounded - x)
        parts.append(part.astype(dtype))
        x = x - part
    return parts


def columns(call: Prepared, elements: tuple[int, ...]) -> tuple[tuple[Array, Array], ...]:
    """Arrays ``[B, H, Q]`` and ``[B, H, K]``, in float32, for each factor of the numbered ``elements``: the elements
    add the sum of their products to the scaled logits.
    """
    batch, heads = call.q.shape[:2]

    def of_heads(side: Array) -> list[Array]:
        whole = jnp.broadcast_to(side, (batch, heads, *side.shape[2:])).astype(jnp.float32)
        return list(jnp.moveaxis(whole, 3, 0))

    return tuple(pair for phi, psi in _found(call, elements) for pair in zip(of_heads(phi), of_heads(psi), strict=True))


def _found(call: Prepared, elements: tuple[int, ...]) -> list[tuple[Array, Array]]:
    """Calls `PositionalEncoding.factors` of each element."""
    raw_keys = jnp.repeat(call.k, call.groups, axis=1) if call.groups > 1 else call.k
    return [
        call.encodings[e].factors(call.params[e], call.q, raw_keys, call.geometries[e], call.terms[e]) for e in elements
    ]


def with_factors(call: Prepared, elements: tuple[int, ...]) -> Prepared:
    """The call with longer queries and keys, whose scaled products hold what the numbered ``elements`` would add.

    Keys, and values with them, are repeated for every query head where a factor of the keys differs among heads.
    """
    q, k, v = call.q_encoded, call.k_encoded, call.v
    dtype = jnp.result_type(q, k)
    found = _found(call, elements)
    if call.groups > 1 and any(of_keys.shape[1] > 1 for _, of_keys in found):
        k, v = (jnp.repeat(x, call.groups, axis=1) for x in (k, v))

    def extend(x: Array, factors: list[Array]) -> Array:
        return jnp.concatenate([x, *(jnp.broadcast_to(f, (*x.shape[:3], f.shape[3])) for f in factors)], axis=-1)

    of_queries, of_keys = [], []
    for phi, psi in found:
        parts = in_parts(phi / call.scale, dtype), in_parts(psi, dtype)
        for a, b in _pairs(dtype):
            of_queries.append(parts[0][a])
            of_keys.append(parts[1][b])
    return call._replace(q_encoded=extend(q.astype(dtype), of_queries), k_encoded=extend(k.astype(dtype), of_keys), v=v)
