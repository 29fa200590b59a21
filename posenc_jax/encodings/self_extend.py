"""SelfExtend: exact rotary positions nearby, positions of groups farther off (Jin et al. 2024)."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from posenc_jax.encodings.base import Array, Dims, Geometry, Params, PositionalEncoding, Terms
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.rerope import selected_product
from posenc_jax.encodings.rope import RoPE
from posenc_jax.encodings.shared.distances import relative_on_device


@dataclasses.dataclass(frozen=True)
class SelfExtend(PositionalEncoding):
    """RoPE by position within a window, and by position of the token's group of g beyond it::

        logits_ij = q_i . R(j' - i') k_j / sqrt(D)
        i' = i,                       j' = j           where i - j < w
        i' = i div g + w - w div g,   j' = j div g     elsewhere

    (Jin et al. 2024, section 3 and the pseudo-code of appendix A.) A model trained on L positions then serves
    (L - w) g + w; nothing is trained. It costs a second product of queries and keys. Fields: ``group_size`` g and
    ``window`` w, 8 and 1024 in the authors' code; ``rope`` the rotation. ``shift``: "floor" is w div g, as in the paper
    and where the code decodes; "exact" is w / g, as where the code reads a prompt: another shift only if g does not
    divide w.

    The scale of queries that the code offers (``scale_base``) is an element of its own: ``(LogScaling(4096),
    SelfExtend())``. Where a group begins depends on the absolute position, so moving a sequence changes it. Defined
    under a causal mask.
    """

    group_size: int = 8
    window: int = 1024
    shift: Literal["floor", "exact"] = "floor"
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "self_extend"
    paper = "arXiv:2401.01325"
    citation = (
        "Jin, H., Han, X., Yang, J., Jiang, Z., Liu, Z., Chang, C.-Y., Chen, H., Hu, X. (2024). LLM Maybe LongLM: "
        "Self-Extend LLM Context Window Without Tuning. ICML. arXiv:2401.01325."
    )
    methods = (
        Method(
            "rotary",
            "SelfExtend",
            "self_extend(group_size=2, window=4)",
            "Jin et al. 2024",
            paper,
            "groups of 8 and a window of 1024 in the authors' code",
        ),
    )
    causal_only = True

    def check_fields(self) -> None:
        """Refuses groups and windows without tokens."""
        for field, usual in (("group_size", 8), ("window", 1024)):
            if getattr(self, field) < 1:
                raise ValueError(
                    f"SelfExtend.{field} = {getattr(self, field)} must be at least 1: the authors' code has {usual}"
                )

    def check(self, dims: Dims) -> None:
        """Checks that the rotation suits the model."""
        self.rope.check(dims)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """The frequencies of the rotation."""
        return self.rope.frequencies_for(dims, length)

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        """``[B, H, Q, K]``, see the class."""
        g, w = self.group_size, self.window
        shift = w - (w // g if self.shift == "floor" or w % g == 0 else w / g)
        near, far = (
            (
                self.rope.encode_queries(params, q, at_q, geometry.q_length),
                self.rope.encode_keys(params, k, at_k, geometry.k_length),
            )
            for at_q, at_k in (
                (geometry.q_positions, geometry.k_positions),
                (geometry.q_positions // g + shift, geometry.k_positions // g),
            )
        )
        return selected_product(near, far, -relative_on_device(geometry) < w)
