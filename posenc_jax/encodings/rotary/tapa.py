"""Token-aware phase attention (Wang et al. 2025)."""

import dataclasses
import math
from typing import Literal

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import (
    Array,
    Dims,
    Geometry,
    Params,
    PositionalEncoding,
    Terms,
    at_least_float32,
)
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class TAPA(PositionalEncoding):
    """Part of each head sets the size of a logit, the rest how fast it oscillates with distance::

        logits_ij = q_A . k_A / sqrt(D_A) cos(2 pi |i - j|^alpha phi),   phi = q_P . k_P / sqrt(D_P)
        q = (q_A, q_P), k = (k_A, k_P),   D_A = theta D,   D_P = (1 - theta) D

    (Wang et al. 2025, equations 11 and 12 of the first two versions.) There is no authors' code. No parameters; two
    products of half the size cost what one costs.

    Attributes:
      theta: the part of a head that sets the size, 0.5 in the paper.
      alpha: the power of the distance, 0.1 in the paper.
      phase: "quadratic" as above, or "linear", the paper's ablation (equation 16), phi = (sum of q_P + sum of k_P) /
        sqrt(D_P).

    The distance has no sign: without a causal mask left and right are alike. Phases in radians grow with the product
    q_P . k_P, so bfloat16 queries and keys give logits of bfloat16's accuracy only while that product is small.

    Raises:
      ValueError: in `check`, if theta D is no whole number.
    """

    theta: float = 0.5
    alpha: float = 0.1
    phase: Literal["quadratic", "linear"] = "quadratic"

    name = "tapa"
    linear_in_queries = False
    paper = "arXiv:2509.12635"
    citation = """@misc{wang2025positional, author = {Wang, Y. and Shen, S. and Munos, R. and Zhan, H. and Tian, Y.},
        title = {{Positional Encoding via Token-Aware Phase Attention}}, year = {2025}, eprint = {2509.12635}}"""
    methods = (Method("rotary", "TAPA", "tapa", "Wang et al. 2025"),)
    shift_invariant = True
    unsigned = True
    limits = limited(alpha=above(0, ": the paper has 0.1"))

    def check_fields(self) -> None:
        if not 0 < self.theta < 1:
            raise ValueError(f"TAPA.theta = {self.theta} must lie between 0 and 1: the paper has 0.5")

    def check(self, dims: Dims) -> None:
        share = self.theta * dims.head_dim
        if abs(share - round(share)) > 1e-6 or not 0 < round(share) < dims.head_dim:
            raise ValueError(
                f"TAPA.theta = {self.theta} of head_dim = {dims.head_dim} is {share:g} dimensions: it must be a whole "
                "number above 0 and below head_dim, as half of an even head_dim is"
            )

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q, k)
        split = round(self.theta * q.shape[-1])

        def product(part: slice) -> Array:
            a, b = q[..., part], k[..., part]
            return jnp.einsum("bhqd,bhkd->bhqk", a, b, preferred_element_type=dtype) * a.shape[-1] ** -0.5

        if self.phase == "quadratic":
            phi = product(slice(split, None))
        else:
            of_q, of_k = (x[..., split:].astype(dtype).sum(axis=-1) for x in (q, k))
            phi = (of_q[..., None] + of_k[..., None, :]) * (q.shape[-1] - split) ** -0.5
        distance = jnp.abs(relative_on_device(geometry)).astype(dtype)
        # The derivative of a power below 1 is infinite at 0, where learned positions could ask for it.
        power = jnp.where(distance == 0, 0, jnp.where(distance == 0, 1, distance) ** self.alpha)
        return product(slice(split)) * jnp.cos(2 * math.pi * power[:, None] * phi)
