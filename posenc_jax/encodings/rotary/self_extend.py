"""SelfExtend: exact rotary positions nearby, positions of groups farther off (Jin et al. 2024)."""

import dataclasses
from typing import Literal

from posenc_jax.encodings.interface.base import Array, Geometry, Params, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.rotary.rerope import TwoProducts, selected_product
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class SelfExtend(TwoProducts):
    """RoPE by position within a window, and by position of the token's group beyond it::

        logits_ij = q_i . R(j' - i') k_j / sqrt(D)
        i' = i,                       j' = j           where i - j < w
        i' = i div g + w - w div g,   j' = j div g     elsewhere

    (Jin et al. 2024, section 3 and the pseudo-code of appendix A.) Nothing is trained; a model trained on L positions
    then serves (L - w) g + w. It costs a second product of queries and keys.

    The scale of queries that the code offers (``scale_base``) is an element of its own: ``(LogScaling(4096),
    SelfExtend())``. Where a group begins depends on the absolute position, so moving a sequence changes it. Defined
    under a causal mask.

    Attributes:
      group_size: g, 8 in the authors' code.
      window: w, 1024 in the authors' code.
      shift: "floor" subtracts w div g, as in the paper and where the code decodes; "exact" subtracts w / g, as where
        the code reads a prompt: another shift only if g does not divide w.
      rope: the rotation.
    """

    group_size: int = 8
    window: int = 1024
    shift: Literal["floor", "exact"] = "floor"
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "self_extend"
    paper = "arXiv:2401.01325"
    citation = """@inproceedings{jin2024maybe, author = {Jin, H. and Han, X. and Yang, J. and Jiang, Z. and Liu, Z.
        and Chang, C.-Y. and Chen, H. and Hu, X.}, title = {{LLM Maybe LongLM: Self-Extend LLM Context Window Without
        Tuning}}, booktitle = {ICML}, year = {2024}, eprint = {2401.01325}}"""
    methods = (
        Method(
            "rotary",
            "SelfExtend",
            "self_extend(group_size=2, window=4)",
            "Jin et al. 2024",
            note="groups of 8 and a window of 1024 in the authors' code",
            use="s",
        ),
    )
    limits = limited(
        group_size=at_least(1, ": the authors' code has 8"), window=at_least(1, ": the authors' code has 1024")
    )

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        g, w = self.group_size, self.window
        shift = w - (w // g if self.shift == "floor" or w % g == 0 else w / g)
        at_q, at_k = geometry.q_positions, geometry.k_positions
        near, far = (self.encoded(params, q, k, geometry, *at) for at in ((at_q, at_k), (at_q // g + shift, at_k // g)))
        return selected_product(near, far, -relative_on_device(geometry) < w)
