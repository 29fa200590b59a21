"""Transformer-XL's attention: a projected sinusoid of the distance and two learned biases (Dai et al. 2019); and
XLNet's, which also reads whether two tokens are of one segment (Yang et al. 2019).
"""

import dataclasses

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
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.phase import sincos, vaswani_frequencies


def sinusoid_products(x: Array, q_positions: Array, k_positions: Array, base: float = 10000.0) -> Array:
    """``[B, H, Q, K]`` products ``x_i . R(p_i - p_j)`` of ``x [B, H, Q, M]`` with sinusoids of query minus key::

        R(d) = [sin(d w_0), ..., sin(d w_(M/2-1)), cos(d w_0), ..., cos(d w_(M/2-1))],   w_k = base^(-2k/M)

    By angle addition: sin(d w) and cos(d w) are products of sines and cosines of p_i w and p_j w, so each x_i is turned
    by its own position and multiplied by ``[cos(p_j w), sin(p_j w)]``. No table of distances and no shift; positions
    ``[#B, Q]`` and ``[#B, K]`` may be any, and the phase is exact where they are integers (see `sincos`).
    """
    dtype = at_least_float32(x)
    frequencies = vaswani_frequencies(x.shape[-1], base)
    q_sin, q_cos = (a[:, None] for a in sincos(q_positions, frequencies, dtype))
    k_sin, k_cos = sincos(k_positions, frequencies, dtype)
    x_sin, x_cos = jnp.split(x.astype(dtype), 2, axis=-1)
    turned = jnp.concatenate([x_sin * q_sin + x_cos * q_cos, x_cos * q_sin - x_sin * q_cos], axis=-1)
    features = jnp.concatenate([k_cos, k_sin], axis=-1)
    if features.shape[0] == 1:
        return jnp.einsum("bhqm,km->bhqk", turned, features[0])
    return jnp.einsum("bhqm,bkm->bhqk", turned, features)


@dataclasses.dataclass(frozen=True)
class TransformerXL(PositionalEncoding):
    """Content attends to a projection of the sinusoid of the distance, besides two biases that know no query::

        logits_ij = (q_i . k_j + u . k_j + (q_i + v) . W_R R(i - j)) / sqrt(D)

    (Dai et al. 2019, section 3.3; q_i . k_j comes from `attend`.) R encodes query minus key, half-split as in the
    authors' code, see `sinusoid_products`. It serves any positions, with a causal mask or without, and any length.

    Departures: u and v belong to a layer, like W_R; the authors' code shares them between layers unless told to
    ``untie_r``. There is no clamping of distances. The paper's memory of earlier segments is a matter of the cache, not
    of the encoding. `attend` works on blocks of any shape, so the authors' shift has no counterpart.

    Attributes:
      base: that of the frequencies of R.

    Parameters, all N(0, 0.02^2) as in the authors' code: ``u`` and ``v`` ``[H, D]`` and ``projection`` (W_R) ``[H, D,
    d_model]``.

    One head, D = 1, d_model = 2, queries 1 and W_R = [0, 1]: the cosine of query minus key.

    >>> params = {"u": jnp.zeros((1, 1)), "v": jnp.zeros((1, 1)), "projection": jnp.array([[[0.0, 1.0]]])}
    >>> q, geometry = jnp.ones((1, 1, 3, 1)), Geometry.of_length(3, num_heads=1)
    >>> last = TransformerXL().content_bias(params, q, q, geometry, None)[0, 0, 2]
    >>> [f"{x:.3f}" for x in last]  # cos 2, cos 1, cos 0
    ['-0.416', '0.540', '1.000']
    """

    base: float = 10000.0

    name = "transformer_xl"
    paper = "arXiv:1901.02860"
    citation = """@inproceedings{dai2019transformer, author = {Dai, Z. and Yang, Z. and Yang, Y. and Carbonell, J.
        and Le, Q. V. and Salakhutdinov, R.}, title = {{Transformer-XL: Attentive Language Models beyond a
        Fixed-Length Context}}, booktitle = {ACL}, year = {2019}, eprint = {1901.02860}}"""
    methods = (Method("relative", "Transformer-XL", "transformer_xl", "Dai et al. 2019", use="W"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("u", 0), ("v", 0), ("projection", 0))
    limits = limited(base=above(0, ": the paper has 10000.0"))

    def check(self, dims: Dims) -> None:
        if dims.d_model % 2:
            raise ValueError(
                f"TransformerXL splits d_model = {dims.d_model} into sines and cosines: use an even d_model"
            )

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[d_model/2]``, of the sinusoid of the distance."""
        return vaswani_frequencies(dims.d_model, self.base)

    def init(self, key: Key, dims: Dims) -> Params:
        heads = (dims.num_heads, dims.head_dim)
        shapes = {"u": heads, "v": heads, "projection": (*heads, dims.d_model)}
        return normals(key, shapes)

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        u, v, projection = (params[name].astype(dtype) for name in ("u", "v", "projection"))
        keys = jnp.einsum("bhkd,hd->bhk", k.astype(dtype), u)[:, :, None]
        queries = jnp.einsum("bhqd,hdm->bhqm", q.astype(dtype) + v[None, :, None], projection)
        distances = sinusoid_products(queries, geometry.q_positions, geometry.k_positions, self.base)
        return (keys + distances) * q.shape[-1] ** -0.5


def clamped_products(x: Array, geometry: Geometry, clamp_len: int | None) -> Array:
    """`sinusoid_products` with distances held within ``-clamp_len .. clamp_len``; None holds nothing.

    Beyond, all distances have one sinusoid, so one product per query does.
    """
    products = sinusoid_products(x, geometry.q_positions, geometry.k_positions)
    if clamp_len is None:
        return products
    angles = clamp_len * vaswani_frequencies(x.shape[-1], 10000.0)
    for sign in (1, -1):
        end = jnp.asarray(np.concatenate([sign * np.sin(angles), np.cos(angles)]), products.dtype)
        beyond = -sign * geometry.relative >= clamp_len
        products = jnp.where(beyond[:, None], jnp.einsum("bhqm,m->bhq", x, end)[..., None], products)
    return products


@dataclasses.dataclass(frozen=True)
class XLNet(PositionalEncoding):
    """Transformer-XL's attention, with a term for keys of the same and of another token type::

        logits_ij = (q_i . k_j + u . k_j + (q_i + v) . W_R R(i - j) + (q_i + w) . s_ij) / sqrt(D)
        s_ij = same where the tokens' types agree, other where they differ

    (Yang et al. 2019, sections 2.4 and 2.5; the authors' code, `rel_attn_core`, where u, v and w are `r_w_bias`,
    `r_r_bias` and `r_s_bias`; q_i . k_j comes from `attend`.) R encodes query minus key, see `TransformerXL`. Types are
    `Sequence.token_types`. Where either side has none there is no such term, as in the authors' code without segments;
    the same weights result from types that all agree, since the term is then one constant per query.

    Attributes:
      clamp_len: holds distances within -clamp_len .. clamp_len; None (the authors' -1) leaves them.

    Departures: biases belong to a layer (the authors' ``untie_r``, which their released models have). ``bi_data``,
    which gives the second half of a batch the distances of the reversed text, is a matter of the data: reverse the
    positions of those rows. Keys of a cache keep their types; the authors count their memory as type 0. The query
    stream of two-stream attention is a matter of the model.

    Parameters, all N(0, 0.02^2) as in the authors' code: ``u``, ``v`` and ``w`` ``[H, D]``, ``projection`` (W_R)
    ``[H, D, d_model]``, ``segments`` ``[2, H, D]`` (same, other).
    """

    clamp_len: int | None = None

    name = "xlnet"
    paper = "arXiv:1906.08237"
    citation = """@inproceedings{yang2019xlnet, author = {Yang, Z. and Dai, Z. and Yang, Y. and Carbonell, J. and
        Salakhutdinov, R. and Le, Q. V.}, title = {{XLNet: Generalized Autoregressive Pretraining for Language
        Understanding}}, booktitle = {NeurIPS}, year = {2019}, eprint = {1906.08237}}"""
    methods = (Method("relative", "XLNet", "xlnet", "Yang et al. 2019", use="W"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("u", 0), ("v", 0), ("w", 0), ("projection", 0), ("segments", 1))
    limits = limited(clamp_len=at_least(1, ", or all keys look alike: None does not clamp"))

    def check(self, dims: Dims) -> None:
        if dims.d_model % 2:
            raise ValueError(f"XLNet splits d_model = {dims.d_model} into sines and cosines: use an even d_model")

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[d_model/2]``, of the sinusoid of the distance."""
        return vaswani_frequencies(dims.d_model, 10000.0)

    def init(self, key: Key, dims: Dims) -> Params:
        heads = (dims.num_heads, dims.head_dim)
        shapes = {"u": heads, "v": heads, "w": heads, "projection": (*heads, dims.d_model), "segments": (2, *heads)}
        return normals(key, shapes)

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        """``[B, H, Q, K]``: everything but ``q_i . k_j / sqrt(D)``."""
        dtype = at_least_float32(q, k)
        q, k = q.astype(dtype), k.astype(dtype)
        u, v, w, projection, segments = (
            params[name].astype(dtype) for name in ("u", "v", "w", "projection", "segments")
        )
        queries = jnp.einsum("bhqd,hdm->bhqm", q + v[None, :, None], projection)
        total = clamped_products(queries, geometry, self.clamp_len)
        total += jnp.einsum("bhkd,hd->bhk", k, u)[:, :, None]
        if geometry.q_types is not None and geometry.k_types is not None:
            same, other = jnp.einsum("bhqd,shd->sbhq", q + w[None, :, None], segments)[..., None]
            agree = geometry.q_types[:, :, None] == geometry.k_types[:, None, :]
            total += jnp.where(agree[:, None], same, other)
        return total * q.shape[-1] ** -0.5
