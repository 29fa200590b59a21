"""Gated positional self-attention: weights by content and weights by offset, mixed by a gate (ConViT)."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class GPSA(PositionalEncoding):
    """Mixes two softmaxes, one of the logits and one of a quadratic of the offset, by a gate for each head::

        w_ij = (1 - s(g_h)) softmax_j(logits_ij) + s(g_h) softmax_j( v_h . r_ij )
        r_ij = (d_x, d_y, d_x^2 + d_y^2),   d = position of j - position of i

    (d'Ascoli et al. 2021, section 3, equations 3, 5 and 7; s is the sigmoid.) At the start a head attends to the cell
    at offset c_h, as a convolution does: v_h = a (2 c_x, 2 c_y, -1), so its positional logits are ``-a |d - c_h|^2`` up
    to a constant. The c_h fill the largest square around the query that has no more cells than there are heads; the
    other heads start at N(0, 0.02^2). All are learned, as are the gates, from g = 1.

    As in the authors' code (facebookresearch/convit): ``weight [H, 3]``, columns first, ``gate [H]``; its constant per
    head, which cancels in the softmax, is left out, and its start of the values as the identity is the model's matter.
    The paper orders r as ``(|d|^2, d_1, d_2)``. A causal mask, padding and packing apply to both softmaxes. Other
    biases of the slot are part of the logits.

    Positions ``[#B, S, 2]``, as from `Grid`; the paper has it in the first ten of twelve layers. Field
    ``locality_strength``: a, 1 in the paper.
    """

    locality_strength: float = 1.0

    name = "gpsa"
    paper = "arXiv:2103.10697"
    citation = """@inproceedings{dascoli2021convit, author = {d'Ascoli, S. and Touvron, H. and Leavitt, M. and Morcos,
        A. and Biroli, G. and Sagun, L.}, title = {{ConViT: Improving Vision Transformers with Soft Convolutional
        Inductive Biases}}, booktitle = {ICML}, year = {2021}, eprint = {2103.10697}}"""
    methods = (
        Method(
            "relative",
            "Gated positional self-attention (ConViT)",
            "grid(width=8)|gpsa",
            "d'Ascoli et al. 2021",
            use="W",
        ),
    )
    shift_invariant = True
    per_layer = True
    head_axes = (("weight", 0), ("gate", 0))
    position_axes = 2
    limits = limited(locality_strength=above(0, ": the paper has 1.0"))

    def init(self, key: Key, dims: Dims) -> Params:
        side = math.isqrt(dims.num_heads)
        cells = np.arange(side) - ((side - 1) / 2 if side % 2 == 0 else side // 2)
        down, right = np.tile(cells, side), np.repeat(cells, side)
        local = np.stack([2 * right, 2 * down, np.full(side * side, -1.0)], axis=-1)
        weight = 0.02 * jax.random.normal(key, (dims.num_heads, 3), jnp.float32)
        weight = weight.at[: side * side].set(local.astype(np.float32))
        return {"weight": self.locality_strength * weight, "gate": jnp.ones(dims.num_heads, jnp.float32)}

    def normalize(self, params: Params, logits: Array, geometry: Geometry) -> Array:
        dtype = logits.dtype
        weight, gate = (jnp.asarray(params[name]).astype(dtype) for name in ("weight", "gate"))
        y, x = (relative_on_device(geometry)[..., axis].astype(dtype) for axis in range(2))
        features = jnp.stack([x, y, x * x + y * y], axis=-1)
        by_offset = jnp.einsum("bqkf,hf->bhqk", features, weight, precision="highest")
        share = jax.nn.sigmoid(gate)[None, :, None, None]
        return (1 - share) * softmax(logits, geometry.mask) + share * softmax(by_offset, geometry.mask)


def softmax(logits: Array, mask: Array | None) -> Array:
    """Over the keys that ``mask`` leaves; 0 in a row without any."""
    if mask is None:
        return jax.nn.softmax(logits, axis=-1)
    return jnp.where(mask, jax.nn.softmax(logits, axis=-1, where=mask), 0)
