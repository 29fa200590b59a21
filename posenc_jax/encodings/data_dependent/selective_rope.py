"""Selective RoPE: angles of rotation projected from the input (Movahedi et al. 2025)."""

import dataclasses
import functools

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import check_planes
from posenc_jax.encodings.shared.token_order import TokenOrder, phase_scores

_EPSILON = 1e-6  # of the authors' L2 norm


@dataclasses.dataclass(frozen=True)
class SelectiveRoPE(PositionalEncoding):
    """Every token turns the planes of each head by angles of its own, on top of all tokens before it::

        phase_k(m) = base^(-2k/D) sum_(t <= m) a_tk,   a = conv(W2 W1 normalize(x))

    Plane k, dimensions (k, D/2 + k), of query and key is turned by its token's phase_k (Movahedi et al. 2025; what is
    here is their code, ``timurcarstensen/selective-rope``, with the settings of its configs). x is the block's input,
    in H parts that are normalised each by itself, ``x / sqrt(|x|^2 + 1e-6)``; conv is a convolution over a token and
    the ``kernel_size - 1`` before it, each channel by itself. Where RoPE has a = 1, tokens here may turn forwards,
    backwards or not at all. Tokens follow each other by places: positions are not looked at.

    Attributes:
      rank: that of the projection W2 W1, 32 in the authors' configs.
      kernel_size: how many tokens the convolution reads, the token itself among them, 4 in their configs.
      base: that of the frequencies, 500000 in their configs.
      silu: applies silu after the convolution.
      offset: puts ``a + exp(b)`` in place of a, with b per head and plane starting at 0: RoPE plus what is selected.
      gate: puts ``a sigmoid(g . normalize(x) + c)`` in place of a, with one gate per head.

    The authors study the last three as additions, all off in their configs.

    Parameters: ``down`` ``[d_model, rank]``, ``up`` ``[rank, H, D/2]``, ``kernel`` ``[kernel_size, H, D/2]`` (row s for
    the token s back), with ``gate`` also ``gate_weight`` (g) ``[d_model, H]``, all N(0, 0.02^2) as in the authors'
    code, which starts close to no rotation at all; and ``offset`` (b) ``[H, D/2]`` and ``gate_bias`` (c) ``[H]``,
    zeros. With grouped queries each query head has its angles; the authors' code has as many key heads as query heads.

    Raises:
      ValueError: in `check`, if head_dim is odd or d_model does not divide into H parts.
    """

    rank: int = 32
    kernel_size: int = 4
    base: float = 500000.0
    silu: bool = False
    offset: bool = False
    gate: bool = False

    name = "selective_rope"
    paper = "arXiv:2511.17388"
    citation = """@inproceedings{movahedi2026selective, author = {Movahedi, S. and Carstensen, T. and Afzal, A. and
        Hutter, F. and Orvieto, A. and Cevher, V.}, title = {{Selective Rotary Position Embedding}},
        booktitle = {ICLR}, year = {2026}, eprint = {2511.17388}}"""
    methods = (Method("data-dependent", "Selective RoPE", "selective_rope", "Movahedi et al. 2025"),)
    shift_invariant = True
    causal_only = True
    per_layer = True
    head_axes = (("kernel", 1), ("offset", 0))
    terms_by_head = True
    breaks = frozenset({"blocks"})  # phases need all tokens between query and key
    position_axes = "any"
    limits = limited(
        rank=at_least(1, ": the authors have 32"),
        kernel_size=at_least(1, ": the authors have 4"),
        base=above(0, ": the authors have 500000.0"),
    )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)
        if dims.d_model % dims.num_heads:
            raise ValueError(
                f"SelectiveRoPE normalises d_model = {dims.d_model} in num_heads = {dims.num_heads} parts: "
                "d_model must be a multiple of num_heads"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        angles = (dims.num_heads, dims.head_dim // 2)
        shapes: dict[str, tuple[int, ...]] = {
            "down": (dims.d_model, self.rank),
            "up": (self.rank, *angles),
            "kernel": (self.kernel_size, *angles),
        }
        zeros: dict[str, tuple[int, ...]] = {}
        if self.gate:
            shapes |= {"gate_weight": (dims.d_model, dims.num_heads)}
            zeros |= {"gate_bias": (dims.num_heads,)}
        if self.offset:
            zeros |= {"offset": angles}
        return normals(key, shapes) | {name: jnp.zeros(shape, jnp.float32) for name, shape in zeros.items()}

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Terms:
        """``projected`` ``[B, S, H, D/2]``, the angles before the convolution, and ``gate`` ``[B, S, H]``."""
        dtype = at_least_float32(x)
        p = {name: a.astype(dtype) for name, a in params.items()}
        parts = x.astype(dtype).reshape(*x.shape[:2], p["up"].shape[1], -1)
        parts = parts * jax.lax.rsqrt((parts * parts).sum(axis=-1, keepdims=True) + _EPSILON)
        x = parts.reshape(x.shape)
        exact = functools.partial(jnp.einsum, precision="highest")  # they become phases
        terms = {"projected": exact("bsr,rhd->bshd", exact("bsm,mr->bsr", x, p["down"]), p["up"])}
        if self.gate:
            terms["gate"] = jax.nn.sigmoid(exact("bsm,mh->bsh", x, p["gate_weight"]) + p["gate_bias"][None, None])
        return terms

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        order = TokenOrder.of_keys(geometry)
        terms = {name: order.arrange(a.astype(dtype)) for name, a in terms.items()}
        angles = order.convolve(terms["projected"], params["kernel"].astype(dtype))
        if self.silu:
            angles = jax.nn.silu(angles)
        if self.offset:
            angles = angles + jnp.exp(params["offset"].astype(dtype))[None, None]
        if self.gate:
            angles = angles * terms["gate"][..., None]
        frequencies = vaswani_frequencies(q.shape[-1], self.base).astype(dtype)
        phases = order.restore(order.sums(angles)) * frequencies[None, None, None]
        return phase_scores(q, k, phases, geometry, "half")
