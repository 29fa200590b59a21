"""One attention layer with a cache of raw keys, small and fixed: what the contract runs encodings in.

``x -> embed -> fixed random W_q, W_k, W_v -> attend`` over a cache of `PLACES` places that takes up to `CALL` tokens a
call. Positions, lengths, segments and places are traced arguments, so full passes, prefill in chunks, decoding, padding
and packing all run one program.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.synthetic_attributes import attributes_for, pairs_of
from posenc_jax.encodings import attend, embed, geometries, init_slot, layer_params, token_terms
from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Sequence,
    Terms,
    by_token,
)
from posenc_jax.refusals import exits_as_errors

Encodings = tuple[PositionalEncoding, ...]
# Keys and values ``[B, PLACES, Hkv, D]``, "terms" of the encodings ``[B, PLACES, ...]``, ``[B, PLACES]`` of all else.
LayerCache = dict[str, Any]

_CACHED = ("positions", "length", "segment_ids", "tokens", "token_types", "attributes")
CALL, PLACES = 8, 10  # always more keys than queries
DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=1024, vocab_size=16)

# Every program runs a few times on a few tokens: optimising it would take longer than all else. The second option saves
# a quarter of the time; XLA has it no more with jax 0.11.
_QUICK = {"xla_backend_optimization_level": 0} | (
    {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
)
compiled = functools.partial(jax.jit, compiler_options=_QUICK)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    """Standard normal, float64, a function of shape and seed."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


class UnusableError(Exception):
    """Parameters that no layer can be run with; the message names them and the rule."""


class AttentionLayer:
    """The layer and its parameters.

    Attributes:
      initial: the encodings' parameters as initialised.
      params: perturbed, in float64, since tables that start at zero would hide everything.
      masks: values of ``causal`` that make sense.
      key: for random positions.
      program: `call`, compiled.
      terms: `token_terms`, compiled.
      traces: how often `call` was traced.
    """

    def __init__(self, encodings: Encodings):
        self.encodings = encodings
        self.key = jax.random.key(1)
        self.initial = self.init()
        for encoding, params in zip(encodings, self.initial):
            _check_parameters(encoding, params)
        leaves, structure = jax.tree.flatten(self.initial)
        moved = [np.asarray(a, np.float64) + 0.3 * noise(*a.shape, seed=i + 1) for i, a in enumerate(leaves)]
        self.params = jax.tree.unflatten(structure, moved)
        self.masks = (True,) if any(e.causal_only for e in encodings) else (True, False)
        self.traces = 0
        self.program = compiled(self.call, static_argnums=(0, 1))
        self.terms = compiled(token_terms, static_argnums=0)

    @exits_as_errors()
    def init(self) -> tuple[Params, ...]:
        """The encodings' parameters, always from one key, and as a model has them: with JAX's default types."""
        with jax.enable_x64(False):
            return layer_params(self.encodings, init_slot(jax.random.key(0), self.encodings, DIMS), 0)

    def heads(self, x: Array, which: int) -> Array:
        """``[B, H, S, D]`` queries (0), ``[B, Hkv, S, D]`` keys (1) or values (2)."""
        heads = DIMS.num_kv_heads if which else DIMS.num_heads
        projection = noise(DIMS.d_model, heads * DIMS.head_dim, seed=which) / DIMS.d_model**0.5
        return (x @ projection.astype(x.dtype)).reshape(*x.shape[:2], heads, DIMS.head_dim).swapaxes(1, 2)

    def sequence(self, x: Array, positions: Array, segment_ids: Array, length: Array) -> Sequence:
        """The sequence of tokens ``x [B, S, M]``, with as many position axes as the first encoding reads.

        Token ids, types and attributes are made up, as functions of x; axis a of a position p is (a + 1) p + a.
        """
        axes = self.encodings[0].position_axes
        if isinstance(axes, int):
            factors = np.arange(1, axes + 1, dtype=np.int32)
            positions = positions[..., None] * factors + (factors - 1)
        ids = np.abs(x[..., 0].astype(np.float64) * 1000).astype(np.int32)
        tokens = ids % 15 + 1
        fields = attributes_for(self.encodings, tokens) | {"segment_ids": segment_ids, "token_types": ids % 3}
        return Sequence(positions, length, tokens, example_ids=np.arange(len(x), dtype=np.int32), **fields)

    def arguments(
        self, x: np.ndarray, positions: np.ndarray, segment_ids: np.ndarray, *, length: np.ndarray, first_place: int = 0
    ) -> tuple[np.ndarray, Sequence, np.ndarray, LayerCache]:
        """The arrays of `call`: tokens in successive places, filled up with tokens to be dropped; a cache of noise that
        must not matter. ``length`` is one for each row or for each token; the program is given that of each token.
        """
        rows, tokens = x.shape[:2]

        def fill(array: np.ndarray, value: int = 0) -> np.ndarray:
            rest = np.full((rows, CALL - tokens, *array.shape[2:]), value, array.dtype)
            return np.concatenate([array, rest], axis=1)

        order = np.arange(first_place, first_place + tokens, dtype=np.int32)
        places = np.broadcast_to(order, (rows, tokens))
        x = fill(x, 3)
        length = np.broadcast_to(by_token(length), (rows, tokens))
        queries = self.sequence(x, fill(positions), fill(segment_ids), fill(length))

        def unused(array: Any, random: bool = True) -> np.ndarray:
            shape = (rows, PLACES, *array.shape[2:])
            return noise(*shape).astype(array.dtype) if random else np.zeros(shape, array.dtype)

        terms = jax.eval_shape(self.terms, self.encodings, self.params, x, queries)
        kv = np.zeros((rows, CALL, DIMS.num_kv_heads, DIMS.head_dim), x.dtype)
        fields = {name: unused(array, False) for name in _CACHED if (array := getattr(queries, name)) is not None}
        cache = {"k": unused(kv), "v": unused(kv), "terms": jax.tree.map(unused, terms), **fields}
        return x, queries, fill(places, PLACES), cache

    def plain(self, causal: bool, params: tuple[Params, ...], x: Array, key: Key, *, tokens: Sequence) -> Array:
        """Self-attention without a cache, over positions that grow by one: ``[B, S, H*D]``."""
        x = embed(self.encodings, params, x, tokens, key=key)
        seen = seen_by(self.encodings, tokens, tokens, causal, key, contiguous=True)
        q, k, v = (self.heads(x, which) for which in range(3))
        return _attend(self.encodings, q, k, v, params, seen, token_terms(self.encodings, params, x, tokens))

    def call(
        self,
        encodings: Encodings,
        causal: bool,
        params: tuple[Params, ...],
        x: Array,
        queries: Sequence,
        places: Array,
        cache: LayerCache,
        key: Key,
        train: bool = False,
    ) -> tuple[Array, LayerCache]:
        """Takes tokens into the cache, at ``places [B, S]``, and lets them attend to it: ``[B, S, H*D]``, new cache.

        A place past the end drops its token.
        """
        self.traces += 1
        rows = np.arange(x.shape[0])[:, None]

        def write(old: Array, new: Array) -> Array:
            return jnp.asarray(old).at[rows, places].set(new, mode="drop")

        known = [name for name in _CACHED if name in cache]
        cache = cache | {name: write(cache[name], getattr(queries, name)) for name in known}
        keys = dataclasses.replace(queries, **{name: cache[name] for name in known}, pairs=None)
        assert queries.tokens is not None
        pairs = pairs_of(queries.tokens, cache["tokens"], max(e.needs_pairs for e in encodings))
        queries = dataclasses.replace(queries, context=keys, places=places, pairs=pairs)
        x = embed(encodings, params, x, queries, key=key, train=train)
        new: LayerCache = {"k": self.heads(x, 1).swapaxes(1, 2), "v": self.heads(x, 2).swapaxes(1, 2)}
        new["terms"] = token_terms(encodings, params, x, queries)
        cache = cache | jax.tree.map(write, {name: cache[name] for name in new}, new)
        seen = seen_by(encodings, queries, keys, causal, key, train=train)
        k, v = (cache[name].swapaxes(1, 2) for name in ("k", "v"))
        return _attend(encodings, self.heads(x, 0), k, v, params, seen, cache["terms"]), cache

    def run(
        self,
        causal: bool,
        *tokens: np.ndarray,
        cache: LayerCache | None = None,
        encodings: Encodings | None = None,
        params: tuple[Params, ...] | None = None,
        **options: Any,
    ) -> tuple[np.ndarray, LayerCache]:
        """`call` as a program, on an empty cache unless given one; ``tokens`` and ``options`` as for `arguments`."""
        x, queries, places, empty = self.arguments(*tokens, **options)
        encodings = self.encodings if encodings is None else encodings
        params = self.params if params is None else params
        cache = empty if cache is None else cache
        out, cache = self.program(encodings, causal, params, x, queries, places, cache, self.key)
        return np.asarray(out)[:, : tokens[0].shape[1]], cache


def _check_parameters(encoding: PositionalEncoding, params: Any) -> None:
    init = f"{type(encoding).__name__}.init"
    if not isinstance(params, dict):
        raise UnusableError(f"{init} returns {type(params).__name__}, not a dict of arrays by name, {{}} for none")
    for path, leaf in jax.tree.leaves_with_path(params, is_leaf=lambda leaf: leaf is None):
        name = f"{init}'s {jax.tree_util.keystr(path)}"
        if not isinstance(leaf, jax.Array | np.ndarray):
            raise UnusableError(f"{name} is {leaf!r}, of type {type(leaf).__name__}, not an array")
        name = f"{init}'s array {jax.tree_util.keystr(path)}"
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise UnusableError(
                f"{name} is {leaf.dtype}, and parameters are float32: counts and tables belong in the hook"
            )
        if not np.isfinite(leaf).all():
            raise UnusableError(f"{name}, {leaf.dtype}{list(leaf.shape)}, is not finite")


def seen_by(
    encodings: Encodings, queries: Sequence, keys: Sequence, causal: bool, key: Key, **options: Any
) -> tuple[Geometry, ...]:
    """The call as each of the encodings (one at least) sees it."""
    seen = geometries(encodings, queries, keys, num_heads=DIMS.num_heads, causal=causal, key=key, **options)
    assert isinstance(seen, tuple)
    return seen


def _attend(
    encodings: Encodings,
    q: Array,
    k: Array,
    v: Array,
    params: tuple[Params, ...],
    seen: tuple[Geometry, ...],
    terms: tuple[Terms, ...],
) -> Array:
    """``[B, S, H*D]``."""
    out = attend(q, k, v, encodings, params, seen, terms)
    return jnp.swapaxes(out, 1, 2).reshape(q.shape[0], q.shape[2], -1)  # type: ignore[arg-type]
