"""Attention with positional encodings: the tested reference, for the models here and for anybody's own.

`posenc_jax.attention` has the other ways to compute the same, and the choice among them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arguments import PAIRS, check_call, check_return
from posenc_jax.encodings.interface.base import (
    OF_TOKENS,
    Array,
    Geometry,
    Params,
    PositionalEncoding,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.parameters import check_params
from posenc_jax.encodings.interface.slots import check_axes, only

# Hooks that see neither logits nor weights; all others but `bias` need them as arrays, which no fused kernel has.
FUSABLE = OF_TOKENS | {"map_positions"}


class Prepared(NamedTuple):
    """One call of attention, checked, with queries and keys encoded: what every way to compute it starts from.

    Attributes:
      q: ``[B, H, Q, D]``, k: ``[B, Hkv, K, D]``, as projected.
      v: ``[B, Hkv, K, Dv]``, after `encode_values`.
      q_encoded, k_encoded: q and k after `encode_queries` and `encode_keys` of all elements; some add dimensions.
      encodings, params, terms, geometries: one of each for every element.
      geometry: that of the call, from which the mask follows.
      cap: the cap of the scaled products, see `capped`, or None.
    """

    q: Array
    k: Array
    v: Array
    q_encoded: Array
    k_encoded: Array
    encodings: tuple[PositionalEncoding, ...]
    params: tuple[Params, ...]
    terms: tuple[Terms, ...]
    geometries: tuple[Geometry, ...]
    geometry: Geometry
    cap: float | None = None

    @property
    def options(self) -> frozenset[str]:
        """The names of the options that are set."""
        return frozenset(name for name, default in self._field_defaults.items() if getattr(self, name) is not default)

    @property
    def scale(self) -> float:
        """``1 / sqrt(D)``, of the dimensions as projected."""
        return self.q.shape[3] ** -0.5

    @property
    def groups(self) -> int:
        """The number of query heads that share a key head."""
        return self.q.shape[1] // self.k.shape[1]


def attend(
    q: Array,
    k: Array,
    v: Array,
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometry: Geometry | tuple[Geometry, ...],
    terms: tuple[Terms, ...] | None = None,
    *,
    return_weights: bool = False,
    shared_bias: Array | None = None,
    cap: float | None = None,
) -> Array | tuple[Array, Array]:
    """Scaled dot-product attention in which every encoding acts at its hooks::

        logits_ij = q'_i . k'_j / sqrt(D) + sum of biases,   out_i = (sum_j w_ij v'_j)' + value terms

    with w the softmax of the logits over j, and a dash for what is encoded: queries, keys, values and outputs. An
    encoding may replace the scaled product (`score`), the sum (`adjust_logits`) or the softmax (`normalize`). Logits
    and softmax are computed in at least float32, as arrays over all pairs.

    Args:
      q: ``[B, H, Q, D]``.
      k, v: ``[B, Hkv, K, D]`` with Hkv dividing H (grouped-query heads).
      encodings: the tuple of one layer's slot; ``()`` is NoPE.
      params: one entry per encoding.
      geometry: one `Geometry` for all, or one per encoding (from `slots.geometries`, when positions are mapped).
      terms: per encoding, its `token_terms` of all keys, ``[B, K, ...]``, or None.
      return_weights: also return the attention weights ``[B, H, Q, K]``.
      shared_bias: what `position_bias` returned for this geometry, when several layers share it.
      cap: the scaled products, or scores, are capped at it before anything is added, see `capped`.

    Returns:
      ``[B, H, Q, D]`` in the dtype of ``v``, and the weights if asked for.

    Raises:
      ValueError: as `prepare`.
    """
    call = prepare(q, k, v, encodings, params, geometry, terms, cap)
    return dense(call, return_weights=return_weights, shared_bias=shared_bias)


def prepare(
    q: Array,
    k: Array,
    v: Array,
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometry: Geometry | tuple[Geometry, ...],
    terms: tuple[Terms, ...] | None = None,
    cap: float | None = None,
) -> Prepared:
    """The arguments of `attend`, checked, and queries and keys encoded.

    Raises:
      ValueError: naming the array and both sizes, if rows, heads, tokens or dimensions of q, k, v, the geometries and
        the terms do not fit together; if q, k, v or parameters are no floats, or positions no numbers; if positions
        have other axes than an encoding reads; if heads and lengths show that q, k or v have the layout
        ``[B, S, H, D]`` of flax and jax.nn (as many tokens as heads show nothing). All is told while a program is
        traced, and none of it is in the program.
    """
    per_element = check_call(q, k, v, encodings, params, geometry, terms)
    if cap is not None and not cap > 0:
        raise ValueError(f"cap = {cap} is not positive: logits are capped at a number above 0, or None leaves them")
    first: Geometry = per_element[0] if per_element else geometry  # type: ignore[assignment]
    of_keys = (None,) * len(encodings) if terms is None else terms
    params = _own_params(encodings, params, per_element)
    of_keys = tuple(
        jax.tree.map(lambda a: first.own_heads(a, axis=2), t) if element.terms_by_head else t
        for element, t in zip(encodings, of_keys, strict=True)
    )
    for element, p, g in zip(encodings, params, per_element, strict=True):
        check_axes(element, g.q_positions)
        check_axes(element, g.k_positions)
        v = _vectors(element, "encode_values", v, element.encode_values(p, v, g.k_positions, g.k_length))
    encoded = encode(q, k, encodings, params, per_element)
    return Prepared(q, k, v, *encoded, encodings, params, of_keys, per_element, first, cap)


def encode(
    q: Array,
    k: Array,
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    geometries: tuple[Geometry, ...],
) -> tuple[Array, Array]:
    """Queries and keys after `encode_queries` and `encode_keys` of all elements, from the first to the last."""
    q_encoded, k_encoded = q, k
    for element, p, g in zip(encodings, params, geometries, strict=True):
        own = element.encode_queries(p, q_encoded, g.q_positions, g.q_length)
        q_encoded = _vectors(element, "encode_queries", q, own)
        own = element.encode_keys(p, k_encoded, g.k_positions, g.k_length)
        k_encoded = _vectors(element, "encode_keys", k, own)
    return q_encoded, k_encoded


def capped(logits: Array, cap: float) -> Array:
    """``cap * tanh(logits / cap)``, the soft cap of Gemma 2 (arXiv:2408.00118, section 2), within ``-cap .. cap``."""
    return cap * jnp.tanh(logits / cap)


def dense(
    call: Prepared, *, return_weights: bool = False, shared_bias: Array | None = None
) -> Array | tuple[Array, Array]:
    """The reference: logits and weights of all pairs as arrays; see `attend`."""
    call = for_each_head(call)
    encodings, params, per_element, v = call.encodings, call.params, call.geometries, call.v
    logits, normalizer = logits_of(call, shared_bias), only(encodings, "normalize")
    if normalizer is not None:
        weights = encodings[normalizer].normalize(params[normalizer], logits, per_element[normalizer])
        check_return(encodings[normalizer], "normalize", weights, dict(zip(PAIRS, logits.shape, strict=True)))
    else:
        weights = jax.nn.softmax(masked(logits, call.geometry.mask), axis=-1)
    out = outputs(call, jnp.einsum("bhqk,bhkd->bhqd", weights.astype(v.dtype), v))
    for element, p, g in zip(encodings, params, per_element, strict=True):
        term = element.value_term(p, weights, g)
        if term is not None:
            sizes = dict(zip(("batch", "heads", "queries", "head_dim"), out.shape, strict=True))
            out = out + check_return(element, "value_term", term, sizes).astype(out.dtype)
    return (out, weights) if return_weights else out


def outputs(call: Prepared, out: Array) -> Array:
    """The sums of weighted values ``[B, H, Q, D]`` after `encode_outputs` of all elements."""
    for element, p, g in reversed(list(zip(call.encodings, call.params, call.geometries, strict=True))):
        out = _vectors(element, "encode_outputs", out, element.encode_outputs(p, out, g.q_positions, g.q_length))
    return out


def for_each_head(call: Prepared) -> Prepared:
    """The call with keys and values for each query head, those of a group repeated."""
    if call.groups == 1:
        return call
    k, k_encoded, v = (jnp.repeat(x, call.groups, axis=1) for x in (call.k, call.k_encoded, call.v))
    return call._replace(k=k, k_encoded=k_encoded, v=v)


def masked(logits: Array, mask: Array | None) -> Array:
    """Logits that are very low where no query may attend; finite, so that a row without any key (padding) stays finite
    in value and in gradient.
    """
    return logits if mask is None else jnp.where(mask, logits, jnp.finfo(logits.dtype).min / 2)


def logits_of(call: Prepared, shared_bias: Array | None = None) -> Array:
    """``[B, H, Q, K]`` before the mask, of a call with keys `for_each_head`; see `attend`."""
    q, k, _, q_encoded, k_encoded, encodings, params, terms, per_element, _, cap = call
    of_pairs = dict(zip(PAIRS, (*q.shape[:3], k.shape[2]), strict=True))
    bias = _sum_of_biases(encodings, params, per_element, q.shape[0]) if shared_bias is None else shared_bias
    dtype, scorer = at_least_float32(q, k), only(encodings, "score")
    logits: Array
    if scorer is None:
        logits = jnp.einsum("bhqd,bhkd->bhqk", q_encoded, k_encoded, preferred_element_type=dtype) * call.scale
    else:
        of_scorer = params[scorer], q_encoded, k_encoded, per_element[scorer], terms[scorer]
        scores = encodings[scorer].score(*of_scorer)
        logits = check_return(encodings[scorer], "score", scores, of_pairs).astype(dtype)
    if cap is not None:
        logits = capped(logits, cap)
    adjusters = [i for i, element in enumerate(encodings) if "adjust_logits" in element.acts_on]
    if bias is not None:
        bias = _for_batch(bias.astype(dtype), logits.shape[0])
        if not adjusters:
            logits = logits + bias
    for element, p, g, t in zip(encodings, params, per_element, terms, strict=True):
        term = element.content_bias(p, q, k, g, t)
        if term is not None:
            logits = logits + check_return(element, "content_bias", term, of_pairs).astype(dtype)
    for i in adjusters:
        adjusted = encodings[i].adjust_logits(params[i], logits, bias, per_element[i])
        logits = check_return(encodings[i], "adjust_logits", adjusted, of_pairs).astype(dtype)
        bias = None  # is in the logits
    return logits


def position_bias(
    encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], geometry: Geometry | tuple[Geometry, ...]
) -> Array | None:
    """The sum ``[#B, H, Q, K]`` of all `bias` terms, or None: a function of positions only, so layers that share
    encodings and positions may share it.
    """
    per_element = geometry if isinstance(geometry, tuple) else (geometry,) * len(encodings)
    if per_element:
        check_params(encodings, params, {"num_heads": per_element[0].num_heads})
    return _sum_of_biases(encodings, _own_params(encodings, params, per_element), per_element)


def _own_params(
    encodings: tuple[PositionalEncoding, ...], params: tuple[Params, ...], geometries: tuple[Geometry, ...]
) -> tuple[Params, ...]:
    return tuple(e.own_params(p, g) for e, p, g in zip(encodings, params, geometries, strict=True))


def _sum_of_biases(
    encodings: tuple[PositionalEncoding, ...],
    params: tuple[Params, ...],
    per_element: tuple[Geometry, ...],
    rows: int | None = None,
) -> Array | None:
    total = None
    for element, p, g in zip(encodings, params, per_element, strict=True):
        term = element.bias(p, g.by_place() if element.bias_of_distance else g)
        if term is not None:
            sizes = (rows, g.num_heads // g.head_shards, g.q_positions.shape[1], g.k_positions.shape[1])
            check_return(element, "bias", term, dict(zip(PAIRS, sizes, strict=True)))
            total = term if total is None else total + term
    return total


def _vectors(element: PositionalEncoding, hook: str, given: Array, encoded: Array) -> Array:
    """Encoded vectors, refused unless they are real and one vector for each that was given; of any width."""
    sizes = dict(zip(("batch", "heads", "sequence"), given.shape, strict=False))
    return check_return(element, hook, encoded, sizes | {"head_dim": None}, exact=True)


def _for_batch(bias: Array, batch: int) -> Array:
    """``[1, H, Q, K]`` for each of ``batch`` rows: an outer product with ones, which XLA turns into a broadcast.

    Its gradient is the matrix product that sums over the batch. Written as a broadcast, XLA:CPU would fuse that sum
    with the backward pass of the softmax and compute the exponentials again, unvectorised.
    """
    if bias.shape[0] == batch:
        return bias
    return jnp.tensordot(jnp.ones((batch, 1), bias.dtype), bias, axes=1, precision="highest")
