"""Attention some queries at a time: every hook of every encoding, on any backend, in O(T) memory.

A block of queries against all keys is what a cache gives attention anyway (chunks of a prompt, single tokens), and
the clause ``cached_decoding`` of the contract holds every encoding to it. So a block is the reference itself, and what
no block of keys could serve comes out right as well: other normalisations than the softmax, sums along the keys (CoPE,
PaTH, stick-breaking, the Forgetting Transformer), convolutions over neighbouring keys (DAPE V2).

All others are in blocks of keys too: of the softmax a maximum, a sum and an output are kept so far (Milakov and
Gimelshein 2018, arXiv:1805.02867; Rabe and Staats 2021, arXiv:2112.05682), and blocks of keys that no query of a block
sees, nearly half of all in a causal call, are not computed. The clause ``blocks`` of the contract holds their encodings
to it.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import check_size
from posenc_jax.encodings.interface.attention import FUSABLE, Prepared, dense, for_each_head, logits_of, masked, outputs
from posenc_jax.encodings.interface.base import Array, Geometry, PositionalEncoding, at_least_float32

# Of each head: so many logits are held at once, of at least and at most so many queries.
LOGITS, FEWEST, MOST = 2**20, 8, 512
# Blocks of queries of a causal call whose keys are cut: against two, four leave out a quarter more of what two do.
PARTS = 4
# Keys at once, where they come in blocks.
CPU_KEYS, KEYS = 256, 1024

Side = Literal["queries", "keys"]
_ARRAYS: dict[Side, tuple[str, ...]] = {"queries": ("q", "q_encoded"), "keys": ("k", "k_encoded", "v")}


def block_size(queries: int, keys: int) -> int:
    """The number of queries in a block, against ``keys`` at a time: where those are few, no more than keys, since near
    the diagonal of a causal call half of a block is in vain.

    >>> [block_size(length, length) for length in (100, 1024, 8192, 16384, 10**6)]
    [100, 512, 128, 64, 8]
    >>> [block_size(4096, keys) for keys in (256, 1024)]
    [256, 512]
    """
    return min(queries, MOST, max(CPU_KEYS, keys), max(FEWEST, LOGITS // keys))


def blockwise(call: Prepared, size: int | None = None, of_keys: int = CPU_KEYS) -> Array:
    """`dense` for blocks of ``size`` queries in turn (None: `block_size`), each recomputed for the gradient; against at
    most ``of_keys`` keys at a time, see `keys_at_once`.

    The arrays of a block, ``[B, H, size, K]`` for the logits and again for the weights, are freed before the next:
    memory grows with K and Q, not with their product. If ``size`` does not divide Q, the last block overlaps the one
    before it, so that no query is made up.
    """
    check_size("of_keys", of_keys)
    queries, keys = call.q.shape[2], call.k.shape[2]
    of_pairs = call.geometry.queries.sees is not None or call.geometry.pairs is not None  # cut along their queries
    at_once = keys if of_pairs or call.options - {"cap"} else keys_at_once(call.encodings, keys, of_keys)
    size = block_size(queries, at_once) if size is None else size
    check_size("size", size)

    in_blocks = at_once < keys

    def value(part: Any) -> Any:
        return _value(_with(call, "queries", part), at_once)

    def block(of_block: Any) -> Any:
        part, known = of_block
        own = _with(call, "queries", part)
        return _with_derivatives(own, at_once, *known) if in_blocks else dense(own)

    part = _part(call, "queries")
    if queries <= size:
        return block((part, value(part) if in_blocks else None))
    parts = _split(part, queries, size)
    known = jax.lax.map(value, parts) if in_blocks else None
    outs = jax.lax.map(jax.checkpoint(block, prevent_cse=False), (parts, known))
    full = jnp.moveaxis(outs[:-1], 0, 2)
    full = full.reshape(*full.shape[:2], -1, full.shape[-1])
    return jnp.concatenate([full, outs[-1][:, :, full.shape[2] + size - queries :]], axis=2)


def causal_parts(call: Prepared, first: int, shared_bias: Array | None = None) -> Array:
    """`dense` of a causal call for `PARTS` blocks of queries, each against the keys up to the place of its last query:
    a program without loops, in which three eighths of the pairs of a sequence with itself are left out.

    Args:
      first: the place of query 0 minus that of key 0; places grow by one.
      shared_bias: as in `dense`.
    """
    queries, keys = call.q.shape[2], call.k.shape[2]

    def part(start: int, stop: int) -> Any:
        q, k = slice(start, stop), slice(0, max(1, min(keys, first + stop)))
        own = call._replace(
            **{name: getattr(call, name)[:, :, q] for name in _ARRAYS["queries"]},
            **{name: getattr(call, name)[:, :, k] for name in _ARRAYS["keys"]},
            terms=jax.tree.map(lambda x: x[:, k], call.terms),
            geometry=call.geometry.block(q, k),
            geometries=tuple(g.block(q, k) for g in call.geometries),
        )
        return dense(own, shared_bias=None if shared_bias is None else shared_bias[:, :, q, k])

    bounds = [queries * n // PARTS for n in range(PARTS + 1)]
    return jnp.concatenate([part(*ends) for ends in itertools.pairwise(bounds)], axis=2)


def keys_of_block(backend: str) -> int:
    """The most keys in a block: on a CPU its caches should hold the logits, elsewhere a block should be worth its
    launches.
    """
    return CPU_KEYS if backend == "cpu" else KEYS


def keys_at_once(encodings: Iterable[PositionalEncoding], keys: int, of_keys: int) -> int:
    """The number of keys in a block; all keys where an encoding needs them at once."""
    return keys if any(map(needs_all_keys, encodings)) else min(keys, of_keys)


def needs_all_keys(e: PositionalEncoding) -> bool:
    """True if an encoding changes the logits or weights of a pair by other keys."""
    return bool(e.acts_on - {*FUSABLE, "bias", "score", "content_bias"}) or "blocks" in e.breaks


def _value(call: Prepared, size: int) -> tuple[Array, Array]:
    """`dense` of a block of queries, against ``size`` keys at a time, in float32 at least, and the logarithm of the sum
    of the exponentials, ``[B, H, Q, 1]``; of a query that sees no key something finite.
    """

    def add(so_far: Any, logits: Array, v: Array) -> Any:
        highest, *sums = so_far
        higher = jax.lax.stop_gradient(jnp.maximum(highest, jnp.max(logits, axis=-1, keepdims=True)))
        faded = jnp.exp(highest - higher)
        return higher, *_added([x * faded for x in sums], logits, v, higher)

    sums = _nothing(call)
    lowest = jnp.full_like(sums[1], jnp.finfo(sums[1].dtype).min / 2)
    highest, out, total = _over_keys(call, size, add, (lowest, *sums))
    total = jnp.where(total == 0, 1, total)
    return out / total, highest + jnp.log(total)


def _with_derivatives(call: Prepared, size: int, out: Array, c: Array) -> Array:
    """The `_value` ``out`` with its derivatives.

    It is ``N / Z`` with ``N = sum_j exp(logit_j - c) v_j`` and ``Z = sum_j exp(logit_j - c)`` for any constant c, and
    for that of `_value` Z is 1. Each block of keys has a part of its own in N and Z, so a backward pass computes its
    logits once more, and nothing else (as Dao et al. 2022, arXiv:2205.14135, do).
    """
    sums = _over_keys(call, size, functools.partial(_added, c=_as(c, jnp.zeros_like(c))), _nothing(call))
    numerator, denominator = map(_as, (out, jnp.ones_like(c)), sums)
    return outputs(call, (numerator / denominator).astype(call.v.dtype))


def _nothing(call: Prepared) -> tuple[Array, Array]:
    """Empty sums over keys: ``[B, H, Q, Dv]`` and ``[B, H, Q, 1]``."""
    dtype = at_least_float32(call.q, call.k)
    return tuple(jnp.zeros((*call.q.shape[:3], width), dtype) for width in (call.v.shape[3], 1))  # type: ignore[return-value]


def _added(sums: Any, logits: Array, v: Array, c: Array) -> tuple[Array, Array]:
    """The sums with the terms of a block of keys."""
    weights = jnp.exp(logits - c)
    added = jnp.einsum("bhqk,bhkd->bhqd", weights.astype(v.dtype), v, preferred_element_type=c.dtype)
    return sums[0] + added, sums[1] + jnp.sum(weights, axis=-1, keepdims=True)


def _over_keys(call: Prepared, size: int, add: Callable[..., Any], so_far: Any) -> Any:
    """``add(so_far, logits, values)`` for every block of ``size`` keys that some query sees."""
    keys = call.k.shape[2]

    def step(so_far: Any, of_block: Any) -> Any:
        part, is_new = of_block
        block = for_each_head(_with(call, "keys", part))

        def seen(so_far: Any) -> Any:
            return add(so_far, masked(logits_of(block), _mask(block.geometry, is_new)), block.v)

        return jax.lax.cond(_may_see(block.geometry, is_new), seen, lambda so_far: so_far, so_far), None

    firsts = np.arange(0, keys, size)[:, None]
    fresh = np.minimum(firsts, keys - size) + np.arange(size) >= firsts  # the last block overlaps the one before it
    parts = _split(_part(call, "keys"), keys, size)
    return jax.lax.scan(jax.checkpoint(step, prevent_cse=False), so_far, (parts, fresh))[0]


def _mask(geometry: Geometry, is_new: Array) -> Array:
    """The mask of a block whose keys are not all new."""
    mask, is_new = geometry.mask, is_new[None, None, None]
    return is_new if mask is None else mask & is_new


def _may_see(geometry: Geometry, is_new: Array) -> Array:
    """False only if no query of a block sees a key of it."""
    if geometry.only_causal:
        return jnp.min(geometry.k_places) <= jnp.max(geometry.q_places)
    return jnp.any(_mask(geometry, is_new))


@jax.custom_jvp
def _as(value: Array, function: Array) -> Array:
    """``value``, which ``function`` is known to have, with the derivatives of ``function``.

    Where a gradient is differentiated again, JAX drops this rule in recomputed code: there the derivatives are those of
    ``value``, and all three uses of it together give the same.
    """
    return value


@_as.defjvp
def _as_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    return _as(*primals), tangents[1]


def _part(call: Prepared, side: Side) -> Any:
    """All arrays of a call that have something for each of its queries, or keys: along axis 2, and along axis 1."""
    terms = call.terms if side == "keys" else ()
    of_tokens = [getattr(g, side).for_each_token() for g in (call.geometry, *call.geometries)]
    return [getattr(call, name) for name in _ARRAYS[side]], (of_tokens, terms)


def _with(call: Prepared, side: Side, part: Any) -> Prepared:
    """The call with other arrays in place of `_part`."""
    arrays, (of_tokens, terms) = part
    geometry, *geometries = (
        dataclasses.replace(g, **{side: dataclasses.replace(getattr(g, side), **of)})
        for g, of in zip((call.geometry, *call.geometries), of_tokens, strict=True)
    )
    own = dict(zip(_ARRAYS[side], arrays, strict=True)) | ({"terms": terms} if side == "keys" else {})
    return call._replace(**own, geometry=geometry, geometries=tuple(geometries))


def _split(part: Any, tokens: int, size: int) -> Any:
    """``[blocks, ...]``: what belongs to the tokens of each block; the last overlaps the one before it, if need be."""
    blocks = -(-tokens // size)

    def split(x: Array, axis: int) -> Array:
        x = jnp.asarray(x)
        full = jax.lax.slice_in_dim(x, 0, (blocks - 1) * size, axis=axis)
        full = full.reshape(*x.shape[:axis], blocks - 1, size, *x.shape[axis + 1 :])
        last = jax.lax.slice_in_dim(x, tokens - size, tokens, axis=axis)
        return jnp.concatenate([jnp.moveaxis(full, axis, 0), last[None]])

    return tuple(jax.tree.map(functools.partial(split, axis=axis), arrays) for axis, arrays in zip((2, 1), part))
