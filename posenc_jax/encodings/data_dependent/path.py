"""PaTH: every token between key and query transforms what they exchange (Yang et al. 2025)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.token_order import TokenOrder

_BLOCK = 64  # keys at a time: about the head dimension, where the costs of the two kinds of products meet
_EPSILON = 1e-6  # of the authors' L2 norm

_einsum = functools.partial(jnp.einsum, precision="highest")  # errors add up along the path


@dataclasses.dataclass(frozen=True)
class PaTH(PositionalEncoding):
    """The product of query and key goes through the matrices of all tokens after the key, up to the query's own::

        logits_ij = q_i . H_i H_(i-1) ... H_(j+1) k_j / sqrt(D),   H_t = I - beta_t w_t w_t^T
        beta_t = 2 sigmoid(u . x_t + b),   w_t = normalize(silu(conv(W2 W1 x)_t))

    (Yang et al. 2025, section 2.2; x the block's input. The silu is in the authors' code only.) W2 W1 is a projection
    of rank ``rank``, conv a convolution of ``kernel_size`` over a token and those before it, each channel by itself,
    and normalize an L2 norm per head, ``w / sqrt(|w|^2 + 1e-6)``. A head has its w and beta; with grouped queries a key
    head has, as in the authors' code. H_t is a reflection for beta = 2, a projection for beta = 1: the path can permute
    and overwrite. No positions are needed or looked at: tokens follow each other by places, within a segment. See
    `path_scores` for how it is computed. PaTH-FoX is ``(FoX(), PaTH())``.

    Attributes:
      rank: that of W2 W1, 32 as in the authors' code. None is one matrix of full rank, which they have for grouped
        queries.
      kernel_size: how many tokens the convolution reads, the token itself among them, 3 as in the authors' code.

    Parameters: ``down`` ``[d_model, rank]``, ``up`` ``[rank, Hkv, D]`` (at full rank only ``up``, ``[d_model, Hkv,
    D]``), ``kernel`` ``[kernel_size, Hkv, D]`` (row s for the token s back), ``beta_weight`` (u) ``[d_model, Hkv]``,
    all N(0, 0.02^2), and ``beta_bias`` ``[Hkv]``, 0, as in the authors' code. In models of d_model below about 100, w
    starts so small that the 1e-6 keeps its norm below 1.

    Departure: the whole path is computed in at least float32.
    """

    rank: int | None = 32
    kernel_size: int = 3

    name = "path"
    paper = "arXiv:2505.16381"
    citation = """@inproceedings{yang2025path, author = {Yang, S. and Shen, Y. and Wen, K. and Tan, S. and Mishra, M.
        and Ren, L. and Panda, R. and Kim, Y.}, title = {{PaTH Attention: Position Encoding via Accumulating
        Householder Transformations}}, booktitle = {NeurIPS}, year = {2025}, eprint = {2505.16381}}"""
    methods = (
        Method("data-dependent", "PaTH", "path", "Yang et al. 2025", use="s"),
        Method(
            "data-dependent",
            "PaTH-FoX",
            "fox|path",
            "Yang et al. 2025",
            note="the authors' code divides the gates by sqrt(D) too: fox(scaled=True)",
            use="s",
        ),
    )
    shift_invariant = True
    causal_only = True
    per_layer = True
    head_axes = (("kernel", 1),)
    terms_by_head = True
    by_key_head = True
    breaks = frozenset({"blocks"})  # the path needs all tokens between query and key
    position_axes = "any"
    limits = limited(
        rank=at_least(1, ", or None for full rank: the code has 32"), kernel_size=at_least(1, ": the paper has 3")
    )

    def init(self, key: Key, dims: Dims) -> Params:
        heads = (dims.num_kv_heads, dims.head_dim)
        shapes: dict[str, tuple[int, ...]] = {
            "kernel": (self.kernel_size, *heads),
            "beta_weight": (dims.d_model, dims.num_kv_heads),
        }
        if self.rank is None:
            shapes |= {"up": (dims.d_model, *heads)}
        else:
            shapes |= {"down": (dims.d_model, self.rank), "up": (self.rank, *heads)}
        params = normals(key, shapes)
        return params | {"beta_bias": jnp.zeros((dims.num_kv_heads,), jnp.float32)}

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Terms:
        """``projected`` ``[B, S, Hkv, D]``, w before the convolution, and ``beta`` ``[B, S, Hkv]``."""
        dtype = at_least_float32(x)
        x, p = x.astype(dtype), {name: a.astype(dtype) for name, a in params.items()}
        inner = x if self.rank is None else _einsum("bsm,mr->bsr", x, p["down"])
        beta = 2 * jax.nn.sigmoid(_einsum("bsm,mh->bsh", x, p["beta_weight"]) + p["beta_bias"][None, None])
        return {"projected": _einsum("bsr,rhd->bshd", inner, p["up"]), "beta": beta}

    def more_logit_arrays(self, num_heads: int) -> int:
        """Products with w, the solutions of the systems, and the scores in order, as programs for an H100 keep them."""
        return 3

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        order = TokenOrder.of_keys(geometry)
        projected, beta = (order.arrange(terms[name].astype(dtype)) for name in ("projected", "beta"))
        w = jax.nn.silu(order.convolve(projected, params["kernel"].astype(dtype)))
        w = w * jax.lax.rsqrt((w * w).sum(axis=-1, keepdims=True) + _EPSILON)
        beta = order.real(beta)  # padding transforms nothing
        group = q.shape[1] // w.shape[2]
        w, beta = (jnp.repeat(jnp.swapaxes(a, 1, 2), group, axis=1) for a in (w, beta))
        k = order.arrange(k.astype(dtype), axis=2)
        scores = path_scores(q.astype(dtype), k, w, beta, order.of_queries(geometry))
        return order.restore(scores, axis=3) * q.shape[-1] ** -0.5


def path_scores(q: Array, k: Array, w: Array, beta: Array, own: Array) -> Array:
    """``[B, H, Q, K]``: ``q_i . H_i ... H_(j+1) k_j``, i = ``own [#B, Q]`` being the query's index among the keys.

    ``q [B, H, Q, D]``; ``k``, ``w`` ``[B, H, K, D]`` and ``beta [B, H, K]`` in order. For j > i a finite number of no
    meaning. Costs O(Q K D) like a plain product and keeps one vector per query and block of keys.

    From the last block of keys to the first, r_i is the query with all later matrices applied. Within a block, numbered
    backwards, applying H_s takes off ``u_s w_s`` with ``u_s = beta_s w_s . (r - sum_(p < s) u_p w_p)``: a triangular
    system for u that all queries share, whose right side is 0 for tokens after the query, which are not on its path. It
    is inverted once a block.
    """
    keys = k.shape[2]
    size = min(_BLOCK, keys)
    blocks = -(-keys // size)

    def split(x: Array) -> Array:
        """``[blocks, B, H, size, ...]``, keys backwards; zeros where the last block ends before it is full."""
        x = jnp.pad(x, ((0, 0), (0, 0), (0, blocks * size - keys), *((0, 0),) * (x.ndim - 3)))[:, :, ::-1]
        return jnp.moveaxis(x.reshape(*x.shape[:2], blocks, size, *x.shape[3:]), 2, 0)

    indices = jnp.arange(blocks * size)[::-1].reshape(blocks, size)

    def step(r: Array, block: tuple[Array, ...]) -> tuple[Array, Array]:
        k, w, beta, indices = block
        later = jnp.tril(jnp.ones((1, 1, size, size), bool), -1)  # [s, p]: p < s
        system = jnp.where(later, beta[..., None] * _einsum("bhsd,bhpd->bhsp", w, w), 0)
        on_path = indices[None, None, :, None] <= own[:, None, None, :]
        right = jnp.where(on_path, beta[..., None] * _einsum("bhsd,bhqd->bhsq", w, r), 0)
        u = _einsum("bhsp,bhpq->bhsq", inverse_of_unit_lower(system), right)
        between = jnp.where(later, _einsum("bhsd,bhpd->bhsp", k, w), 0)
        scores = _einsum("bhsd,bhqd->bhqs", k, r) - _einsum("bhsp,bhpq->bhqs", between, u)
        return r - _einsum("bhsd,bhsq->bhqd", w, u), scores

    _, scores = jax.lax.scan(step, q, (split(k), split(w), split(beta), indices))
    scores = jnp.moveaxis(scores, 0, 3).reshape(*q.shape[:3], blocks * size)
    return scores[..., ::-1][..., :keys]


@jax.custom_jvp
def inverse_of_unit_lower(system: Array) -> Array:
    """The inverse of ``I + system``, ``[..., S, S]`` with entries below the diagonal only.

    By halves, from single entries up: ``[[A, 0], [C, B]]`` has the inverse ``[[A', 0], [-B' C A', B']]``. That is
    products alone, which every backend batches: XLA's triangular solve of a batch can wait for ever on two cores.
    """
    size = system.shape[-1]
    whole = 1 << (size - 1).bit_length()
    system = jnp.pad(system, (*((0, 0),) * (system.ndim - 2), (0, whole - size), (0, whole - size)))
    inverse = jnp.ones((*system.shape[:-2], whole, 1, 1), system.dtype)
    half = 1
    while half < whole:
        first, second = inverse[..., 0::2, :, :], inverse[..., 1::2, :, :]
        corner = jnp.stack(
            [system[..., at + half : at + 2 * half, at : at + half] for at in range(0, whole, 2 * half)], axis=-3
        )
        below = -_einsum("...ab,...bc,...cd->...ad", second, corner, first)
        above = jnp.zeros_like(below)
        inverse = jnp.concatenate(
            [jnp.concatenate([first, above], axis=-1), jnp.concatenate([below, second], axis=-1)], axis=-2
        )
        half *= 2
    return inverse[..., 0, :size, :size]


@inverse_of_unit_lower.defjvp
def _of_inverse(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    inverse = inverse_of_unit_lower(*primals)
    return inverse, -_einsum("...ab,...bc,...cd->...ad", inverse, tangents[0], inverse)
