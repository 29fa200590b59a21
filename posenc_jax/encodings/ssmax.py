"""Scalable-Softmax: logits multiplied by a learned number times the logarithm of how many keys there are."""

import dataclasses
from typing import Literal

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.log_scaling import CountsKeys
from posenc_jax.encodings.method import Method


@dataclasses.dataclass(frozen=True)
class SSMax(CountsKeys):
    """Multiplies queries by a learned number times the logarithm of the number of keys that they see, so that the
    softmax does not flatten with more keys::

        w_ij = n_i^(s z_ij) / sum_k n_i^(s z_ik) = softmax_j(s log(n_i) z_ij),   z_ij = q_i . k_j / sqrt(D)

    (Nakanishi 2025, Scalable-Softmax, sections 2 and 3.) Each head of each layer has its own s. It does not encode
    order by itself: put it beside an encoding, as in ``(SSMax(), RoPE())``. Biases of other elements are not scaled.

    Attributes:
      count: "position" is n = p + 1, what a causal query sees; "length" is n = the sequence's length for all queries.
      offset: the paper's second form, ``(s log(n_i) + b) z_ij``.
      start: the initial s; the paper's 0.168 is 1 over the mean of log n for n = 1 .. 1024.

    Parameters: ``scale`` (s) ``[H]``, and with ``offset`` ``offset`` (b) ``[H]``, zeros.

    >>> import numpy as np
    >>> q, positions = np.ones((1, 1, 3, 1), np.float32), np.array([[0, 1, 1023]])
    >>> SSMax().encode_queries({"scale": np.float32([0.5])}, q, positions, None).ravel().round(4).tolist()
    [0.0, 0.3465999960899353, 3.4656999111175537]
    """

    count: Literal["position", "length"] = "position"
    offset: bool = False
    start: float = 0.168

    name = "ssmax"
    paper = "arXiv:2501.19399"
    citation = """@misc{nakanishi2025scalable, author = {Nakanishi, K. M.}, title = {{Scalable-Softmax Is Superior for
        Attention}}, year = {2025}, eprint = {2501.19399}}"""
    methods = (
        Method("rotary", "Scalable-Softmax (SSMax)", "ssmax|rope", "Nakanishi 2025", use="s"),
        Method("rotary", "Scalable-Softmax with a bias", "ssmax(offset=True)|rope", "Nakanishi 2025"),
    )
    per_layer = True
    head_axes = (("scale", 0), ("offset", 0))

    def init(self, key: Key, dims: Dims) -> Params:
        scale = {"scale": jnp.full(dims.num_heads, self.start, jnp.float32)}
        return scale | ({"offset": jnp.zeros(dims.num_heads, jnp.float32)} if self.offset else {})

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(q, params["scale"])
        logs = jnp.log(self.keys_seen(positions, length).astype(dtype))[:, None, :, None]
        factor = jnp.asarray(params["scale"], dtype)[None, :, None, None] * logs
        if self.offset:
            factor = factor + jnp.asarray(params["offset"], dtype)[None, :, None, None]
        return (jnp.asarray(q).astype(dtype) * factor).astype(q.dtype)
