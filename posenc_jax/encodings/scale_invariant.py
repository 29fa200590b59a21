"""Scale-invariant attention: logits sharpened and lowered by the logarithm of the distance (Anson et al. 2025)."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Geometry, Params, PositionalEncoding
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.distances import relative_on_device
from posenc_jax.encodings.value import above, limited


@dataclasses.dataclass(frozen=True)
class ScaleInvariant(PositionalEncoding):
    """Scales and lowers logits by the logarithm of the distance, so that tens, hundreds and thousands of tokens back
    get about equal attention, and farther ones get it more selectively::

        logits'_ij = a_t logits_ij + m_t,   a_t = sqrt(1 + 2 ln(t / tau + 1)),   m_t = -2 ln(t / tau + 1),   t = i - j

    (Anson, Wang and Aitchison 2025, section 3.2, equations 16a and 16b with alpha = beta = e^0.5, by which a_0 = 1 and
    m_0 = 0; no code by the authors was to be had.) For logits that are standard normal, as with norms of queries and
    keys, the mean of exp(logits') is then proportional to 1 / (t / tau + 1).

    The paper uses it with p-RoPE, ``(RoPE(scaling=PRoPE()), ScaleInvariant())``, and finds it worse with RoPE. It acts
    on the sum of products and of the biases of all elements before it, so no fused kernel serves it. Defined under a
    causal mask.

    Attributes:
      length_scale: tau, 10 in the paper. At distances well below it logits hardly change.

    >>> import numpy as np
    >>> logits, geometry = np.ones((1, 1, 3, 3)), Geometry.of_length(3, num_heads=1, causal=True)
    >>> ScaleInvariant().adjust_logits({}, logits, None, geometry)[0, 0, 2].round(4).tolist()
    [0.8034999966621399, 0.9004999995231628, 1.0]
    """

    length_scale: float = 10.0

    name = "scale_invariant"
    paper = "arXiv:2505.17083"
    citation = """@misc{anson2025scale, author = {Anson, B. and Wang, X. and Aitchison, L.}, title = {{Scale-invariant
        Attention}}, year = {2025}, eprint = {2505.17083}}"""
    methods = (
        Method(
            "additive",
            "Scale-invariant attention",
            "rope(scaling=p_rope(fraction=0.75))|scale_invariant",
            "Anson et al. 2025",
        ),
    )
    shift_invariant = True
    causal_only = True
    limits = limited(length_scale=above(0, ": the paper has 10.0"))

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        total = jnp.asarray(logits if bias is None else logits + bias)
        # Keys after the query, which are masked, count as the query's own place.
        distance = jnp.maximum(-relative_on_device(geometry), 0)[:, None].astype(total.dtype)
        logarithm = 2 * jnp.log1p(distance / self.length_scale)
        return jnp.sqrt(1 + logarithm) * total - logarithm
