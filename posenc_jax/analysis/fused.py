"""A clause of the contract: what an encoding promises to fused attention, which never calls its `bias`."""

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.layer import DIMS, AttentionLayer, compiled, noise, seen_by
from posenc_jax.analysis.outcome import Findings, NotApplicable
from posenc_jax.encodings.interface.base import Array, Geometry, Params, PositionalEncoding, Sequence, Terms

TOKENS = 6
FIRST = 5
"""The position of the first token: none is at 0, where a wrong sign shows nothing."""


def fused(layer: AttentionLayer) -> Findings:
    """`bias_of_distance`: a query at 0 and a key at every distance have the biases of the whole. `factors`: their
    products are what `bias` and `content_bias` add, but for a number of each query.
    """
    x = noise(1, TOKENS, DIMS.d_model)
    order, all_real = np.arange(FIRST, FIRST + TOKENS, dtype=np.int32)[None], np.ones((1, TOKENS), np.int32)
    tokens = layer.sequence(x, order, all_real, np.array([TOKENS], np.int32))

    def seen() -> tuple[Geometry, ...]:
        return seen_by(layer.encodings, tokens, tokens, True, layer.key, contiguous=True)

    # Shapes first: where nothing is promised, positions need not be mapped, operation by operation.
    plain = [g.contiguous and len(g.k_positions.shape) == 2 for g in jax.eval_shape(seen)]  # others are not asked
    in_table = [e.bias_of_distance and own for e, own in zip(layer.encodings, plain)]
    factored = [e.num_factors and (own or e.position_axes == "any") for e, own in zip(layer.encodings, plain)]
    if not any(in_table) and not any(factored):
        raise NotApplicable("no bias of the distance alone and no factors, at plain positions")
    terms = layer.terms(layer.encodings, layer.params, x, tokens)
    q, k = noise(2, 1, DIMS.num_heads, TOKENS, DIMS.head_dim)
    for number, (e, params, geometry, own) in enumerate(zip(layer.encodings, layer.params, seen(), terms)):
        name = type(e).__name__
        if in_table[number]:
            apart = compiled(_distances_apart, static_argnums=0)(e, params, geometry)
            yield float(apart), f"{name}.bias_of_distance: bias is another one for the same distance"
        if factored[number]:
            found = jax.eval_shape(e.factors, params, q, k, geometry, own)
            sizes = tuple(side.shape[3] for side in found)
            if sizes != (e.num_factors,) * 2:
                yield np.inf, f"{name}.factors has {sizes} numbers a token, and num_factors = {e.num_factors}"
                continue
            if e.fixed_factors:
                apart = compiled(_factors_moved, static_argnums=0)(e, params, q, k, geometry, own)
                yield float(apart), f"{name}.fixed_factors: factors change with parameters or tokens"
            apart = compiled(_products_apart, static_argnums=0)(e, params, q, k, geometry, own)
            yield float(apart), f"{name}.factors: their products are not what bias and content_bias add"


def _distances_apart(e: PositionalEncoding, params: Params, geometry: Geometry) -> Array:
    """The largest difference of the biases from those of their distances."""
    whole = e.bias(params, geometry)
    distances = np.arange(1 - TOKENS, TOKENS, dtype=np.int32)[None]
    at, one = np.zeros((1, 1), np.int32), np.ones((1,), np.int32)
    query, keys = Sequence(at, one, places=at), Sequence(distances, one, places=np.zeros_like(distances))
    alone = Geometry.between(query, keys, causal=True, num_heads=DIMS.num_heads)
    table = e.bias(params, alone)
    assert whole is not None
    assert table is not None
    index = np.arange(TOKENS)[None] - np.arange(TOKENS)[:, None] + TOKENS - 1
    return jnp.abs(whole - table[:, :, 0][:, :, index]).max()


def _products_apart(
    e: PositionalEncoding, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms
) -> Array:
    """The largest difference among the keys that a query sees, taken from that at the first one."""
    added = sum(
        (
            term
            for term in (e.bias(params, geometry), e.content_bias(params, q, k, geometry, terms))
            if term is not None
        ),
        jnp.zeros((1, DIMS.num_heads, TOKENS, TOKENS)),
    )
    of_queries, of_keys = e.factors(params, q, k, geometry, terms)
    apart = added - jnp.einsum("bhqf,bhkf->bhqk", *jnp.broadcast_arrays(of_queries, of_keys))
    seen = geometry.mask
    assert seen is not None
    return jnp.where(seen, jnp.abs(apart - apart[..., :1]), 0).max()


def _factors_moved(
    e: PositionalEncoding, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms
) -> Array:
    """The largest change of the factors when parameters and token features change."""
    given = params, q, k, terms
    moved = jax.tree.map(lambda leaf: leaf + 1 if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, given)
    here, there = (e.factors(params, q, k, geometry, terms) for params, q, k, terms in (given, moved))
    return jnp.stack([jnp.abs(a - b).max() for a, b in zip(here, there, strict=True)]).max()
