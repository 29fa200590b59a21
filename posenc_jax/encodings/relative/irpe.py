"""Image relative position encoding: offsets in buckets, by axis or by distance, as biases or read by the query."""

import dataclasses
import functools
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, HeadAxes, Key, Params, PositionalEncoding, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.relative.shaw import check_whole, pick
from posenc_jax.encodings.shared.distances import relative_on_device


def piecewise_starts(ratio: float) -> np.ndarray:
    """The smallest whole distance of bucket 1, 2, ... int(2 ratio), int32 (bucket 0 begins at 0)::

        g(x) = x                                                                        where |x| <= a
               sign(x) min(b, round(a + ln(|x| / a) / ln(c / a) (b - a)))               elsewhere

    with a = ratio, b = 2 ratio, c = 8 ratio (Wu et al. 2021, equation 18, with the constants of the authors' code).
    Halves are rounded to even, as there; the bound b is cut off to a whole number.

    >>> piecewise_starts(1.9).tolist()
    [1, 2, 4]
    """
    alpha, beta = ratio, 2 * ratio
    buckets, distance = int(beta), 0
    starts: list[int] = []
    while len(starts) < buckets:
        distance += 1
        far = alpha + math.log(distance / alpha) / math.log(8) * (beta - alpha) if distance > alpha else distance
        starts += [distance] * (min(int(min(round(far), beta)), buckets) - len(starts))
    return np.array(starts, np.int32)


@dataclasses.dataclass(frozen=True)
class IRPE(PositionalEncoding):
    """A vector, or a number, for each bucket of offsets of two cells: near ones exactly, far ones by logarithm::

        logits_ij += q_i . r_B(d) / sqrt(D)   "contextual",      logits_ij += b_B(d)   "bias"
        B(d) = (g(d_y), g(d_x)) "product",   g(round(|d|)) "euclidean";   d = position of i - position of j

    "cross" is the sum of two tables, one read by g(d_y), one by g(d_x); g is `piecewise_starts`. (Wu et al. 2021,
    sections 3.2 and 3.3, equations 13 to 24, in the form of the authors' code: microsoft/Cream, DeiT-with-iRPE.) There
    the heads of a layer share a table of vectors and each has its own biases, as the paper found best, and encodings
    on queries and on values are choices besides, which the paper found to add little. The fourth mapping,
    quantization, is left out: the code buckets squared distances, the paper ranks of distances.

    Positions ``[#B, S, 2]``, as from `Grid`, must be integers.

    Attributes:
      mapping: how offsets are mapped to buckets: "product", "cross" or "euclidean", as above.
      mode: "contextual" for vectors, which the query reads, "bias" for numbers.
      ratio: the a of `piecewise_starts`, 1.9 in the authors' models, so that an axis has buckets -3 .. 3.

    Parameters: ``table [buckets, D]`` for "contextual", ``[buckets, H]`` for "bias" (row (g_y + n)(2 n + 1) + g_x + n
    for "product", n = int(2 ratio); g + n for "euclidean", of whose rows 0 .. n - 1 no pair reads; for "cross" the rows
    of y, then those of x), from N(0, 0.02^2); 0 in the authors' code.
    """

    mapping: Literal["product", "cross", "euclidean"] = "product"
    mode: Literal["contextual", "bias"] = "contextual"
    ratio: float = 1.9

    name = "irpe"
    paper = "arXiv:2107.14222"
    citation = """@inproceedings{wu2021rethinking, author = {Wu, K. and Peng, H. and Chen, M. and Fu, J. and Chao, H.},
        title = {{Rethinking and Improving Relative Position Encoding for Vision Transformer}}, booktitle = {ICCV},
        year = {2021}, eprint = {2107.14222}}"""
    methods = (
        Method("relative", "iRPE, product", "grid(width=8)|irpe", "Wu et al. 2021", use="s"),
        Method("relative", "iRPE, cross", "grid(width=8)|irpe(mapping='cross')", "Wu et al. 2021", use="s"),
        Method(
            "additive", "iRPE, Euclidean bias", "grid(width=8)|irpe(mapping='euclidean', mode='bias')", "Wu et al. 2021"
        ),
    )
    shift_invariant = True
    integer_positions = True
    per_layer = True
    position_axes = 2
    limits = limited(
        ratio=at_least(1, ", since that many offsets have a bucket of their own: the authors have 1.9", most=1024)
    )

    @property
    def unsigned(self) -> bool:  # type: ignore[override]
        """True if offsets are mapped by their Euclidean distance."""
        return self.mapping == "euclidean"

    @property
    def bias_of_distance(self) -> bool:  # type: ignore[override]
        """True in mode "bias", which does not read the query."""
        return self.mode == "bias"

    @property
    def head_axes(self) -> HeadAxes:  # type: ignore[override]
        """Biases are those of each head; heads share vectors."""
        return (("table", 1),) if self.mode == "bias" else ()

    @property
    def acts_on(self) -> frozenset[str]:
        """The one hook of the ``mode``."""
        return super().acts_on - {"content_bias" if self.mode == "bias" else "bias"}

    @property
    def num_buckets(self) -> int:
        """Rows of the table."""
        one = 2 * int(2 * self.ratio) + 1
        return {"product": one * one, "cross": 2 * one, "euclidean": one}[self.mapping]

    def init(self, key: Key, dims: Dims) -> Params:
        columns = dims.num_heads if self.mode == "bias" else dims.head_dim
        return {"table": 0.02 * jax.random.normal(key, (self.num_buckets, columns), jnp.float32)}

    def rows(self, geometry: Geometry) -> list[Array]:
        """Rows of the table for each pair, ``[#B, Q, K]``; two arrays of them for "cross"."""
        offsets = -relative_on_device(geometry)
        check_whole(offsets, "IRPE")
        starts, side = piecewise_starts(self.ratio), int(2 * self.ratio)

        def begun(sizes: Array, at: np.ndarray) -> Array:
            return jnp.searchsorted(at.astype(sizes.dtype), sizes, side="right", method="compare_all").astype(np.int32)

        if self.mapping == "euclidean":
            # A root is rounded to s or more where its square exceeds s^2 - s, all in integers; a cell beyond the last
            # start on one axis is in the last bucket however far it is.
            squared = jnp.square(offsets.clip(-starts[-1], starts[-1]).astype(np.int32)).sum(axis=-1)
            return [begun(squared, starts**2 - starts + 1) + side]
        y, x = (jnp.sign(a) * begun(jnp.abs(a), starts) + side for a in (offsets[..., 0], offsets[..., 1]))
        return [y * (2 * side + 1) + x] if self.mapping == "product" else [y, x + 2 * side + 1]

    def bias(self, params: Params, geometry: Geometry) -> Array | None:
        if self.mode == "contextual":
            return None
        table = jnp.asarray(params["table"])
        parts = [jnp.moveaxis(jnp.take(table, r, axis=0, mode="clip"), -1, 1) for r in self.rows(geometry)]
        return functools.reduce(jnp.add, parts)

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array | None:
        if self.mode == "bias":
            return None
        dtype = at_least_float32(q)
        table = jnp.asarray(params["table"]).astype(dtype)
        products = jnp.einsum("bhqd,rd->bhqr", q.astype(dtype), table, precision="highest") * q.shape[-1] ** -0.5
        return functools.reduce(jnp.add, [pick(products, r) for r in self.rows(geometry)])
