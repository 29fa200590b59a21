"""Multiplicative GRAPE with a phase that the tokens move (Zhang et al. 2025)."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.arrays import at_least_float32
from posenc_jax.encodings.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.grape_m import GRAPEM
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, check_planes, turn
from posenc_jax.encodings.shared.token_order import TokenOrder, at_queries
from posenc_jax.encodings.value import above, limited


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
