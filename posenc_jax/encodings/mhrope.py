"""MHRoPE: multimodal RoPE in which every head reads one axis (Huang et al. 2025)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Geometry, Params, Terms, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.rerope import scaled_product
from posenc_jax.encodings.rope import RoPE, WithRoPE
from posenc_jax.encodings.shared.phase import sincos_of_turns
from posenc_jax.encodings.shared.rotation import turn


@dataclasses.dataclass(frozen=True)
class MHRoPE(WithRoPE):
    """RoPE by time in some heads, by row in others and by column in the rest, each with all frequencies::

        logits_ij of head h = R(i_a) q_i . R(j_a) k_j / sqrt(D),   a = a(h) the axis of the head

    (Huang et al. 2025, section 4, Multi-Head RoPE.) Positions ``[#B, S, 3]``: time, row, column; a text token has the
    same number three times, and then this is RoPE. `MRoPE` deals out planes instead, so that each axis has a part of
    the frequencies.

    Attributes:
      sections: how many heads have time, row and column, in the order of heads; heads that are left over do not turn.
        None gives a quarter of the heads to time and half of the rest to each of the others: 2, 3 and 3 of 8, which the
        authors' code deals out over key heads.
      rope: the rotation, by default Qwen's.

    Since axes differ between heads, it turns queries and keys in `score`, and fused kernels do not serve it.

    Raises:
      ValueError: in `check`, if the sections add up to more heads than there are; and as `RoPE`.
    """

    sections: tuple[int, int, int] | None = None
    rope: RoPE = RoPE(base=1e6, layout="half")  # noqa: RUF009  (frozen)

    name = "mhrope"
    paper = "arXiv:2510.23095"
    citation = """@misc{huang2025revisiting, author = {Huang, J. and Liu, X. and Song, S. and Hou, R. and Chang, H. and
        Lin, J. and Bai, S.}, title = {{Revisiting Multimodal Positional Encoding in Vision-Language Models}},
        year = {2025}, eprint = {2510.23095}}"""
    methods = (Method("rotary", "MHRoPE", "media(width=2, design='reset')|mhrope", "Huang et al. 2025"),)
    shift_invariant = True
    position_axes = 3

    def check_fields(self) -> None:
        if self.sections is not None and min(self.sections) < 0:
            raise ValueError(f"MHRoPE.sections = {self.sections} must be numbers of heads: the paper has (2, 3, 3)")

    def check(self, dims: Dims) -> None:
        super().check(dims)
        self.axes(dims.num_heads)

    def axes(self, num_heads: int) -> np.ndarray:
        """``[H]``: the axis of each head, 3 for one that does not turn.

        >>> MHRoPE().axes(8).tolist()
        [0, 0, 1, 1, 1, 2, 2, 2]
        """
        rest = num_heads - num_heads // 4
        sections = self.sections or (num_heads // 4, rest - rest // 2, rest // 2)
        if sum(sections) > num_heads:
            raise ValueError(
                f"MHRoPE.sections = {sections} are {sum(sections)} heads, and the model has {num_heads}: choose "
                "sections that add up to them, or to fewer"
            )
        return np.repeat(np.arange(4), (*sections, num_heads - sum(sections)))

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        axes = geometry.own_heads(self.axes(geometry.num_heads))

        def turned(x: Array, positions: Array, length: Array) -> Array:
            dtype = at_least_float32(x)
            still = jnp.asarray(positions[..., :1] * 0)
            by_axis = jnp.moveaxis(jnp.concatenate([positions, still], axis=-1), -1, 0)  # [4, #B, S]
            each = self.rope.turns(x.shape[-1], length, dtype)
            parts = [sincos_of_turns(own, each, dtype) for own in by_axis]
            sin, cos = (jnp.stack(values, axis=1)[:, axes] * self.rope.magnitude for values in zip(*parts, strict=True))
            return turn(x, sin, cos, self.rope.layout)

        return scaled_product(
            turned(q, geometry.q_positions, geometry.q_length), turned(k, geometry.k_positions, geometry.k_length)
        )
