"""T5's relative bias: one learned scalar per head and bucket of distances (Raffel et al. 2019)."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.shared.distances import by_distance


def bucket_starts(num_buckets: int, max_distance: int) -> np.ndarray:
    """``[num_buckets - 1]`` int32: the smallest distance in bucket 1, 2, ... of one direction (bucket 0 begins at 0).

    The first m = num_buckets // 2 buckets hold one distance each. Bucket b of the others begins at the smallest n with
    ``floor(log(n / m) / log(max_distance / m) * (num_buckets - m)) >= b - m``. Found with integers, so that the
    rounding of a logarithm, which differs between devices, decides nothing.

    Raises:
      ValueError: for fewer than two buckets, or a ``max_distance`` within the buckets that hold one distance.
    """
    exact = num_buckets // 2
    if exact < 1:
        raise ValueError(f"{num_buckets} buckets for one direction: use at least 2 (4 for both directions together)")
    if max_distance <= exact:
        raise ValueError(
            f"max_distance = {max_distance} must exceed {exact}, the number of distances that have a bucket of their "
            "own: raise max_distance or lower num_buckets"
        )
    starts = list(range(1, exact))
    distance, rest = exact, num_buckets - exact
    for step in range(rest):
        # (n / m)^rest >= (max_distance / m)^step, without fractions.
        while distance**rest * exact**step < max_distance**step * exact**rest:
            distance += 1
        starts.append(distance)
    return np.array(starts, np.int32)


def t5_buckets(relative: Array, num_buckets: int = 32, max_distance: int = 128, *, bidirectional: bool) -> Array:
    """The bucket 0 .. num_buckets-1 of each relative position: int32 in the shape of ``relative``; NumPy in, NumPy out.

    ``relative`` is key minus query. Causal: distances to the past; future keys share bucket 0 with the token itself.
    Bidirectional: the first half of the buckets for keys at or before the query, the second half for keys after it; the
    first bucket of the second half (16 of 32) would be distance 0 and is never used, as in every T5. A fractional
    distance counts as the whole distance below it.

    Raises:
      ValueError: see `bucket_starts`.

    >>> t5_buckets(np.array([-128, -8, -1, 0, 1, 8, 128]), bidirectional=True).tolist()
    [15, 8, 1, 0, 17, 24, 31]
    """
    side = num_buckets // 2 if bidirectional else num_buckets
    starts = bucket_starts(side, max_distance)
    buckets: Array
    distance: Any = abs(relative) if bidirectional else (-relative).clip(0)
    if isinstance(relative, jax.Array):
        buckets = jnp.searchsorted(starts, distance, side="right", method="compare_all").astype(np.int32)
    else:
        buckets = np.searchsorted(starts, distance, side="right").astype(np.int32)
    return buckets + side * (relative > 0).astype(np.int32) if bidirectional else buckets


def read_buckets(table: Array, relative: Array, max_distance: int, *, bidirectional: bool) -> Array:
    """``[#B, H, P]``: of ``table [H, num_buckets]`` the column that each of ``relative [#B, P]`` has; NaN for NaN."""
    buckets = t5_buckets(relative, table.shape[1], max_distance, bidirectional=bidirectional)
    values = jnp.swapaxes(jnp.take(table, buckets, axis=1, mode="clip"), 0, 1)
    whole = jnp.issubdtype(relative.dtype, jnp.integer)
    return values if whole else jnp.where(jnp.isnan(relative)[:, None], jnp.nan, values)


@dataclasses.dataclass(frozen=True)
class T5Bias(PositionalEncoding):
    """A learned bias per head and bucket of distances: near distances exactly, far ones logarithmically::

        logits_ij += table[h, bucket(j - i)]

    (Raffel et al. 2020, section 2.1; `t5_buckets`). Bidirectional wherever there is no causal mask. One table per
    stack, shared by its layers; T5 has none in cross-attention, so leave that slot empty. Departure: Mesh-TensorFlow
    and T5X add a float32 epsilon inside the logarithm, which moves no bucket at the default sizes.

    Attributes:
      num_buckets: how many there are in all, half of them for each direction where there is no causal mask.
      max_distance: the distance from which on all share the last bucket.
      scaled: False leaves q . k undivided, as T5 does, which has the 1/sqrt(D) in the initial values of its query
        projection instead; the models here have not, so they scale by default. (With ``Transformer.divide_logits``
        False they have; then ``scaled`` stays True.)
      per_layer: each layer has a table of its own (UMT5).

    Parameters: ``table [H, num_buckets]``, uniform within sqrt(6 / (H + num_buckets)) as in T5X (Hugging Face: normal
    with std d_model^-0.5).

    Four buckets, of which a causal mask leaves all to the past: distances 0, 1, 2 and 3, and 4 and more.

    >>> table = np.array([[0.0, -1.0, -2.0, -3.0]], np.float32)
    >>> geometry = Geometry.of_length(6, num_heads=1, causal=True)
    >>> T5Bias(num_buckets=4, max_distance=8).bias({"table": table}, geometry)[0, 0, 5].tolist()
    [-3.0, -3.0, -2.0, -2.0, -1.0, 0.0]
    """

    num_buckets: int = 32
    max_distance: int = 128
    scaled: bool = True
    per_layer: bool = False  # type: ignore[misc]  # a class fact of the others

    name = "t5"
    paper = "arXiv:1910.10683"
    citation = """@article{raffel2020exploring, author = {Raffel, C. and Shazeer, N. and Roberts, A. and Lee, K. and
        Narang, S. and Matena, M. and Zhou, Y. and Li, W. and Liu, P. J.}, title = {{Exploring the Limits of Transfer
        Learning with a Unified Text-to-Text Transformer}}, journal = {JMLR}, volume = {21}, number = {140},
        year = {2020}, eprint = {1910.10683}}"""
    methods = (Method("additive", "T5 bias", "t5", "Raffel et al. 2019", use="W"),)
    shift_invariant = True
    head_axes = (("table", 0),)
    bias_of_distance = True

    def check_fields(self) -> None:
        if self.num_buckets < 4 or self.num_buckets % 2:
            raise ValueError(
                f"T5Bias.num_buckets = {self.num_buckets} must be even and at least 4, since without a causal mask "
                f"each direction takes half: use {max(4, self.num_buckets + self.num_buckets % 2)}"
            )
        if self.max_distance <= self.num_buckets // 2:
            raise ValueError(
                f"T5Bias.max_distance = {self.max_distance} must exceed num_buckets // 2 = {self.num_buckets // 2}, "
                "the number of distances that have a bucket of their own: raise max_distance or lower num_buckets"
            )

    @property
    def undivided(self) -> bool:  # type: ignore[override]
        """True if ``scaled`` is False."""
        return not self.scaled

    def check_beside(self, others: tuple[PositionalEncoding, ...]) -> None:
        """Refuses encodings that widen queries where they are to stay undivided: by sqrt of which D is not settled."""
        wider = next((other for other in others if other.encoded_dim(8) != 8), None)
        if not self.scaled and wider is not None:
            raise ValueError(
                f"T5Bias(scaled=False) multiplies queries by sqrt(D), and {wider!r} makes them wider: leave scaled=True"
            )

    @property
    def acts_on(self) -> frozenset[str]:
        """Queries only where ``scaled`` is False."""
        return super().acts_on - {"encode_queries"} if self.scaled else super().acts_on

    def initial_limit(self, num_heads: int) -> float:
        """Initial values are uniform between minus this and this."""
        return float((6 / (num_heads + self.num_buckets)) ** 0.5)

    def init(self, key: Key, dims: Dims) -> Params:
        limit = self.initial_limit(dims.num_heads)
        return {"table": jax.random.uniform(key, (dims.num_heads, self.num_buckets), jnp.float32, -limit, limit)}

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        """``[B, H, S, D]``: as they are, or times sqrt(D), which takes the scaling of `attend` away."""
        return q if self.scaled else (q.astype(at_least_float32(q)) * q.shape[-1] ** 0.5).astype(q.dtype)

    def bias(self, params: Params, geometry: Geometry) -> Array:
        """``[#B, H, Q, K]``; for contiguous positions from the Q+K-1 distances that occur."""

        def values(relative: Array) -> Array:
            return read_buckets(params["table"], relative, self.max_distance, bidirectional=not geometry.causal)

        return by_distance(values, geometry)
