"""Stick-breaking attention: every query breaks a stick of length one, nearest key first (Tan et al. 2025)."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Geometry, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.shared.token_order import TokenOrder


@dataclasses.dataclass(frozen=True)
class StickBreaking(PositionalEncoding):
    """Attention weights without a softmax: each key takes its share of what the keys between it and the query left::

        beta_ij = sigmoid(logits_ij),   w_ij = beta_ij prod_(j < t < i) (1 - beta_it),   j < i

    (Tan et al. 2025, section 2; computed from logarithms, as in its section 3, so that long products neither vanish nor
    overflow.) Order and recency come from the product: no positions are needed, and none are looked at; t runs over
    the tokens that the query may attend to, in the order of their places. Weights are positive and sum to at most 1;
    the first token of a sequence has no key and an output of 0, and so have padding rows. Works on any logits, so it
    composes with encodings that make them (``(RoPE(), StickBreaking())``).

    Attributes:
      diagonal: True lets a query's own token be its first key (j <= i; the authors' ``attend_current``, off by
        default).
      remainder: what the keys have left of the stick goes to nobody ("nobody", the paper's equation), or to the query's
        own token ("own", the default of the authors' models), which makes weights sum to 1.
    """

    diagonal: bool = False
    remainder: Literal["nobody", "own"] = "nobody"

    name = "stick_breaking"
    paper = "arXiv:2410.17980"
    citation = """@inproceedings{tan2025scaling, author = {Tan, S. and Yang, S. and Courville, A. and Panda, R. and
        Shen, Y.}, title = {{Scaling Stick-Breaking Attention: An Efficient Implementation and In-depth Study}},
        booktitle = {ICLR}, year = {2025}, eprint = {2410.17980}}"""
    methods = (
        Method("data-dependent", "Stick-breaking attention", "stick_breaking", "Tan et al. 2024", use="s"),
        Method(
            "data-dependent",
            "Stick-breaking attention, the rest to the query's token",
            "stick_breaking(remainder='own')",
            "Tan et al. 2024",
            use="s",
        ),
    )
    shift_invariant = True
    causal_only = True
    position_axes = "any"

    def normalize(self, params: Params, logits: Array, geometry: Geometry) -> Array:
        dtype = at_least_float32(logits)
        logits = logits.astype(dtype)
        q_places, k_places = geometry.q_places[:, :, None], geometry.k_places[:, None, :]
        sees = k_places <= q_places if self.diagonal else k_places < q_places
        sees, itself = sees[:, None], (k_places == q_places)[:, None]
        mask = geometry.mask
        if mask is not None:
            sees, itself = sees & mask, itself & mask

        left = jnp.where(sees, jax.nn.log_sigmoid(-logits), 0)  # log (1 - beta)
        after = TokenOrder.of_keys(geometry).sums_onwards(left, itself=False)
        taken = jnp.where(sees, jnp.exp(jax.nn.log_sigmoid(logits) + after), 0)
        if self.remainder == "nobody":
            return taken
        return taken + jnp.where(itself, jnp.exp(left.sum(axis=-1, keepdims=True)), 0)
