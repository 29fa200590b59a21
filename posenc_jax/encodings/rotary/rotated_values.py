"""Rotated values: RoPE on values, and back on outputs (Su 2025), with queries and keys RoVE."""

import dataclasses

from posenc_jax.encodings.interface.base import Array, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import of_field
from posenc_jax.encodings.rotary.rope import RoPE, WithRoPE
from posenc_jax.encodings.shared.phase import sincos_of_turns
from posenc_jax.encodings.shared.rotation import turn


@dataclasses.dataclass(frozen=True)
class RotatedValues(WithRoPE):
    """Values turned by their positions, and outputs turned back by that of the query, so that what a token gives
    depends on how far away it is::

        o_i = R(-i) sum_j w_ij R(j) v_j = sum_j w_ij R(j - i) v_j

    (Su 2025, VO-RoPE, "the second kind of rotary position encoding".) ``rope|rotated_values`` turns queries and keys
    too: RoVE (García-Castellanos et al. 2026), Su's QKVO-RoPE. DeepSeek-V4 does so since its keys are its values:
    unless outputs are turned back, they hold absolute positions.

    Attributes:
      rope: the rotation.
      back: False leaves outputs as they are, ``sum_j w_ij R(j) v_j``, as in Su's QKV-RoPE.

    Departure: values are turned and never scaled: a magnitude of the rotation's scaling, which is meant for logits, is
    left out.

    Raises:
      ValueError: in `check`, as `RoPE`.

    >>> import numpy as np
    >>> out = RotatedValues().encode_outputs({}, np.ones((1, 1, 1, 2), np.float32), np.array([[1]]), np.array([2]))
    >>> np.round(np.asarray(out, float), 4).tolist()[0][0]
    [[1.3818, -0.3012]]
    """

    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)
    back: bool = True

    name = "rotated_values"
    paper = "https://kexue.fm/archives/10862"
    citation = """@misc{su2025second, author = {Su, J.}, title = {{Road to Transformer Upgrades 19: The Second Kind of
        Rotary Position Encoding}}, year = {2025}, url = {https://kexue.fm/archives/10862}}"""
    methods = (
        Method("rotary", "Rotated values (VO-RoPE)", "rotated_values", "Su 2025"),
        Method(
            "rotary",
            "RoPE with rotated values (RoVE)",
            "rope|rotated_values",
            "García-Castellanos et al. 2026",
            "arXiv:2606.11275",
            use="W",
        ),
        Method(
            "rotary",
            "RoPE with rotated values, not turned back",
            "rope|rotated_values(back=False)",
            "Su 2025",
            note="x-transformers had it; outputs then hold absolute positions",
            use="s",
        ),
    )
    shift_invariant = of_field("back")

    @property
    def acts_on(self) -> frozenset[str]:
        """Without ``back`` outputs stay as they are."""
        return super().acts_on if self.back else super().acts_on - {"encode_outputs"}

    def encode_values(self, params: Params, v: Array, positions: Array, length: Array) -> Array:
        return self._turned(v, positions, length, 1)

    def encode_outputs(self, params: Params, out: Array, positions: Array, length: Array) -> Array:
        return self._turned(out, positions, length, -1) if self.back else out

    def _turned(self, x: Array, positions: Array, length: Array, sign: int) -> Array:
        dtype = at_least_float32(x)
        sin, cos = sincos_of_turns(positions, self.rope.turns(x.shape[-1], length, dtype), dtype)
        return turn(x, sign * sin[:, None], cos[:, None], self.rope.layout)
