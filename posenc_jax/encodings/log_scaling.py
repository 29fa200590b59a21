"""Queries scaled by the logarithm of how many keys they see (Su 2021; Chiang and Cholak 2022)."""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Params, PositionalEncoding, at_least_float32, by_token
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.value import above, limited


class CountsKeys(PositionalEncoding):
    """Base class of encodings that scale queries by how many keys they see, with a field ``count``."""

    count: Literal["position", "length"]

    @property
    def causal_only(self) -> bool:  # type: ignore[override]
        """Without a causal mask a query sees all keys, wherever it stands."""
        return self.count == "position"

    @property
    def position_axes(self) -> int | Literal["any"] | None:  # type: ignore[override]
        """Plain positions where they are counted."""
        return None if self.count == "position" else "any"

    def keys_seen(self, positions: Array, length: Array) -> Array:
        """``[#B, S]``: by ``count`` a query's position and one, or the length of its sequence; at least 1."""
        return jnp.maximum(jnp.asarray(positions + 1 if self.count == "position" else by_token(length)), 1)


@dataclasses.dataclass(frozen=True)
class LogScaling(CountsKeys):
    """Multiplies queries by a number that grows with how many keys they see: more keys do not flatten attention::

        q'_i = q_i max(1, log(n_i) / log(L)),   n_i = p_i + 1, the keys that a causal query at p_i sees

    Attention over n keys by their content is then as sharp as over L, the training length.

    No encoding of positions by itself: an element beside one, as in ``(LogScaling(4096), ReRoPE(window=512))``, the
    authors' setting of ReRoPE. Entropy of the weights then depends little on n (Su 2021, kexue.fm/archives/8823); with
    logits of bounded size a softmax over n keys must flatten as n grows (Chiang and Cholak 2022, section 5.3).

    Attributes:
      training_length: L, at which the factor is 1.
      count: "position" is n = p + 1, as in Su's code for causal models (bojone/rerope). "length" is n = the sequence's
        length, for all queries alike, as in both papers, which have no causal mask.
      clip: only enlarge (True, Su's code). False also shrinks queries below L, as both papers do: ``LogScaling(512,
        count="length", clip=False)`` is Su's log_512(n), ``training_length=math.e`` the plain log(n) of Chiang and
        Cholak.

    Positions count from 0; before 0 a query counts one key. They are those that elements before this one leave: put it
    first. What others add to the logits (`bias`, `content_bias`) is not scaled.

    >>> import numpy as np
    >>> q, positions = np.ones((1, 1, 3, 1), np.float32), np.array([[0, 3, 15]])
    >>> LogScaling(training_length=4).encode_queries({}, q, positions, None).ravel().tolist()
    [1.0, 1.0, 2.0]
    """

    training_length: int | float = 512
    count: Literal["position", "length"] = "position"
    clip: bool = True

    name = "log_scaling"
    paper = "arXiv:2202.12172"
    citation = """@misc{su2021attention, author = {Su, J.}, title = {{Attention scale from the viewpoint of entropy
        invariance}}, year = {2021}, url = {https://kexue.fm/archives/8823}}
        @inproceedings{chiang2022overcoming, author = {Chiang, D. and Cholak, P.}, title = {{Overcoming a Theoretical
        Limitation of Self-Attention}}, booktitle = {ACL}, year = {2022}, eprint = {2202.12172}}"""
    methods = (
        Method(
            "rotary",
            "Log-n scaling of queries",
            "log_scaling(training_length=64)|rope",
            "Su 2021; Chiang and Cholak 2022",
            use="W",
        ),
    )
    limits = limited(
        training_length=above(1, ", as log n is divided by its logarithm: give the length of the training sequences")
    )

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(q)
        factor = jnp.log(self.keys_seen(positions, length).astype(dtype)) / math.log(self.training_length)
        if self.clip:
            factor = jnp.maximum(factor, 1)
        return (jnp.asarray(q).astype(dtype) * factor[:, None, :, None]).astype(q.dtype)
