"""Relative vectors that meet both the query and the key: "Method 4" (Huang et al. 2020)."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Terms, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shaw import clipped_distances, occurring, pick
from posenc_jax.encodings.value import at_least, limited


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
