"""Multiplicative GRAPE (Zhang et al. 2025): learned frequencies of commuting planes, general planes, and phases that
the tokens move.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Key,
    Params,
    PositionalEncoding,
    Sequence,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, check_planes, turn
from posenc_jax.encodings.shared.token_order import TokenOrder, at_queries


@dataclasses.dataclass(frozen=True)
class GRAPEM(Rotary):
    """Multiplicative GRAPE with commuting planes: RoPE whose frequencies are learned::

        q'_i = G(i) q_i,  k'_j = G(j) k_j,  G(n) = exp(n sum over k of theta_k L_k),  L_k the generator of plane k

    (Zhang et al. 2025, section 3.1; the authors' code ``llama-mha-grape-m-nonctx``.) Planes are pairs of coordinates:
    an orthogonal basis of planes, which the paper allows to be learned too, would only be another basis for W_q and
    W_k. General generators: `GRAPEMPlanes`; steps that depend on the tokens: `GRAPEMContext`.

    Each layer has frequencies of its own. Angles are plain products in at least float32.

    Departures: the code turns by the negative angle, which is the layout with the two dimensions of each plane
    exchanged, and applies its RMSNorm of queries and keys after the rotation, which is the model's matter here.

    Attributes:
      base: that of the frequencies at the start.
      shared: all heads share one set of frequencies, as in the code's experiments; False is one set per key head.
      scale: the parameter is ``log_frequencies = scale log(theta)``, so that a step of the optimizer changes log(theta)
        ``scale`` times less; 16 in the code (``grape_log_freq_scale``).
      layout: as in `RoPE`.
    """

    base: float = 10000.0
    shared: bool = True
    scale: float = 16.0
    layout: Layout = "half"

    name = "grape_m"
    paper = "arXiv:2512.07805"
    citation = """@inproceedings{zhang2026group, author = {Zhang, Y. and Chen, Z. and Liu, Y. and Qin, Z. and Yuan,
        H. and Xu, K. and Yang, Y. and Gu, Q. and Yao, A. C.-C.}, title = {{Group Representational Position
        Encoding}}, booktitle = {ICLR}, year = {2026}, eprint = {2512.07805}}"""
    methods = (Method("rotary", "GRAPE-M, commuting planes", "grape_m", "Zhang et al. 2025"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("log_frequencies", 0),)
    by_key_head = True
    limits = limited(base=above(0, ": the authors' code has 10000.0"), scale=above(0, ": the authors' code has 16.0"))

    def init(self, key: Key, dims: Dims) -> Params:
        logs = self.scale * np.log(vaswani_frequencies(dims.head_dim, self.base))
        heads = 1 if self.shared else dims.num_kv_heads
        return {"log_frequencies": jnp.tile(jnp.asarray(logs, jnp.float32)[None], (heads, 1))}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        logs = jnp.asarray(params["log_frequencies"])
        dtype = at_least_float32(x, logs)
        frequencies = jnp.exp(logs.astype(dtype) / self.scale)
        frequencies = jnp.repeat(frequencies, x.shape[1] // len(logs), axis=0)
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] * frequencies[None, :, None]
        return turn(x, jnp.sin(angles), jnp.cos(angles), self.layout)


@dataclasses.dataclass(frozen=True)
class GRAPEMPlanes(Rotary):
    """Multiplicative GRAPE with general generators of rank two, which need not commute::

        G(n) = exp(n L),   L = sum over j = 1 .. m of omega_j (a_j b_j^T - b_j a_j^T)

    (Zhang et al. 2025, section 2 and, for several planes, the appendix on non-commuting GRAPE and its algorithm.) One
    plane is the closed form exp(n L) = 1 + sin(n s)/s L + (1 - cos(n s))/s^2 L^2 of section 2.3; any number goes
    through the r = 2 m dimensions that the vectors span, where L is diagonal in complex coordinates, so that a token
    costs O(D m).

    The paper gives no initialisation for several planes and there is no authors' code: here all a_j and b_j are
    orthonormal (its gauge for one plane), in random directions, and omega_1 .. omega_m the first frequencies of RoPE,
    ``base^(-2k/D)`` from k = 0 on. As the paper says, what such rotations can express is their angles: the basis could
    as well be in W_q and W_k.

    Attributes:
      planes: m, at most D/2; None is D/2.
      base: that of the frequencies at the start.

    Parameters per layer and key head: ``a``, ``b`` ``[Hkv, m, D]`` and ``log_frequencies [Hkv, m]``.
    """

    planes: int | None = None
    base: float = 10000.0

    name = "grape_m_planes"
    paper = "arXiv:2512.07805"
    citation = GRAPEM.citation
    methods = (Method("rotary", "GRAPE-M, general planes", "grape_m_planes", "Zhang et al. 2025"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("a", 0), ("b", 0), ("log_frequencies", 0))
    by_key_head = True
    limits = limited(
        base=above(1, ", as gradients need planes of different frequencies: RoPE has 10000.0"),
        planes=at_least(1, ", or None for head_dim / 2"),
    )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)
        if self.planes is not None and 2 * self.planes > dims.head_dim:
            raise ValueError(
                f"GRAPEMPlanes.planes = {self.planes} span {2 * self.planes} dimensions, but head_dim = "
                f"{dims.head_dim}: at most {dims.head_dim // 2} planes fit"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        planes = dims.head_dim // 2 if self.planes is None else self.planes
        shape = (dims.num_kv_heads, dims.head_dim, 2 * planes)
        frame = jnp.swapaxes(jnp.linalg.qr(jax.random.normal(key, shape, jnp.float32))[0], 1, 2)
        logs = np.log(vaswani_frequencies(dims.head_dim, self.base))[:planes].astype(np.float32)
        return {
            "a": frame[:, :planes],
            "b": frame[:, planes:],
            "log_frequencies": jnp.tile(logs[None], (dims.num_kv_heads, 1)),
        }

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        a, b, logs = (jnp.asarray(params[name]) for name in ("a", "b", "log_frequencies"))
        dtype = at_least_float32(x, a)
        a, b, omega = a.astype(dtype), b.astype(dtype), jnp.exp(logs.astype(dtype))
        basis = jnp.linalg.qr(jnp.swapaxes(jnp.concatenate([a, b], axis=1), 1, 2))[0]  # [Hkv, D, r]
        exact = jax.lax.Precision.HIGHEST
        in_a, in_b = (jnp.einsum("hmd,hdr->hmr", x, basis, precision=exact) for x in (a, b))
        outer = jnp.einsum("hm,hmr,hms->hrs", omega, in_a, in_b, precision=exact)
        # A skew matrix times i is Hermitian: exp(n L) = U exp(-i n lambda) U*.
        values, vectors = jnp.linalg.eigh(jax.lax.complex(jnp.zeros_like(outer), outer - jnp.swapaxes(outer, 1, 2)))
        groups = x.shape[1] // len(basis)
        basis, values, vectors = (jnp.repeat(x, groups, axis=0) for x in (basis, values, vectors))
        wide = jnp.asarray(x).astype(dtype)
        inside = jnp.einsum("bhsd,hdr->bhsr", wide, basis, precision=exact)
        modes = jnp.einsum("bhsr,hrk->bhsk", inside.astype(vectors.dtype), vectors.conj(), precision=exact)
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] * values[None, :, None]
        modes = modes * jax.lax.complex(jnp.cos(angles), -jnp.sin(angles))
        change = jnp.einsum("bhsk,hrk->bhsr", modes, vectors, precision=exact).real - inside
        return (wide + jnp.einsum("bhsr,hdr->bhsd", change, basis, precision=exact)).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class GRAPEMContext(PositionalEncoding):
    """Multiplicative GRAPE whose steps depend on the tokens: a token moves all later ones on by its own step::

        q'_i = G(Phi_i) q_i,  k'_j = G(Phi_j) k_j,   Phi_t = omega_0 + ... + omega_(t-1)
        omega_t = sigmoid((w . x_t + b) / scale),   G as in `GRAPEM`, with learned frequencies

    (Zhang et al. 2025, phase-modulated GRAPE-M; the authors' code ``llama-mha-grape-m-ctx``, which this follows, but
    for the departures of `GRAPEM`.) x_t is the block's input. It looks at no positions: Phi runs over the tokens of
    the sequence in the order of their places.

    Attributes:
      base: as in `GRAPEM`.
      scale: the divisor in omega, 16 in the code (``grape_ctx_omega_scale``).
      layout: as in `GRAPEM`.

    Parameters per layer: ``log_frequencies [D/2]``, here not scaled; ``weight [d_model]``, N(0, (0.5/sqrt(d_model))^2),
    as the code's initialisation of the whole model leaves it; ``bias``, log(exp(0.001) - 1), the code's, in which an
    omega of 0.001 is meant for a softplus: with the sigmoid omega starts near 0.39.
    """

    base: float = 10000.0
    scale: float = 16.0
    layout: Layout = "half"

    name = "grape_m_context"
    paper = "arXiv:2512.07805"
    citation = GRAPEM.citation
    methods = (Method("rotary", "GRAPE-M, contextual phase", "grape_m_context", "Zhang et al. 2025"),)
    shift_invariant = True
    causal_only = True
    per_layer = True
    breaks = frozenset({"blocks"})  # Phi needs all tokens before
    position_axes = "any"
    limits = limited(base=above(0, ": the authors' code has 10000.0"), scale=above(0, ": the authors' code has 16.0"))

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)

    def init(self, key: Key, dims: Dims) -> Params:
        logs = np.log(vaswani_frequencies(dims.head_dim, self.base))
        return {
            "log_frequencies": jnp.asarray(logs, jnp.float32),
            "weight": 0.5 * dims.d_model**-0.5 * jax.random.normal(key, (dims.d_model,), jnp.float32),
            "bias": jnp.asarray(math.log(math.expm1(1e-3)), jnp.float32),
        }

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S]``: the steps omega, in at least float32."""
        dtype = at_least_float32(x)
        weight, bias = (jnp.asarray(params[name]).astype(dtype) for name in ("weight", "bias"))
        product = jnp.matmul(x.astype(dtype), weight, precision="highest")  # steps are added up to phases
        return jax.nn.sigmoid((product + bias) / self.scale)

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        frequencies = jnp.exp(jnp.asarray(params["log_frequencies"]).astype(dtype))
        order = TokenOrder.of_keys(geometry)
        steps = order.arrange(terms)
        k_phase = order.restore(order.sums(steps) - order.real(steps))
        q_phase = at_queries(k_phase, geometry)

        def turned(x: Array, phase: Array) -> Array:
            angles = phase[..., None] * frequencies[None, None]
            return turn(x, jnp.sin(angles)[:, None], jnp.cos(angles)[:, None], self.layout)

        q, k = turned(q, q_phase), turned(k, k_phase)
        return jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=dtype) * q.shape[-1] ** -0.5
