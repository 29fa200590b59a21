"""FIRE: a learned function of the distance relative to how far the query can look back (Li et al. 2023)."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.distances import init_perceptron, perceptron, relative_on_device, row_blocks

EPSILON = 1e-6  # of the normaliser, in the paper's listing


@dataclasses.dataclass(frozen=True)
class FIRE(PositionalEncoding):
    """A small perceptron reads the distance, as a part of the longest that its query has seen, on a logarithmic scale::

        logits_ij += f_h( ln(|c (i - j)| + 1) / (ln(|c max(i, |m L|)| + 1) + 1e-6) ),    f: 1 -> width -> ReLU -> H

    (Li et al. 2023, section 3, and the listing in its appendix, the only code of the authors; i counts from 0.) At
    whatever length the input of f stays in 0 .. 1 for the past, so f is never asked beyond what it has learned:
    progressive interpolation. Below the threshold ``|m L|`` the distance is taken relative to the threshold instead. c,
    m and f are learned, and the heads share c and m. It depends on the absolute position of the query, so it is not
    shift invariant. Added after the 1/sqrt(D) scaling; symmetric where there is no causal mask, where keys after the
    query may exceed 1.

    Attributes:
      threshold: L, 512 in the paper's listing (in the code of DAPE 256: it halves that number).
      width: the hidden units of f, 32 in the paper.
      per_layer: the layers have sets of their own, the paper's FIRE; False is its FIRE-S, one set for all.

    Parameters: ``c`` (0.1 at the start) and ``multiplier`` (m, 1) ``[1]``, ``weight_0``, ``bias_0``, ``weight_1`` and
    ``bias_1`` of f, uniform within 1 / sqrt(inputs) as in torch.

    With f(x) = relu(x), the paper's input itself, for the query at position 10 and a threshold of 256:

    >>> params = {"c": jnp.array([0.1]), "multiplier": jnp.ones(1), "weight_0": jnp.ones((1, 1)),
    ...           "bias_0": jnp.zeros(1), "weight_1": jnp.ones((1, 1)), "bias_1": jnp.zeros(1)}
    >>> bias = FIRE(threshold=256).bias(params, Geometry.of_length(11, num_heads=1, causal=True))
    >>> [f"{x:.5f}" for x in bias[0, 0, 10, :4]]
    ['0.21127', '0.19563', '0.17915', '0.16173']
    """

    threshold: float = 512.0
    width: int = 32
    per_layer: bool = True  # type: ignore[misc]  # a class fact of the others

    name = "fire"
    paper = "arXiv:2310.04418"
    citation = """@inproceedings{li2024functional, author = {Li, S. and You, C. and Guruganesh, G. and Ainslie, J.
        and Ontanon, S. and Zaheer, M. and Sanghai, S. and Yang, Y. and Kumar, S. and Bhojanapalli, S.},
        title = {{Functional Interpolation for Relative Positions Improves Long Context Transformers}},
        booktitle = {ICLR}, year = {2024}, eprint = {2310.04418}}"""
    methods = (
        Method("additive", "FIRE", "fire", "Li et al. 2023", use="s"),
        Method("additive", "FIRE-S", "fire(per_layer=False)", "Li et al. 2023", note="one set for all layers"),
    )
    unsigned = True
    head_axes = (("weight_1", 1), ("bias_1", 0))
    limits = limited(
        threshold=above(0, ", or the first query divides by nearly 0: the paper has 512"),
        width=at_least(1, ": the paper has 32 hidden units"),
    )

    def init(self, key: Key, dims: Dims) -> Params:
        scales = {"c": jnp.full((1,), 0.1, jnp.float32), "multiplier": jnp.ones((1,), jnp.float32)}
        return scales | init_perceptron(key, (1, self.width, dims.num_heads))

    def bias(self, params: Params, geometry: Geometry) -> Array:
        """``[#B, H, Q, K]``, in the dtype of the parameters, float32 at least; some queries at a time where the hidden
        units of all pairs would be many.
        """
        c, dtype = params["c"], params["c"].dtype
        threshold = jnp.abs(params["multiplier"] * self.threshold)
        farthest = jnp.maximum(jnp.asarray(geometry.q_positions).astype(dtype), threshold[None])
        normalizer = jnp.log1p(jnp.abs(c[None] * farthest)) + EPSILON
        distance = jnp.abs(relative_on_device(geometry)).astype(dtype)
        x = jnp.log1p(jnp.abs(c[None, None] * distance)) / normalizer[:, :, None]
        return row_blocks(lambda x: perceptron(params, x[..., None], jax.nn.relu), x, self.width)
