"""RoPE with a strength: each vector is part turned and part as it was (audiocraft)."""

import dataclasses

from posenc_jax.encodings.interface.base import Array, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import Limit, limited, of_field
from posenc_jax.encodings.rotary.rope import RoPE, WithRoPE
from posenc_jax.encodings.shared.rotation import Rotary


@dataclasses.dataclass(frozen=True)
class BlendedRoPE(WithRoPE, Rotary):
    """Queries and keys in part rotated, in part as they were::

        q'_i = s R(i) q_i + (1 - s) q_i,   k'_j = s R(j) k_j + (1 - s) k_j

    (audiocraft, ``modules/rope.py``: ``scale``, the ``positional_scale`` of its models.) No paper describes it. Between
    0 and 1 it is no rotation: a plane shrinks where it is turned far, and products hold a part that depends on absolute
    positions.

    audiocraft blends xPos too, which is not here.

    Attributes:
      strength: s, 1 for RoPE and 0 for no rotation.
      rope: the rotation, in audiocraft "interleaved".
    """

    strength: float = 0.5
    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "blended_rope"
    paper = "https://github.com/facebookresearch/audiocraft"
    citation = """@misc{copet2023audiocraft, author = {Copet, J. and Kreuk, F. and Gat, I. and Remez, T. and Kant,
        D. and Synnaeve, G. and Adi, Y. and D{\\'e}fossez, A.}, title = {{AudioCraft}}, year = {2023},
        url = {https://github.com/facebookresearch/audiocraft}}"""
    methods = (
        Method(
            "rotary",
            "RoPE with a strength",
            "blended_rope",
            "Copet et al. 2023",
            note="of code, not of the paper; its default is 1, RoPE",
            use="s",
        ),
    )
    limits = limited(strength=Limit(0, "not be negative: 0 turns nothing", most=1))
    shift_invariant = of_field("strength", lambda strength: strength in (0, 1))

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        wide = x.astype(at_least_float32(x))
        turned = self.rope.rotated(params, wide, positions, length)
        return (self.strength * turned + (1 - self.strength) * wide).astype(x.dtype)
