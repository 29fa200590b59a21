"""Relative position representations in keys and values (Shaw, Uszkoreit and Vaswani 2018), and vectors that meet both
the query and the key (Huang et al. 2020).
"""

import dataclasses

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
from posenc_jax.encodings.interface.value import at_least, limited


def check_whole(relative: Array, reader: str) -> None:
    """Refuses fractional distances, on behalf of the encoding ``reader``."""
    if not jnp.issubdtype(relative.dtype, jnp.integer):
        raise ValueError(f"{reader} reads a table by whole distances, got {relative.dtype}: use integer positions")


def clipped_distances(relative: Array, max_distance: int, reader: str = "Shaw") -> Array:
    """``clip(relative, -k, k) + k``, the row 0 .. 2k of a table such as Shaw's, int32; NumPy in, NumPy out.

    Raises:
      ValueError: for fractional positions; it names the encoding, ``reader``.
    """
    check_whole(relative, reader)
    return relative.clip(-max_distance, max_distance).astype(np.int32) + max_distance


def occurring(rows: Array, num_rows: int) -> tuple[slice, Array]:
    """The part of a table of ``num_rows`` that ``rows`` read, and ``rows`` counted from its start: all of it, and
    unchanged, unless ``rows`` are known (NumPy).
    """
    if not isinstance(rows, np.ndarray) or not rows.size:
        return slice(0, num_rows), rows
    first, last = int(rows.min()), int(rows.max())
    return slice(first, last + 1), rows - np.int32(first)


def pick(x: Array, rows: Array) -> Array:
    """``[B, H, Q, K]``: element ``rows [#B, Q, K]`` of the last axis of ``x [B, H, Q, R]``."""
    return jnp.take_along_axis(x, rows[:, None], axis=-1, mode="promise_in_bounds")


def sum_by(weights: Array, rows: Array, num_rows: int) -> Array:
    """``[B, H, Q, R]``: the sum of ``weights [B, H, Q, K]`` over the keys with ``rows [#B, Q, K] == r``.

    The transpose of `pick`, which is also how it is computed.
    """
    # Like the weights also in the axes of a `jax.shard_map` that they vary over.
    like = jax.lax.full_like(weights, 0, shape=(*weights.shape[:3], num_rows))
    return jax.linear_transpose(lambda x: pick(x, rows), like)(weights)[0]


@dataclasses.dataclass(frozen=True)
class Shaw(PositionalEncoding):
    """A learned vector per clipped distance, added to the keys and, with ``values``, to the values::

        logits_ij += q_i . a^K_r(j-i) / sqrt(D),   out_i += sum_j w_ij a^V_r(j-i),   r(d) = clip(d, -k, k)

    (Shaw et al. 2018, equations 3 to 5, in the form of section 3.3: q a^K' and the sum of weights per distance are
    ``[B, H, Q, 2k+1]``, and no vector per pair exists.) The tables are shared by the heads and differ between layers,
    as in the paper. Positions must be integers. Departure: with grouped-query heads all H query heads read the same
    tables as well.

    Attributes:
      max_distance: k, 16 in the paper's base model.
      values: False leaves out the second term, which the paper's ablation found to matter little for translation.

    Parameters: ``keys`` and ``values`` ``[2k+1, D]``, row ``d + k`` for key minus query d; the paper gives no
    initialisation, here Glorot-uniform, the default of the authors' tensor2tensor variables.

    >>> params = {"keys": np.array([[1.0], [2.0], [3.0]], np.float32)}
    >>> q, geometry = np.ones((1, 1, 3, 1), np.float32), Geometry.of_length(3, num_heads=1)
    >>> Shaw(1, values=False).content_bias(params, q, q, geometry, None)[0, 0].tolist()
    [[2.0, 3.0, 3.0], [1.0, 2.0, 3.0], [1.0, 1.0, 2.0]]
    """

    max_distance: int = 16
    values: bool = True

    name = "shaw"
    paper = "arXiv:1803.02155"
    citation = """@inproceedings{shaw2018self, author = {Shaw, P. and Uszkoreit, J. and Vaswani, A.},
        title = {{Self-Attention with Relative Position Representations}}, booktitle = {NAACL-HLT}, year = {2018},
        eprint = {1803.02155}}"""
    methods = (Method("relative", "Shaw", "shaw", "Shaw et al. 2018", use="W"),)
    shift_invariant = True
    integer_positions = True
    per_layer = True
    limits = limited(max_distance=at_least(1, ", or all keys look alike: the paper has 16"))

    @property
    def acts_on(self) -> frozenset[str]:
        """Without ``values`` nothing is added to the output."""
        return super().acts_on if self.values else super().acts_on - {"value_term"}

    def init(self, key: Key, dims: Dims) -> Params:
        shape = (2 * self.max_distance + 1, dims.head_dim)
        limit = (6 / sum(shape)) ** 0.5
        names = ("keys", "values") if self.values else ("keys",)
        return {
            name: jax.random.uniform(jax.random.fold_in(key, i), shape, jnp.float32, -limit, limit)
            for i, name in enumerate(names)
        }

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q)
        rows = clipped_distances(geometry.relative, self.max_distance)
        products = jnp.einsum("bhqd,rd->bhqr", q.astype(dtype), params["keys"].astype(dtype))
        return pick(products, rows) * q.shape[-1] ** -0.5

    def value_term(self, params: Params, weights: Array, geometry: Geometry) -> Array | None:
        if not self.values:
            return None
        table = params["values"]
        rows = clipped_distances(geometry.relative, self.max_distance)
        return sum_by(weights, rows, table.shape[0]) @ table.astype(weights.dtype)


@dataclasses.dataclass(frozen=True)
class Huang(PositionalEncoding):
    """A learned vector per distance, multiplied with the query and with the key::

        logits_ij += (q_i . a_r(j-i) + k_j . a_r(j-i)) / sqrt(D)

    (Huang et al. 2020, method 4: with q_i . k_j, the product (q_i + a) . (k_j + a) less a . a.) The definition relied
    on is Hugging Face's BERT with ``position_embedding_type="relative_key_query"``, which names the paper; its
    ``relative_key`` is `Shaw` without values. The vectors are shared by the heads and differ between layers, as there.

    Positions must be integers. Known ones cost products with the rows that occur, traced ones (packing, a cache) with
    the whole table.

    Attributes:
      max_distance: the longest distance with a vector, None for the longest that occurs, ``dims.max_len - 1``, as in
        Hugging Face's table; farther ones are clipped to it, like Shaw's.

    Parameters: ``table`` ``[2 max_distance + 1, D]``, row ``d + max_distance`` for key minus query d (Hugging Face
    counts query minus key: its rows are in the opposite order), normal with std 0.02.

    >>> table = {"table": jnp.array([[1.0], [2.0], [3.0]])}
    >>> q, k = jnp.ones((1, 1, 3, 1)), jnp.full((1, 1, 3, 1), 10.0)
    >>> Huang(1).content_bias(table, q, k, Geometry.of_length(3, num_heads=1), None)[0, 0].tolist()
    [[22.0, 33.0, 33.0], [11.0, 22.0, 33.0], [11.0, 11.0, 22.0]]
    """

    max_distance: int | None = None

    name = "huang"
    paper = "arXiv:2009.13658"
    citation = """@inproceedings{huang2020improve, author = {Huang, Z. and Liang, D. and Xu, P. and Xiang, B.},
        title = {{Improve Transformer Models with Better Relative Position Embeddings}}, booktitle = {Findings of
        EMNLP}, year = {2020}, eprint = {2009.13658}}"""
    methods = (Method("relative", "Huang's method 4", "huang", "Huang et al. 2020", use="W"),)
    shift_invariant = True
    integer_positions = True
    per_layer = True
    limits = limited(max_distance=at_least(1, ", or all keys look alike; None takes the model's max_len - 1"))

    def init(self, key: Key, dims: Dims) -> Params:
        longest = max(dims.max_len - 1, 1) if self.max_distance is None else self.max_distance
        return {"table": 0.02 * jax.random.normal(key, (2 * longest + 1, dims.head_dim), jnp.float32)}

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        num_rows = params["table"].shape[0]
        part, rows = occurring(clipped_distances(geometry.relative, num_rows // 2, "Huang"), num_rows)
        table = params["table"][part].astype(dtype)
        of_queries, of_keys = (jnp.einsum("bhsd,rd->bhsr", x.astype(dtype), table) for x in (q, k))
        products = pick(of_queries, rows) + pick(of_keys, rows.swapaxes(1, 2)).swapaxes(2, 3)
        return products * q.shape[-1] ** -0.5
