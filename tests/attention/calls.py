"""Calls of attention in every shape, and their values and gradients along a path: what the reference is compared on."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.attention import attend
from posenc_jax.encodings import Dims, Geometry, Sequence, init_slot, layer_params, token_terms

DIMS = Dims(d_model=16, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=64, vocab_size=16)


def noise(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


@dataclasses.dataclass(frozen=True)
class Shape:
    """``queries`` of as many tokens at the end as there are queries, or of another sequence. restarts: positions begin
    at 0 in every segment, which the geometry knows (True) or does not (False); None: they run on.
    """

    name: str
    queries: int
    keys: int
    causal: bool = True
    packed: bool = False
    window: int | None = None
    restarts: bool | None = None

    def __str__(self) -> str:
        return self.name

    def geometry(self, contiguous=True):
        def side(first, size):
            segments = None
            if self.packed:  # padding, two sequences, padding; positions run on
                ends = np.array([1, self.keys // 2, self.keys - 2])
                segments = np.searchsorted(ends, np.arange(first, first + size), side="right")
                segments = np.stack([segments % 3, np.ones_like(segments)]).astype(np.int32)
            places = np.arange(first, first + size, dtype=np.int32)[None]
            return Sequence(places, np.full((1,), self.keys, np.int32), segment_ids=segments, places=places)

        keys, queries = side(0, self.keys), side(self.keys - self.queries, self.queries)
        if self.restarts is not None:
            return self._restarting(keys)
        return Geometry.between(
            queries, keys, num_heads=DIMS.num_heads, causal=self.causal, contiguous=contiguous, window=self.window
        )

    def _restarting(self, sequence):
        """Of self-attention."""
        new = np.diff(sequence.segment_ids, axis=1, prepend=-1) != 0
        places = np.arange(self.keys, dtype=np.int32)[None]
        positions = places - np.maximum.accumulate(np.where(new, places, 0), axis=1)
        own = dataclasses.replace(sequence, positions=positions.astype(np.int32), packed=self.restarts, places=None)
        return Geometry.between(own, own, num_heads=DIMS.num_heads, causal=self.causal, window=self.window)


def shapes(size):
    """Self-attention with and without a mask, packed, in a window; other queries than keys."""
    return (
        Shape("causal", size, size),
        Shape("unmasked", size, size, causal=False),
        Shape("packed", size, size, packed=True),
        Shape("windowed", size, size, window=size // 3),
        Shape("packed in a two-sided window", size, size, causal=False, packed=True, window=size // 4),
        Shape("last queries", size - size // 3, size),
        Shape("cross", size - size // 3, size, causal=False),
    )


@dataclasses.dataclass(frozen=True)
class Result:
    """``[B, H, Q, D]``, zero at queries that see no key; gradients by argument."""

    out: jax.Array
    gradients: dict


def arguments(encodings, shape, dtype=np.float32):
    """Queries, keys, values, encodings' parameters (all perturbed) and the block's input."""
    params = layer_params(encodings, init_slot(jax.random.key(0), encodings, DIMS), 0)
    leaves, structure = jax.tree.flatten(params)
    wide = jnp.promote_types(dtype, jnp.float32)
    moved = [np.asarray(a + 0.3 * noise(*a.shape, seed=i + 1), wide) for i, a in enumerate(leaves)]
    sizes = (DIMS.num_heads, shape.queries), (DIMS.num_kv_heads, shape.keys), (DIMS.num_kv_heads, shape.keys)
    q, k, v = (jnp.asarray(noise(2, *size, DIMS.head_dim, seed=i), dtype) for i, size in enumerate(sizes))
    x = jnp.asarray(noise(2, shape.keys, DIMS.d_model, seed=9), dtype)
    return {"q": q, "k": k, "v": v, "x": x, "params": jax.tree.unflatten(structure, moved)}


def result(encodings, shape, path, dtype=np.float32, compute=attend):
    """The output of ``compute`` along ``path`` and the gradients of a random functional of it."""
    geometry = shape.geometry()
    mapped = (geometry,) * len(
        encodings
    ) or geometry  # for each its own, as of mappings that leave positions as they are
    wide = jnp.promote_types(dtype, jnp.float32)
    real = np.ones((), wide) if geometry.mask is None else np.asarray(geometry.mask).any(-1)[..., None].astype(wide)
    functional = real * noise(2, DIMS.num_heads, shape.queries, DIMS.head_dim, seed=5).astype(wide)

    @functools.partial(jax.value_and_grad, has_aux=True)
    def loss(a):
        keys = Sequence(geometry.k_positions, geometry.k_length, segment_ids=geometry.k_segments)
        terms = token_terms(encodings, a["params"], a["x"], keys)
        out = compute(a["q"], a["k"], a["v"], encodings, a["params"], mapped, terms, path=path)
        assert out.dtype == dtype
        out = jnp.where(real != 0, out.astype(wide), 0)
        return (out * functional).sum(), out

    (_, out), gradients = jax.jit(loss)(arguments(encodings, shape, dtype))
    return Result(out, gradients)


def assert_agree(got, want, limit):
    """The largest difference of each array is at most ``limit`` of the largest number in its argument (for gradients of
    parameters: in all of them, since that of a constant added to all logits of a query is a sum that cancels).
    """
    for name, wanted in {"out": want.out, **want.gradients}.items():
        size = max((np.abs(np.asarray(a, np.float64)).max(initial=0) for a in jax.tree.leaves(wanted)), default=0)
        found = jax.tree.leaves_with_path(got.out if name == "out" else got.gradients[name])
        for (path, a), b in zip(found, jax.tree.leaves(wanted), strict=True):
            a, b = (np.asarray(c, np.float64) for c in (a, b))
            where = name + jax.tree_util.keystr(path)
            assert np.isfinite(a).all(), where
            apart = np.abs(a - b).max(initial=0)
            assert apart <= limit * size, f"{where}: {apart:.1e} of {size:.1e}"
