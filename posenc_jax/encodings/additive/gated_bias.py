"""WavLM's gated relative bias: T5's buckets, times a number that each token gives itself (Chi et al. 2021)."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.additive.t5 import T5Bias, read_buckets
from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.shared.distances import by_distance
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.token_order import at_queries


@dataclasses.dataclass(frozen=True)
class GatedBias(PositionalEncoding):
    """T5's bias, of which the token of the query decides how much counts::

        logits_ij += g_i table[h, bucket(j - i)],   g_i = a_i (b_i c_h - 1) + 2

        a_i = sigmoid(u . x_i^h + u_0),   b_i = sigmoid(w . x_i^h + w_0)

    x_i^h is the part of the block's input with the number of the head, d_model / H dimensions (Chi et al. 2021, XLM-E,
    in the form of WavLM, Chen et al. 2021, and transformers' ``modeling_wavlm.py``; there u and w are sums of four
    vectors each, which are one). Buckets are those of `T5Bias`, bidirectional wherever there is
    no causal mask.

    Departure: each layer has a table of its own. WavLM's layers share one, and have gates of their own.

    Attributes:
      num_buckets: how many there are in all, half of them for each direction where there is no causal mask.
      max_distance: the distance from which on all share the last bucket.

    Parameters: ``table [H, num_buckets]``, normal with std sqrt(2 / (H + num_buckets)); ``gates [2, d_model / H]``, u
    and w, and ``offsets [2]``, uniform within sqrt(H / d_model) as in torch; ``constants [H]``, c, ones.

    Raises:
      ValueError: in `check`, if the heads do not divide d_model; and as `T5Bias`.
    """

    num_buckets: int = 320
    max_distance: int = 800

    name = "gated_bias"
    paper = "arXiv:2110.13900"
    citation = """@article{chen2022wavlm, author = {Chen, S. and Wang, C. and Chen, Z. and Wu, Y. and others},
        title = {{WavLM: Large-Scale Self-Supervised Pre-Training for Full Stack Speech Processing}}, journal = {IEEE
        Journal of Selected Topics in Signal Processing}, volume = {16}, number = {6}, year = {2022},
        eprint = {2110.13900}}"""
    methods = (Method("additive", "Gated relative bias (WavLM)", "gated_bias", "Chen et al. 2021", use="W"),)
    shift_invariant = True
    per_layer = True
    terms_by_head = True
    head_axes = (("table", 0), ("constants", 0))
    breaks = frozenset({"blocks"})  # a query reads its own token

    def check_fields(self) -> None:
        T5Bias(self.num_buckets, self.max_distance)

    def check(self, dims: Dims) -> None:
        if dims.d_model % dims.num_heads:
            raise ValueError(f"{self}: num_heads = {dims.num_heads} must divide d_model = {dims.d_model}")

    def init(self, key: Key, dims: Dims) -> Params:
        table, part = (dims.num_heads, self.num_buckets), dims.d_model // dims.num_heads
        of_table, of_gates = jax.random.split(key)
        gates = jax.random.uniform(of_gates, (part + 1, 2), jnp.float32, -(part**-0.5), part**-0.5)
        gated = {"gates": gates[1:].T, "offsets": gates[0], "constants": jnp.ones(dims.num_heads, jnp.float32)}
        return normals(of_table, {"table": table}, (2 / sum(table)) ** 0.5) | gated

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, H]``: g, in at least float32."""
        dtype = at_least_float32(x)
        gates, offsets, constants = (params[name].astype(dtype) for name in ("gates", "offsets", "constants"))
        parts = x.astype(dtype).reshape(*x.shape[:2], -1, gates.shape[1])
        a, b = jax.nn.sigmoid(jnp.einsum("bshm,gm->gbsh", parts, gates) + offsets[:, None, None, None])
        return a * (b * constants[None, None] - 1) + 2

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        def values(relative: Array) -> Array:
            return read_buckets(params["table"], relative, self.max_distance, bidirectional=not geometry.causal)

        gates = jnp.swapaxes(at_queries(terms, geometry), 1, 2)[..., None]
        return gates * by_distance(values, geometry).astype(gates.dtype)
