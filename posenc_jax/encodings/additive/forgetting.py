"""The Forgetting Transformer's forget gates on attention (Lin et al. 2025)."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Sequence, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.shared.token_order import TokenOrder, at_queries


@dataclasses.dataclass(frozen=True)
class FoX(PositionalEncoding):
    """Every token scales down, per head, the attention of all later queries to what was before it::

        f_t = sigmoid(w . x_t + b),   logits_ij += log f_(j+1) + ... + log f_i = c_i - c_j,   c_t = sum_(s <= t) log f_s

    (Lin et al. 2025, section 3, forgetting attention; x_t the block's input). It needs no positions and looks at none:
    c runs over the tokens of the sequence in the order of their places, so padding and packing change nothing. Gates
    that are all equal are ALiBi. Alone it is the paper's FoX (LLaMA); ``(FoX(), RoPE(500000.0))`` its variant with
    RoPE; ``(FoX(), PaTH())`` is PaTH-FoX (Yang et al. 2025, section 2.2).

    Departure: gates are computed in at least float32 as a whole, where the authors' code projects in the model's type.

    Attributes:
      bias_init: b at the start: 0 in the authors' code (gates of 1/2, a half-life of one token, that training opens); 5
        in x-transformers (gates of 0.993).
      scaled: divides c by sqrt(D), as the authors of PaTH do in their code, not in their equation, for PaTH-FoX.

    Parameters: ``weight`` ``[d_model, H]``, N(0, 0.02^2) as in the authors' code, and ``bias`` ``[H]``, one of each per
    query head.
    """

    bias_init: float = 0.0
    scaled: bool = False

    name = "fox"
    paper = "arXiv:2503.02130"
    citation = """@inproceedings{lin2025forgetting, author = {Lin, Z. and Nikishin, E. and He, X. O. and Courville,
        A.}, title = {{Forgetting Transformer: Softmax Attention with a Forget Gate}}, booktitle = {ICLR},
        year = {2025}, eprint = {2503.02130}}"""
    methods = (
        Method(
            "additive",
            "CABLE",
            "fox",
            "Veisi et al. 2025",
            "arXiv:2503.08067",
            "FoX with gates named by their logarithms, -softplus(z) = log sigmoid(-z), as in the code of the paper's "
            "first version; that code does not divide q . k by sqrt(D)",
        ),
        Method("data-dependent", "Forgetting Transformer (FoX)", "fox", "Lin et al. 2025", use="s"),
        Method("data-dependent", "FoX with RoPE", "fox|rope(base=5e5)", "Lin et al. 2025", use="s"),
    )
    shift_invariant = True
    causal_only = True
    per_layer = True
    terms_by_head = True
    breaks = frozenset({"blocks"})  # c needs all tokens between query and key
    position_axes = "any"

    def init(self, key: Key, dims: Dims) -> Params:
        return {
            "weight": 0.02 * jax.random.normal(key, (dims.d_model, dims.num_heads), jnp.float32),
            "bias": jnp.full((dims.num_heads,), self.bias_init, jnp.float32),
        }

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, H]``: the logarithms of the gates, in at least float32."""
        dtype = at_least_float32(x)
        weight, bias = (params[name].astype(dtype) for name in ("weight", "bias"))
        product = jnp.matmul(x.astype(dtype), weight, precision="highest")  # gates are added up along the sequence
        return jax.nn.log_sigmoid(product + bias[None, None])

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        c = self._sums(q, geometry, terms)
        return jnp.swapaxes(at_queries(c, geometry), 1, 2)[..., None] - jnp.swapaxes(c, 1, 2)[:, :, None]

    @property
    def num_factors(self) -> int:
        """1: ``-c_j``, since ``c_i`` is the query's own."""
        return 1

    def factors(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> tuple[Array, Array]:
        """-1, and c of the key."""
        c = jnp.swapaxes(self._sums(q, geometry, terms), 1, 2)[..., None]
        return jnp.full((1, 1, q.shape[2], 1), -1, c.dtype), c

    def _sums(self, q: Array, geometry: Geometry, terms: Terms) -> Array:
        order = TokenOrder.of_keys(geometry)
        c = order.restore(order.sums(order.arrange(terms)))
        return c * q.shape[-1] ** -0.5 if self.scaled else c
