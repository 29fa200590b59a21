"""LM-Infinite: attention to the first tokens and the nearest ones, at no distance longer than in training."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Geometry, Params, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.rotary.rerope import TwoProducts, selected_product
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class LMInfinite(TwoProducts):
    """RoPE over the nearest keys, and over the first of the sequence at one fixed distance; no other key is seen::

        logits_ij = q_i . R(j - i) k_j / sqrt(D)   where i - j < w
                    q_i . R(-L) k_j / sqrt(D)      else, where j < n
                    -inf                           else

    (Han et al. 2023, section 4, the Lambda-shaped mask and the limit of distances, and the authors' code,
    ``Glaciohound/LM-Infinite``.) So a model trained on L positions reads texts of any length with distances and numbers
    of keys that it knows, without further training. The first tokens are attention sinks (Xiao et al. 2023).

    The paper's option to attend to the k best keys in between is not implemented. Which keys are first depends on the
    absolute position, so moving a sequence changes it. Defined under a causal mask.

    Attributes:
      window: w, 4096 for Llama 2.
      first: n, 10 to 100 for Llama 2.
      limit: L; None is w, as in the paper.
      rope: the rotation.
    """

    window: int = 4096
    first: int = 10
    limit: int | None = None
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "lm_infinite"
    paper = "arXiv:2308.16137"
    citation = """@inproceedings{han2024lm, author = {Han, C. and Wang, Q. and Peng, H. and Xiong, W. and Chen, Y. and
        Ji, H. and Wang, S.}, title = {{LM-Infinite: Zero-Shot Extreme Length Generalization for Large Language
        Models}}, booktitle = {NAACL}, year = {2024}, eprint = {2308.16137}}"""
    methods = (
        Method(
            "rotary",
            "LM-Infinite",
            "lm_infinite(window=4, first=2)",
            "Han et al. 2023",
            note="a window of 4096 and 10 first tokens for Llama 2",
            use="s",
        ),
    )
    limits = limited(
        window=at_least(1, ": 4096 for Llama 2"),
        first=at_least(0, ": the paper has 10 to 100"),
        limit=at_least(1, ", or None for the window"),
    )

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        at_q, at_k = geometry.q_positions, geometry.k_positions
        fixed = np.full((1, 1), self.window if self.limit is None else self.limit), np.zeros((1, 1), np.int64)
        near, far = (self.encoded(params, q, k, geometry, *at) for at in ((at_q, at_k), fixed))
        is_near = -relative_on_device(geometry) < self.window
        products = selected_product(near, far, is_near)
        seen = is_near | jnp.asarray(at_k < self.first)[:, None]
        return jnp.where(seen[:, None], products, jnp.finfo(products.dtype).min)
