"""A constant temperature of attention (Chi et al. 2023)."""

import dataclasses

import numpy as np

from posenc_jax.encodings.base import Array, Geometry, Params, PositionalEncoding
from posenc_jax.encodings.method import Method


@dataclasses.dataclass(frozen=True)
class Temperature(PositionalEncoding):
    """Divides all logits by a constant, biases included, so that attention is sharper below 1 and flatter above::

        weights_ij = softmax_j(logits_ij / tau)

    No encoding of positions by itself: the last element of a slot, as in ``(T5Bias(), Temperature(0.8))``. Over more
    keys than in training a softmax is flatter; a lower temperature at test time undoes a part of that (Chi et al. 2023,
    who find tau by aligning the attention of long inputs with that of short ones). Here it is a setting:
    ``posenc evaluate RUN --posenc "t5|temperature(0.8)"`` tries one.

    Where the slot has another normalisation than the softmax, that sees the divided logits. No fused attention.

    Attributes:
      value: tau, above 0: from 1e-6 to 1e6, where 1 changes nothing.

    >>> logits, bias = np.full((1, 1, 1, 2), 3.0), np.ones((1, 1, 1, 2))
    >>> Temperature(2).adjust_logits({}, logits, bias, None).ravel().tolist()
    [2.0, 2.0]
    """

    value: float = 1.0

    name = "temperature"
    paper = "arXiv:2311.00684"
    citation = """@misc{chi2023attention, author = {Chi, T.-C. and Fan, T.-H. and Rudnicky, A. I.},
        title = {{Attention Alignment and Flexible Positional Embeddings Improve Transformer Length Extrapolation}},
        year = {2023}, eprint = {2311.00684}}"""
    methods = (
        Method(
            "additive",
            "Temperature of attention",
            "t5|temperature(value=0.8)",
            "Chi et al. 2023",
            note="at test time: posenc evaluate RUN --posenc ...",
        ),
    )
    shift_invariant = True
    unsigned = True
    position_axes = "any"

    def check_fields(self) -> None:
        if not 1e-6 <= self.value <= 1e6:
            raise ValueError(
                f"Temperature.value = {self.value} must be from 1e-6 to 1e6: 1 changes nothing, less is sharper"
            )

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        total = logits if bias is None else logits + bias
        # As an array, so that temperatures share a compiled program.
        return total / np.full((1, 1, 1, 1), self.value, total.dtype)
