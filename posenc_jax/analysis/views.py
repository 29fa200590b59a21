"""Views of an encoding: its vectors, the logits of equal contents, its biases, its frequencies and its shifts.

Everything is measured by calling the hooks of the encodings and comes as NumPy arrays. The first layer's encodings are
meant where a slot is a pattern; positions that an encoding draws at random are those of one fixed draw.
"""

import contextlib
import dataclasses
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.synthetic_attributes import attributes_for, numbers_for
from posenc_jax.encodings import (
    Dims,
    Geometry,
    Sequence,
    Slot,
    check_slot,
    embed,
    for_layer,
    geometries,
    init_slot,
    is_pattern,
    layer_params,
    map_slot,
    position_bias,
    spec,
)
from posenc_jax.encodings.interface.attention import encode
from posenc_jax.encodings.interface.base import Array, Params, PositionalEncoding

Encodings = tuple[PositionalEncoding, ...]

# What each view is of, as messages say it.
VIEWS = {
    "vectors": "vectors added to the embeddings",
    "content_logits": "logits of equal contents, by queries and keys",
    "bias": "biases of the logits",
    "frequencies": "frequencies",
}


def available(slot: Slot, dims: Dims) -> tuple[str, ...]:
    """The names in `VIEWS` of what ``slot`` has in a model of ``dims``; empty for NoPE, for what contents decide, and
    where tokens decide the positions.

    ValueError where the slot cannot serve the model.
    """
    check_slot(slot, dims)
    encodings = for_layer(slot, 0)
    if _tokens_decide(encodings):
        return ()
    acts_on = {hook for e in encodings for hook in e.acts_on}
    by_score = any("score" in e.acts_on and "token_terms" not in e.acts_on for e in encodings)
    found = {
        "vectors": "embed" in acts_on,
        "content_logits": not any({"score", "token_terms"} <= e.acts_on for e in encodings)
        and (by_score or {"encode_queries", "encode_keys"} <= acts_on),
        "bias": "bias" in acts_on,
        "frequencies": any(e.frequencies_for(dims) is not None for e in encodings),
    }
    return tuple(name for name, there in found.items() if there)


def position_vectors(
    slot: Slot,
    dims: Dims,
    positions: Any,
    *,
    params: tuple[Params, ...] | None = None,
    dtype: str = "float32",
    length: int | None = None,
) -> np.ndarray:
    """``[P, M]``: what the slot adds to a zero embedding at ``positions [P]`` of a sequence of ``length`` (default: up
    to the last of them). Where an encoding reads numbers (FoNE, xVal): what it adds to an embedding of ones of tokens
    that stand for the numbers ``positions``.

    Args:
      params: of the slot, as `init_slot` gives them; default: as initialised from key 0.
      dtype: of the embedding.

    Raises:
      ValueError: the slot adds no vectors (it says what it has), or it has none at a position.
    """
    encodings, own = _of_first_layer("vectors", slot, dims, params)
    asked = np.asarray(positions)
    if asked.ndim != 1 or not asked.size:
        raise ValueError(f"positions of shape {asked.shape}: give a list of at least one")
    asked = asked.astype(np.int32) if np.issubdtype(asked.dtype, np.integer) else asked
    length = int(np.ceil(asked.max())) + 1 if length is None else length
    numbers = numbers_for(encodings, asked)
    sequence = Sequence(asked[None], np.full(1, length, np.int32), **numbers)
    with _precision(dtype):
        x = np.full((1, asked.size, dims.d_model), 1 if numbers else 0, jnp.dtype(dtype))
        found = _numpy(embed(encodings, own, x, sequence, key=jax.random.key(0)))
    return (found - _numpy(x) if numbers else found)[0]


def content_logits(
    slot: Slot, dims: Dims, length: int, *, params: tuple[Params, ...] | None = None, dtype: str = "float32"
) -> np.ndarray:
    """``[H, Q, K]``: the product of a query and a key of the same content at positions ``0 .. length-1``, over D, so
    that without positions it is 1; the mean over contents of norm sqrt(D) along each of the D axes of a head::

        mean_b q'_i(sqrt(D) e_b) . k'_j(sqrt(D) e_b) / D,   for RoPE  mean_k cos((j - i) w_k)

    The norm, which is that of normalised activations, counts where products do not grow with it squared (PoPE).

    Not masked. Args as in `position_vectors`. ValueError for a slot that does not act on queries and keys by their
    positions alone.
    """
    encodings, own = _of_first_layer("content_logits", slot, dims, params)
    with _precision(dtype):
        total = _content_logits(encodings, own, _of_length(encodings, dims, length), dims, length, dtype)
    return total.astype(np.float64 if dtype == "float64" else np.float32)


def _content_logits(
    encodings: Encodings,
    params: tuple[Params, ...],
    seen: tuple[Geometry, ...],
    dims: Dims,
    length: int,
    dtype: str,
) -> np.ndarray:
    """`content_logits` of tokens as they are seen, summed in float64."""
    total = np.zeros((dims.num_heads, length, length), np.float64)
    for row in (np.eye(dims.head_dim) * dims.head_dim**0.5).astype(jnp.dtype(dtype)):
        total += _numpy(_logits(encodings, params, seen, dims, jnp.asarray(row), length)).astype(np.float64)
    return total / dims.head_dim**2


def pair_values(slot: Slot, dims: Dims, tokens: Sequence) -> tuple[str, np.ndarray]:
    """The word and the numbers of what a slot does to pairs of ``tokens`` of one row, which bring what it reads: its
    biases ``[H, S, S]``; where it has none the `content_logits` of its products; where it turns none the cosines
    ``[1, S, S]`` of the vectors that it adds to embeddings, from their mean. In float64, parameters as initialised from
    key 0.
    """
    encodings, params = for_layer(slot, 0), layer_params(slot, initial(slot, dims), 0)
    length = tokens.positions.shape[1]
    with _precision("float64"):
        seen = _geometries(encodings, dims, tokens)
        if (found := position_bias(encodings, params, seen)) is not None:
            return "bias of the logit", _numpy(found)[0]
        if any("encode_queries" in e.acts_on for e in encodings):
            return "product of equal contents", _content_logits(encodings, params, seen, dims, length, "float64")
        nothing = np.zeros((1, length, dims.d_model))
        (vectors,) = _numpy(embed(encodings, params, nothing, tokens, key=jax.random.key(0)))
    vectors = vectors - vectors.mean(axis=0, keepdims=True)
    norms = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float64).tiny)
    return "cosine of the vectors from their mean", (vectors @ vectors.T / norms[:, None] / norms)[None]


def _logits(
    encodings: Encodings,
    params: tuple[Params, ...],
    seen: tuple[Geometry, ...],
    dims: Dims,
    content: Array,
    length: int,
) -> Array:
    """``[H, Q, K]``, unscaled, with ``content [D]`` at every query and key."""
    projected = (
        jnp.broadcast_to(content[None, None, None], (1, heads, length, dims.head_dim))
        for heads in (dims.num_heads, dims.num_kv_heads)
    )
    queries, keys = projected
    q, k = encode(queries, keys, encodings, params, seen)
    k = jnp.repeat(k, dims.num_heads // dims.num_kv_heads, axis=1)
    for e, p, g in zip(encodings, params, seen):
        if "score" in e.acts_on:
            return e.score(p, q, k, g, None)[0] * dims.head_dim**0.5
    return jnp.einsum("hqd,hkd->hqk", q[0], k[0], precision="highest")


def bias(
    slot: Slot,
    dims: Dims,
    length: int,
    *,
    params: tuple[Params, ...] | None = None,
    dtype: str = "float32",
    causal: bool = False,
) -> np.ndarray:
    """``[H, Q, K]``: what the slot adds to the logits of queries and keys at positions ``0 .. length-1``, not masked.

    Args as in `position_vectors`; ``causal``: whether the encodings are told of a causal mask, as some always are.
    ValueError for a slot without biases by position.
    """
    encodings, own = _of_first_layer("bias", slot, dims, params)
    with _precision(dtype):
        found = position_bias(encodings, own, _of_length(encodings, dims, length, causal))
        assert found is not None
        return np.array(np.broadcast_to(_numpy(found)[0], (dims.num_heads, length, length)))


def frequencies(slot: Slot, dims: Dims) -> np.ndarray:
    """``[F]`` float64, radians per position, of the first encoding of the slot that has frequencies: see
    `PositionalEncoding.frequencies_for`. The wavelength of one is ``2 pi / frequency`` positions.
    """
    _require("frequencies", slot, dims)
    return next(found for e in for_layer(slot, 0) if (found := e.frequencies_for(dims)) is not None)


@dataclasses.dataclass(frozen=True, eq=False)
class Shift:
    """The linear map that takes the vector of a position to that of the position ``offset`` later, as far as there is
    one.

    Attributes:
      matrix: ``[M, M]``, ``vector(p + offset) ~ matrix @ vector(p)``.
      residual: ``|vector(p + offset) - matrix @ vector(p)|`` over ``|vector(p + offset)|``, root mean squares over
        positions that were not used in fitting: 0 is an exact map, 1 is no better than guessing zero.
    """

    offset: int
    matrix: np.ndarray
    residual: float


def linear_maps(
    slot: Slot,
    dims: Dims,
    offsets: Iterable[int],
    *,
    params: tuple[Params, ...] | None = None,
    positions: Any = None,
) -> tuple[Shift, ...]:
    """The best linear map, for each of ``offsets``, from vectors to those so many positions later, by least squares in
    float64.

    Fitted at every other one of ``positions`` (default: `spread_positions`) and measured at the rest. Vectors are those
    of a sequence of ``dims.max_len``. Sines and cosines have an exact one, which turns the plane of frequency w by
    ``offset * w`` (Vaswani et al. 2017, section 3.5). ValueError as in `position_vectors`, for fewer than two
    positions, and for no offsets.
    """
    offsets = tuple(offsets)
    if not offsets:
        raise ValueError("no offsets are given: name one at least, as in linear_maps(slot, dims, [10])")
    farthest = max(offsets)
    positions = spread_positions(slot, dims, farthest) if positions is None else np.asarray(positions)
    if len(positions) < 2:
        raise ValueError(
            f"a map to the position {farthest} later is fitted and measured at two positions at least, and up to "
            f"max_len = {dims.max_len} there are {len(positions)}: take a smaller offset or a longer sequence"
        )
    length = max(dims.max_len, int(positions.max()) + farthest + 1)
    options: dict[str, Any] = dict(params=params, dtype="float64", length=length)
    before = position_vectors(slot, dims, positions, **options)
    after = [position_vectors(slot, dims, positions + offset, **options) for offset in offsets]
    solutions = np.linalg.lstsq(before[::2], np.concatenate([a[::2] for a in after], axis=1), rcond=None)[0]
    found = []
    for offset, wanted, solution in zip(offsets, after, np.split(solutions, len(offsets), axis=1), strict=True):
        error, scale = np.linalg.norm(wanted[1::2] - before[1::2] @ solution), np.linalg.norm(wanted[1::2])
        found.append(Shift(offset, solution.T, float(error / scale) if scale else 0.0))
    return tuple(found)


def spread_positions(slot: Slot, dims: Dims, offset: int) -> np.ndarray:
    """Positions at which a map is fitted: up to 65535, where even the slow waves of a base of 10000 have turned, or,
    for an encoding that ends with the sequence, all that leave room for ``offset``.
    """
    if all(e.extrapolates for e in for_layer(slot, 0)):
        return np.sort(np.random.default_rng(0).permutation(65536)[: 4 * dims.d_model])
    return np.arange(max(dims.max_len - offset, 0))


def equal_content_weights(products: np.ndarray | None, biases: np.ndarray | None, *, causal: bool) -> np.ndarray:
    """``[H, Q, K]`` attention weights where all contents are equal: the softmax of `content_logits` at contents of norm
    sqrt(D), which ``products`` are times sqrt(D), plus `bias`; either may be None.
    """
    logits = sum((part.astype(np.float64) for part in (products, biases) if part is not None), np.zeros((1, 1, 1)))
    if causal:
        logits = np.where(np.tri(logits.shape[1], dtype=bool)[None], logits, -np.inf)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True)


def attention_maps(captured: dict[str, Any]) -> dict[str, np.ndarray]:
    """``{stack: [L, B, H, Q, K]}``: the attention weights in what a model returns with ``capture=True``, and those of
    its cross-attention as "cross".
    """
    found = {
        stack: np.stack([np.asarray(layer["attention_weights"]) for layer in activations["layers"]])
        for stack, activations in captured.items()
    }
    layers = captured.get("decoder", {}).get("layers", ())
    if layers and "cross_attention_weights" in layers[0]:
        found["cross"] = np.stack([np.asarray(layer["cross_attention_weights"]) for layer in layers])
    return found


def initial(slot: Slot, dims: Dims) -> tuple[Params, ...]:
    """The slot's parameters as initialised from key 0."""
    return init_slot(jax.random.key(0), slot, dims)


def _of_first_layer(
    view: str, slot: Slot, dims: Dims, params: tuple[Params, ...] | None
) -> tuple[Encodings, tuple[Params, ...]]:
    """Returns what a view is made of; ValueError where the slot has none."""
    _require(view, slot, dims)
    return for_layer(slot, 0), layer_params(slot, initial(slot, dims) if params is None else params, 0)


def _require(view: str, slot: Slot, dims: Dims) -> None:
    has = available(slot, dims)
    if view not in has:
        raise ValueError(f"{spec(slot)} has no {VIEWS[view]}; it has {what_it_has(slot, dims)}")


def what_it_has(slot: Slot, dims: Dims) -> str:
    """The views that a slot has, or the reason why it has none, in words for messages."""
    has = available(slot, dims)
    if has:
        return " and ".join(VIEWS[name] for name in has)
    if not for_layer(slot, 0):
        what = "its first layer, which is shown, has no encoding" if is_pattern(slot) else "it is no encoding at all"
        return f"nothing to show: {what}"
    if _tokens_decide(for_layer(slot, 0)):
        return "nothing to show without tokens, which decide its positions"
    return "nothing to show without contents, on which it acts"


def _tokens_decide(encodings: Encodings) -> bool:
    """True if positions depend on tokens, or what is added to logits on attributes of pairs."""
    if any(e.needs_pairs for e in encodings):
        return True

    def mapped(tokens: np.ndarray, types: np.ndarray) -> list[np.ndarray]:
        made = attributes_for(encodings, tokens[None])
        sequence = Sequence.of_length(4, tokens=tokens[None], token_types=types[None], **made)
        return [np.asarray(s.positions) for s in map_slot(encodings, sequence, key=jax.random.key(0))]

    one = mapped(np.array([1, 2, 3, 4]), np.array([1, 1, 1, 1]))
    for tokens, types in (([11, 12, 11, 12], [1, 1, 1, 1]), ([2, 1, 2, 1], [1, 2, 2, 3])):
        other = mapped(np.array(tokens), np.array(types))
        if any(a.shape != b.shape or not np.array_equal(a, b) for a, b in zip(one, other)):
            return True
    return False


def _of_length(encodings: Encodings, dims: Dims, length: int, causal: bool = False) -> tuple[Geometry, ...]:
    if length < 1:
        raise ValueError(f"length = {length} must be at least 1")
    return _geometries(encodings, dims, Sequence.of_length(length), causal)


def _geometries(encodings: Encodings, dims: Dims, tokens: Sequence, causal: bool = False) -> tuple[Geometry, ...]:
    causal = causal or any(e.causal_only for e in encodings)
    call = {"num_heads": dims.num_heads, "contiguous": True, "causal": causal, "key": jax.random.key(0)}
    seen = geometries(encodings, tokens, tokens, **call)  # type: ignore[arg-type]
    assert isinstance(seen, tuple)
    return seen


def _precision(dtype: str) -> Any:
    return jax.enable_x64(True) if dtype == "float64" else contextlib.nullcontext()


def _numpy(array: Array) -> np.ndarray:
    found = np.asarray(array)
    return found.astype(np.float32) if found.dtype.itemsize < 4 else found
