"""XLNet's relative attention: Transformer-XL's, and whether two tokens are of one segment (Yang et al. 2019)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Terms, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.transformer_xl import sinusoid_products
from posenc_jax.encodings.value import at_least, limited


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
