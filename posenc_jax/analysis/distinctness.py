"""Distinctness of the vectors of positions: distances, aliases and norms of rows and of rotations.

The vector of a position is its row, added to a zero embedding, or, for encodings of queries and keys, the matrix that
its position makes of the identity. Distances are relative to the mean norm of the vectors.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.kernels import by_offset, lobes
from posenc_jax.analysis.layer import AttentionLayer, Encodings, compiled, noise
from posenc_jax.encodings import Dims, Sequence, embed, geometries, layer_params
from posenc_jax.encodings.interface.attention import encode
from posenc_jax.encodings.interface.base import Array, Params

POSITIONS = 512
FAR = 10**6
WINDOWS = (("float32", 0), ("bfloat16", 0), ("float32", FAR))

_INCREASE = 1e-5  # of a cosine, above rounding


@dataclasses.dataclass(frozen=True)
class Distinctness:
    """Measurements by window ("float32", "bfloat16", "float32 from 1000000").

    Attributes:
      distance: the smallest distance of two positions, NaN where a vector is.
      pair: which two.
      norm_drift: how far the norm of a vector is from its mean over positions, relative to it, at most.
      alias: of all offsets outside the main lobe the one with the highest cosine similarity, and that; None where the
        similarity only falls.
    """

    distance: dict[str, float]
    pair: dict[str, tuple[int, int] | None]
    norm_drift: dict[str, float]
    alias: tuple[int, float] | None


def distinctness(layer: AttentionLayer, dims: Dims, init: Callable[[], tuple[Params, ...]]) -> Distinctness | None:
    """The vectors of `POSITIONS` successive positions, for a layer's encodings with initial parameters in a model of
    ``dims``.

    None where nothing is embedded or encoded by its position alone: for biases, for positions that are drawn or that
    tokens decide, and for factors that are the same at all positions.
    """
    vectors = _vectors(layer.encodings, dims)
    if vectors is None:
        return None
    params = layer_params(layer.encodings, init(), 0)
    run, given = compiled(vectors[0]), vectors[1]
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for dtype, start in WINDOWS:
        q, k = run(_tokens(layer, start, 0), params, given.astype(dtype))
        name = dtype if start == 0 else f"{dtype} from {start}"
        found[name] = np.asarray(q, np.float32), np.asarray(k, np.float32)
    q, k = found["float32"]
    if np.array_equal(k, np.broadcast_to(k[:1], k.shape)):
        return None
    if not np.array_equal(k, np.asarray(run(_tokens(layer, 0, 1), params, given)[1]), equal_nan=True):
        return None
    closest = {name: nearest_pair(k.reshape(POSITIONS, -1)) for name, (_, k) in found.items()}
    return Distinctness(
        {name: distance for name, (distance, _) in closest.items()},
        {name: pair for name, (_, pair) in closest.items()},
        {name: norm_drift(k) for name, (_, k) in found.items()},
        nearest_alias(q.reshape(POSITIONS, -1), k.reshape(POSITIONS, -1)),
    )


def _vectors(encodings: Encodings, dims: Dims) -> tuple[Callable[..., Any], np.ndarray] | None:
    """``f(tokens, params, x) -> (of queries, of keys)``, each ``[P, F, V]``: F vectors per position; and the float32 x
    that they are made of. As an argument it is no constant, which XLA would compute with while it compiles.
    """
    acts_on = frozenset().union(*(e.acts_on for e in encodings))
    if any(e.random for e in encodings):
        return None
    if "embed" in acts_on:

        def rows(tokens: Sequence, params: tuple[Params, ...], x: Array) -> tuple[Array, Array]:
            x = embed(encodings, params, x, tokens)
            return x[0, :, None], x[0, :, None]

        return rows, np.zeros((1, POSITIONS, dims.d_model), np.float32)
    if not acts_on & {"encode_queries", "encode_keys"}:
        return None

    def encoded(tokens: Sequence, params: tuple[Params, ...], x: Array) -> tuple[Array, Array]:
        seen = geometries(encodings, tokens, tokens, num_heads=dims.num_heads)
        assert isinstance(seen, tuple)
        projected = (
            jnp.broadcast_to(x, (dims.head_dim, heads, POSITIONS, dims.head_dim))
            for heads in (dims.num_heads, dims.num_kv_heads)
        )
        queries, keys = projected
        q, k = encode(queries, keys, encodings, params, seen)
        k = jnp.repeat(k, dims.num_heads // dims.num_kv_heads, axis=1)
        return tuple(jnp.moveaxis(a, 2, 0).reshape(POSITIONS, -1, a.shape[-1]) for a in (q, k))  # type: ignore[return-value]

    return encoded, np.eye(dims.head_dim, dtype=np.float32)[:, None, None]


def _tokens(layer: AttentionLayer, start: int, seed: int) -> Sequence:
    positions = np.arange(start, start + POSITIONS, dtype=np.int32)[None]
    ones, length = np.ones((1, POSITIONS), np.int32), np.full(1, start + POSITIONS, np.int32)
    return layer.sequence(noise(1, POSITIONS, 1, seed=seed), positions, ones, length)


def nearest_pair(vectors: np.ndarray) -> tuple[float, tuple[int, int] | None]:
    """The smallest distance between two of the vectors ``[P, V]``, relative to their mean norm, and which two."""
    if not np.isfinite(vectors).all():
        return float("nan"), None
    norms = np.einsum("pv,pv->p", vectors, vectors)
    squares = norms[:, None] + norms[None, :] - 2 * (vectors @ vectors.T)
    squares[np.tril_indices(len(vectors))] = np.inf
    # The product has rounded: what looks closest is measured again.
    close = np.argwhere(squares <= squares.min() + 1e-5 * norms.max())[:4096]
    exact = np.linalg.norm(vectors[close[:, 0]].astype(np.float64) - vectors[close[:, 1]], axis=1)
    best = int(exact.argmin())
    scale = float(np.sqrt(norms).mean())
    return (float(exact[best]) / scale if scale else 0.0), (int(close[best, 0]), int(close[best, 1]))


def nearest_alias(q: np.ndarray, k: np.ndarray) -> tuple[int, float] | None:
    """The offset, outside the main lobe, with the highest cosine similarity of a query's and an earlier key's vector.

    The similarity of an offset is the largest over all positions; the main lobe ends where it first rises again.
    """
    if not (np.isfinite(q).all() and np.isfinite(k).all()):
        return None
    tiny = np.finfo(np.float32).tiny
    cosine = (q @ k.T) / np.maximum(np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(k, axis=1)[None], tiny)
    similarity = by_offset(cosine, "max")
    found = lobes(similarity, _INCREASE)
    return None if found.offset is None or found.level is None else (found.offset, found.level)


def norm_drift(vectors: np.ndarray) -> float:
    """The largest relative deviation of the norms of ``[P, F, V]`` from their mean over positions, without vectors that
    are 0 at all positions.
    """
    norms = np.linalg.norm(vectors.astype(np.float64), axis=2)
    mean = norms.mean(axis=0)
    if not np.isfinite(mean).all():
        return float("nan")
    return float(np.abs(norms[:, mean > 0] / mean[mean > 0] - 1).max(initial=0))
