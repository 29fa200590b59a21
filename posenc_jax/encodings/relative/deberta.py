"""DeBERTa's disentangled attention: content to position and position to content (He et al. 2021)."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import LARGEST, at_least, limited
from posenc_jax.encodings.relative.shaw import check_whole, occurring, pick


def clipped_row(distance: Array, span: int) -> Array:
    """DeBERTa v1's delta, the row 0 .. 2 span - 1 of a distance (query minus key), int32::

        0 where distance <= -span,   2 span - 1 where distance >= span,   distance + span between

    (He et al. 2021, equation 3). NumPy in, NumPy out.
    """
    return distance.clip(-span, span - 1).astype(np.int32) + np.int32(span)


def log_bucket_starts(num_buckets: int, max_distance: int) -> np.ndarray:
    """``[num_buckets + 1]`` int32: the smallest distance, query minus key or key minus query, of each bucket of DeBERTa
    v2 and v3.

    With m = num_buckets // 2, distances up to m have a bucket each, and farther ones share buckets by the logarithm::

        bucket(d) = ceil(log(d / m) / log((max_distance - 1) / m) (m - 1)) + m,   d > m

    The last bucket has a row on the side of keys after the query alone. It begins at ``max_distance``, or later where
    the number of buckets is odd. Computed with integers, so that no rounding of a logarithm decides.

    >>> log_bucket_starts(8, 12).tolist()
    [0, 1, 2, 3, 4, 5, 6, 8, 12]

    Raises:
      ValueError: for fewer than 4 buckets, or a ``max_distance`` that leaves no logarithm.
    """
    if num_buckets < 4:
        raise ValueError(
            f"num_buckets = {num_buckets} must be at least 4, half of it for distances of their own: DeBERTa v2 and v3 "
            "have 256"
        )
    middle, last = num_buckets // 2, max_distance - 1
    if last <= middle:
        raise ValueError(
            f"max_distance = {max_distance} must exceed num_buckets // 2 + 1 = {middle + 1}: distances up to "
            "half the buckets have rows of their own; raise max_distance or lower num_buckets"
        )
    starts = [*range(middle + 1)]
    for step in range(num_buckets - middle):
        # The first distance with (distance / m)^(m-1) > (last / m)^step, a little above this root of it.
        distance = int(middle * (last / middle) ** (step / (middle - 1))) - 1
        while distance ** (middle - 1) * middle**step <= last**step * middle ** (middle - 1):
            distance += 1
        starts.append(min(distance, LARGEST))
    return np.array(starts, np.int32)


@dataclasses.dataclass(frozen=True)
class DeBERTa(PositionalEncoding):
    """A learned vector per distance, projected like a token, meets the queries as a key, the keys as a query, or both::

        logits_ij = (q_i . k_j + q_i . K^r_delta(i,j) + k_j . Q^r_delta(i,j)) / sqrt(3 D)
        K^r = P W_K,   Q^r = P W_Q

    (He et al. 2021, section 3.1, in the form of the authors' code; q_i . k_j comes from `attend`, divided here by
    sqrt(3) through the queries, as `encode_queries` does, or by sqrt(2) with one term.) delta is a row of the table P
    and counts query minus key, the opposite of `Geometry.relative`.

    Departures: P (and its normalisation) belongs to a layer like the projections, while the authors share it between
    layers, and released models of v2 and v3 share W_Q and W_K with the content too (``share_att_key``); an encoding
    does not see the model's projections, so that such checkpoints are read with copies of all these, which compute the
    same and which training would set apart; no dropout of P. Position to position, which the paper leaves out too, and
    the absolute positions of its mask decoder, a matter of the model, are not here.

    Positions must be integers. Known positions cost products with the rows that occur, traced ones (packing, a cache)
    with the whole table.

    Attributes:
      version: "v1" clips distances to ``max_distance`` (`clipped_row`) and projects keys without an offset; "v2" (also
        v3, and Hugging Face's deberta-v2) has ``num_buckets`` logarithmic rows in each direction
        (`log_bucket_starts`), a layer normalisation of P, and an offset in both projections.
      max_distance: "v1" clips distances to it; where the last buckets of "v2" begin. 512 in the paper.
      num_buckets: the rows in each direction of "v2", 256 in v2 and v3.
      terms: "both", "c2p" (the second term above alone) or "p2c" (the third).
      p2c_distance: "code" reads Q^r at delta(i, j) as the authors' code and Hugging Face do, "paper" at delta(j, i) as
        equation 4 has it.

    Parameters: ``table`` (P) ``[2 max_distance or 2 num_buckets, d_model]``; ``key_projection`` and
    ``query_projection`` ``[H, D, d_model]`` with ``key_offset`` (v2) and ``query_offset`` ``[H, D]``; for v2
    ``norm_scale`` and ``norm_offset`` ``[d_model]``. Normal with std 0.02, offsets 0, as in the authors' code.
    """

    version: Literal["v1", "v2"] = "v1"
    max_distance: int = 512
    num_buckets: int = 256
    terms: Literal["both", "c2p", "p2c"] = "both"
    p2c_distance: Literal["code", "paper"] = "code"

    name = "deberta"
    paper = "arXiv:2006.03654"
    citation = """@inproceedings{he2021deberta, author = {He, P. and Liu, X. and Gao, J. and Chen, W.},
        title = {{DeBERTa: Decoding-enhanced BERT with Disentangled Attention}}, booktitle = {ICLR}, year = {2021},
        eprint = {2006.03654}}"""
    methods = (
        Method("relative", "DeBERTa", "deberta", "He et al. 2020", use="W"),
        Method("relative", "DeBERTa, version 2 and 3", "deberta(version='v2')", "He et al. 2020", use="W"),
    )
    shift_invariant = True
    integer_positions = True
    per_layer = True
    head_axes = (("key_projection", 0), ("key_offset", 0), ("query_projection", 0), ("query_offset", 0))
    limits = limited(max_distance=at_least(1, ", or all keys look alike: the paper has 512"))

    def check_fields(self) -> None:
        if self.version == "v2":
            try:
                log_bucket_starts(self.num_buckets, self.max_distance)
            except ValueError as problem:
                raise ValueError(f"DeBERTa: {problem}") from None

    @property
    def span(self) -> int:
        """Rows of the table in each direction."""
        return self.max_distance if self.version == "v1" else self.num_buckets

    @property
    def scale(self) -> float:
        """The factor of q . k / sqrt(D): one over the square root of the number of products."""
        return (3 if self.terms == "both" else 2) ** -0.5

    def init(self, key: Key, dims: Dims) -> Params:
        heads = (dims.num_heads, dims.head_dim)

        def normal(index: int, *shape: int) -> Array:
            return 0.02 * jax.random.normal(jax.random.fold_in(key, index), shape, jnp.float32)

        params = {"table": normal(0, 2 * self.span, dims.d_model)}
        if self.terms != "p2c":
            params["key_projection"] = normal(1, *heads, dims.d_model)
            if self.version == "v2":
                params["key_offset"] = jnp.zeros(heads, jnp.float32)
        if self.terms != "c2p":
            params["query_projection"] = normal(2, *heads, dims.d_model)
            params["query_offset"] = jnp.zeros(heads, jnp.float32)
        if self.version == "v2":
            params["norm_scale"] = jnp.ones(dims.d_model, jnp.float32)
            params["norm_offset"] = jnp.zeros(dims.d_model, jnp.float32)
        return params

    def rows(self, distance: Array) -> Array:
        """The row of each distance, query minus key; NumPy in, NumPy out."""
        check_whole(distance, "DeBERTa")
        if self.version == "v1":
            return clipped_row(distance, self.span)
        starts = log_bucket_starts(self.num_buckets, self.max_distance)[1:]
        bucket: Array
        if isinstance(distance, np.ndarray | np.generic):
            bucket = np.searchsorted(starts, abs(distance), side="right")
        else:
            bucket = jnp.searchsorted(starts, abs(distance), side="right", method="compare_all")
        rows = self.num_buckets + (2 * (distance > 0) - 1) * bucket
        return rows.clip(0, 2 * self.num_buckets - 1).astype(np.int32)

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        """``[B, H, S, D]``: q over the root of the number of products."""
        return (q.astype(at_least_float32(q)) * self.scale).astype(q.dtype)

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        """``[B, H, Q, K]``: the position terms over ``sqrt(D)`` and the root of the number of products."""
        dtype = at_least_float32(q, k)
        params = {name: p.astype(dtype) for name, p in params.items()}
        relative = geometry.relative
        total: Array | float = 0.0
        if self.terms != "p2c":
            total = self._term(params, "key", q.astype(dtype), self.rows(-relative))
        if self.terms != "c2p":
            rows = self.rows(-relative if self.p2c_distance == "code" else relative).swapaxes(1, 2)
            total += self._term(params, "query", k.astype(dtype), rows).swapaxes(2, 3)
        return total * (self.scale * q.shape[-1] ** -0.5)

    def _term(self, params: Params, role: Literal["key", "query"], x: Array, rows: Array) -> Array:
        """``[B, H, S, T]``: products of ``x [B, H, S, D]`` with the vectors at ``rows [#B, S, T]`` in that role."""
        part, rows = occurring(rows, 2 * self.span)
        table = params["table"][part]
        if self.version == "v2":
            table = layer_norm(table, params["norm_scale"], params["norm_offset"], 1e-7)
        vectors = jnp.einsum("rm,hdm->hrd", table, params[f"{role}_projection"])
        if f"{role}_offset" in params:
            vectors += params[f"{role}_offset"][:, None]
        return pick(jnp.einsum("bhsd,hrd->bhsr", x, vectors), rows)


def layer_norm(x: Array, scale: Array, offset: Array, epsilon: float) -> Array:
    """``(x - mean) / sqrt(variance + epsilon) * scale + offset`` over the last axis, M: ``[R, M]``."""
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    return centred / deviation * scale[None] + offset[None]
