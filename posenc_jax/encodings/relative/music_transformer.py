"""Music Transformer's relative attention: a vector per head and distance, aligned by skewing (Huang et al. 2018)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, HeadAxes, Key, Params, PositionalEncoding, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.relative.shaw import check_whole, occurring, pick, sum_by
from posenc_jax.encodings.shared.draws import normals


def skew(x: Array) -> Array:
    """``[..., L, L]`` whose element i, j is ``x[..., i, j - i + L - 1]`` for j <= i, from ``[..., L, L]``.

    The last column of ``x`` belongs to distance 0. Above the diagonal stands what the reshape leaves there.
    """
    length = x.shape[-1]
    padded = jnp.concatenate([jnp.zeros_like(x[..., :1]), x], axis=-1)
    return padded.reshape(*x.shape[:-2], length + 1, length)[..., 1:, :]


def unskew(weights: Array) -> Array:
    """The inverse of `skew` on and below the diagonal, ``[..., L, L]``; what is above the diagonal is taken as 0."""
    length = weights.shape[-1]
    below = jnp.tril(weights)
    rows = jnp.concatenate([jnp.zeros_like(below[..., :1, :]), below], axis=-2)
    return rows.reshape(*weights.shape[:-2], length, length + 1)[..., 1:]


def _square(geometry: Geometry) -> bool:
    """Causal self-attention of tokens known to be in successive positions: the case that the skew serves."""
    pairs = ((geometry.q_positions, geometry.k_positions), (geometry.q_places, geometry.k_places))
    return (
        geometry.causal
        and geometry.contiguous
        and all(isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b) for a, b in pairs)
    )


@dataclasses.dataclass(frozen=True)
class MusicTransformer(PositionalEncoding):
    """A learned vector per distance up to the longest, added to the keys and, with ``values``, to the values::

        logits_ij += q_i . E^h_(j-i) / sqrt(D),   E_d = 0 where |d| >= max_distance

    (Huang et al. 2018, section 3.4; the authors' tensor2tensor, `dot_product_self_attention_relative_v2` and its
    unmasked form.) This is the first term of Shaw et al. (2018) with tables per head, computed from ``[H, L, L]``
    products instead of a vector per pair. Distances beyond the table add nothing in the authors' code; Shaw clips them.

    Where causal self-attention runs over contiguous positions known at trace time, the products are aligned by the
    authors' skew (`skew`), which pads and reshapes; all other cases, which the authors' code does not have (gaps,
    packing, a cache), pick from the same products. Without a causal mask a skew moves twice as much, and that form
    picks too.

    Attributes:
      max_distance: the number of rows in each direction, distance 0 among them (`max_relative_position`); None for the
        model's ``dims.max_len``.
      values: also adds ``sum_j w_ij F_(j-i)`` to the output (`add_relative_to_values`).
      shared: one table for all heads (`heads_share_relative_embedding`).

    Parameters: ``keys``, and ``values`` if asked for, ``[H, 2 max_distance - 1, D]`` (``[2 max_distance - 1, D]`` if
    shared), row ``d + max_distance - 1`` for key minus query d, normal with std D^-0.5 as in the authors' code. A
    causal model trains the first ``max_distance`` rows, which are the authors' table.

    Departure: with grouped-query heads each of the H query heads has its table. Positions must be integers. Known
    positions cost products with the rows that occur, traced ones (packing, a cache) with the whole table: there a
    ``max_distance`` below max_len saves time.

    >>> params = {"keys": np.array([[1.0], [2.0], [3.0]], np.float32)}
    >>> q, geometry = np.ones((1, 1, 3, 1), np.float32), Geometry.of_length(3, num_heads=1)
    >>> MusicTransformer(2, shared=True).content_bias(params, q, q, geometry, None)[0, 0].tolist()
    [[2.0, 3.0, 0.0], [1.0, 2.0, 3.0], [0.0, 1.0, 2.0]]
    """

    max_distance: int | None = None
    values: bool = False
    shared: bool = False

    name = "music_transformer"
    paper = "arXiv:1809.04281"
    citation = """@inproceedings{huang2019music, author = {Huang, C.-Z. A. and Vaswani, A. and Uszkoreit, J. and
        Shazeer, N. and Simon, I. and Hawthorne, C. and Dai, A. M. and Hoffman, M. D. and Dinculescu, M. and Eck,
        D.}, title = {{Music Transformer: Generating Music with Long-Term Structure}}, booktitle = {ICLR},
        year = {2019}, eprint = {1809.04281}}"""
    methods = (Method("relative", "Music Transformer", "music_transformer", "Huang et al. 2018", use="s"),)
    shift_invariant = True
    integer_positions = True
    per_layer = True
    limits = limited(max_distance=at_least(1, " (distance 0 is one row), or None for the model's max_len"))

    @property
    def head_axes(self) -> HeadAxes:  # type: ignore[override]
        """Unless the tables are shared."""
        return () if self.shared else (("keys", 0), ("values", 0))

    @property
    def acts_on(self) -> frozenset[str]:
        """Without ``values`` nothing is added to the output."""
        return super().acts_on if self.values else super().acts_on - {"value_term"}

    def init(self, key: Key, dims: Dims) -> Params:
        rows = 2 * (dims.max_len if self.max_distance is None else self.max_distance) - 1
        shape = (rows, dims.head_dim) if self.shared else (dims.num_heads, rows, dims.head_dim)
        names = ("keys", "values") if self.values else ("keys",)
        return normals(key, dict.fromkeys(names, shape), dims.head_dim**-0.5)

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        """``[B, H, Q, K]``: ``q_i . E / sqrt(D)``. By the skew, 0 for keys after the query."""
        dtype = at_least_float32(q)
        q, table = q.astype(dtype) * q.shape[-1] ** -0.5, params["keys"].astype(dtype)
        if _square(geometry):
            part = _past(table, q.shape[2])
            products = q @ _per_head(part).swapaxes(-1, -2)
            return jnp.tril(skew(jnp.pad(products, [(0, 0)] * 3 + [(q.shape[2] - part.shape[-2], 0)])))
        part, rows, inside = _read(table, geometry)
        products = q @ _per_head(part).swapaxes(-1, -2)
        return jnp.where(inside[:, None], pick(products, rows), 0)

    def value_term(self, params: Params, weights: Array, geometry: Geometry) -> Array | None:
        if not self.values:
            return None
        table = params["values"].astype(weights.dtype)
        if _square(geometry):
            part = _past(table, weights.shape[2])
            return unskew(weights)[..., weights.shape[2] - part.shape[-2] :] @ _per_head(part)
        part, rows, inside = _read(table, geometry)
        near = jnp.where(inside[:, None], weights, 0)
        return sum_by(near, rows, part.shape[-2]) @ _per_head(part)


def _per_head(table: Array) -> Array:
    """``[1, #H, R, D]`` from a table per head or a shared one."""
    return table[None] if table.ndim == 3 else table[None, None]


def _past(table: Array, length: int) -> Array:
    """The rows of distances ``-(length - 1) .. 0``, as far as there are such rows."""
    rows = (table.shape[-2] + 1) // 2
    return table[..., max(rows - length, 0) : rows, :]


def _read(table: Array, geometry: Geometry) -> tuple[Array, Array, Array]:
    """The part of the table that occurs, the row in it of each pair ``[#B, Q, K]``, and whether the pair has one."""
    relative = geometry.relative
    check_whole(relative, "MusicTransformer")
    last = table.shape[-2] // 2
    part, rows = occurring((relative.clip(-last, last) + last).astype(np.int32), table.shape[-2])
    return table[..., part, :], rows, (relative >= -last) & (relative <= last)
