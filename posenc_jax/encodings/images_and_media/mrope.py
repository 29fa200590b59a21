"""Multimodal RoPE: the planes of one RoPE, dealt out to the axes of images and films."""

import dataclasses
import math
from typing import Literal

import numpy as np

from posenc_jax.encodings.images_and_media.axial_rope import turn_by_axes
from posenc_jax.encodings.interface.base import Array, Dims, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.rotary.rope import RoPE
from posenc_jax.encodings.rotary.rope_scaling import RoPEScaling
from posenc_jax.encodings.shared.rotation import Layout, Rotary


@dataclasses.dataclass(frozen=True)
class MRoPE(Rotary):
    """Multimodal RoPE: the planes of one RoPE, dealt out to time, height and width::

        plane k turns by p_a(k) base^(-2k/D),   a(k) the axis of plane k

    (Wang et al. 2024, Qwen2-VL, section 2.1.) Positions ``[#B, S, 3]``: time, row, column, as from `Grid` with a height
    for films; a text token has the same number three times, and then this is RoPE with the same base and layout: plain
    positions ``[#B, S]`` are those of a text.

    Attributes:
      sections: the number of planes per axis, or their shares of all planes, which add up to 1: planes that rounding
        down leaves over go to the largest remainders, of equal ones to the first. None is the models' choice: (16, 24,
        24) and, interleaved, (24, 20, 20) at head_dim 128. These are a quarter for time and half of the rest for each
        other axis and, interleaved, 5/16 for height and for width and the rest for time, rounded. With "blocks" there
        may be any number of sections, one for each axis of the positions.
      order: "blocks" puts the axes one after the other, as ``mrope_section`` of Qwen2-VL and Qwen2.5-VL, so that time
        has the fastest planes; "interleaved" alternates them, t h w t h w ..., and gives time the rest, as Qwen3-VL;
        "space_first" alternates rows and columns, h w h w ..., and leaves the slowest planes to time, as VideoRoPE (Wei
        et al. 2025, section 4) and ERNIE 4.5 VL, with sections (20, 22, 22) of 64; "even" gives
        each plane to the axis of which the smallest share is placed, never the one before it if another has planes
        left, and the last plane to time, as openPangu-VL; a tuple is the axes of a cycle of planes, which repeats, as
        VRoPE's (0, 1, 2, 3).
      base, layout: as in `RoPE`, by default 1e6 and "half", as in Qwen2-VL.
      rotary_dim, scaling: as in `RoPE`. GLM-4.1V and Qwen3.5 turn a part of each head, and Qwen2.5-VL reads longer
        texts by YaRN.
      still_time: planes of time do not turn, so that no distance changes their part of the product (Li et al. 2025,
        HoPE).

    Raises:
      ValueError: in `check`, if the sections do not add up to the planes that turn, or cannot alternate; and as `RoPE`.
    """

    sections: tuple[int, ...] | tuple[float, ...] | None = None
    order: Literal["blocks", "interleaved", "space_first", "even"] | tuple[int, ...] = "blocks"
    base: float = 1e6
    layout: Layout = "half"
    rotary_dim: int | float | None = None
    scaling: RoPEScaling | None = None
    still_time: bool = False

    name = "mrope"
    paper = "arXiv:2409.12191"
    citation = """@misc{wang2024qwen, author = {Wang, P. and Bai, S. and Tan, S. and Wang, S. and Fan, Z. and Bai, J.
        and others}, title = {{Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
        Resolution}}, year = {2024}, eprint = {2409.12191}}"""
    methods = (
        Method("rotary", "M-RoPE", "grid(width=4, height=4)|mrope", "Wang et al. 2024", use="W"),
        Method(
            "rotary",
            "M-RoPE, interleaved",
            "grid(width=4, height=4)|mrope(order='interleaved')",
            "Qwen team 2025",
            "https://github.com/QwenLM/Qwen3-VL",
            use="W",
        ),
        Method(
            "rotary",
            "M-RoPE, rows and columns first (ERNIE 4.5 VL)",
            "grid(width=4, height=4)|mrope(sections=(0.3125, 0.34375, 0.34375), order='space_first', base=5e5, "
            "layout='interleaved')",
            "Baidu 2025",
            "https://github.com/PaddlePaddle/ERNIE",
            use="W",
        ),
        Method(
            "rotary",
            "M-RoPE of a part, rows and columns first (Ming)",
            "grid(width=4, height=4)|mrope(order='space_first', rotary_dim=0.5)",
            "Inclusion AI 2025",
            "https://github.com/inclusionAI/Ming",
            use="W",
        ),
        Method(
            "rotary",
            "M-RoPE with even shares (openPangu-VL)",
            "grid(width=4, height=4)|mrope(order='even')",
            "Huawei 2025",
            "https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/rotary_embedding/openpangu_rope.py",
            use="W",
        ),
        Method(
            "rotary",
            "M-RoPE of a part (GLM-4.1V)",
            "grid(width=4, height=4)|mrope(base=10000.0, layout='interleaved', rotary_dim=0.5)",
            "GLM-V team 2025",
            "arXiv:2507.01006",
            use="W",
        ),
    )
    shift_invariant = True
    reads_text = True
    limits = limited(base=above(0, ": Qwen2-VL has 1e6"))

    @property
    def position_axes(self) -> int:  # type: ignore[override]
        """The number of sections, or of axes in a cycle."""
        if isinstance(self.order, tuple):
            return max(self.order, default=0) + 1
        return 3 if self.sections is None else len(self.sections)

    def check_fields(self) -> None:
        if isinstance(self.order, tuple):
            self._check_cycle(self.order)
        elif self.position_axes != 3 and self.order != "blocks":
            raise ValueError(
                f"MRoPE.sections = {self.sections} are {self.position_axes} axes, and order={self.order!r} alternates "
                "time, height and width: give three sections, or use order='blocks'"
            )
        if self.sections is not None and min(self.sections, default=-1) < 0:
            raise ValueError(f"MRoPE.sections = {self.sections} must be numbers of planes: Qwen2-VL has (16, 24, 24)")
        if self._shares and not math.isclose(sum(self._shares), 1):
            raise ValueError(
                f"MRoPE.sections = {self.sections} are shares of all planes and must add up to 1, or whole numbers of "
                "planes: Qwen2-VL has (16, 24, 24), or (0.25, 0.375, 0.375)"
            )
        object.__setattr__(self, "rotary_dim", self._one.rotary_dim)  # checked, and 64.0 and 64 are one value

    def _check_cycle(self, cycle: tuple[int, ...]) -> None:
        if sorted({*cycle}) != list(range(self.position_axes)):
            raise ValueError(
                f"MRoPE.order = {cycle} must name every axis from 0 on, as the planes of one cycle have them: VRoPE "
                "has (0, 1, 2, 3)"
            )
        if self.sections is not None or self.still_time:
            raise ValueError(
                f"MRoPE.order = {cycle} says the axis of every plane: leave sections and still_time out, or choose an "
                "order by its name"
            )

    @property
    def _one(self) -> RoPE:
        """The RoPE whose planes are dealt out."""
        return RoPE(self.base, self.layout, self.rotary_dim, self.scaling)

    @property
    def _shares(self) -> tuple[float, ...]:
        """The sections, where they are shares of all planes."""
        return self.sections if self.sections and isinstance(self.sections[0], float) else ()

    def check(self, dims: Dims) -> None:
        self._one.check(dims)
        self.axes(dims.head_dim)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[r/2]``, of each plane that turns, whatever its axis; 0 of one that is still."""
        found = self._one.frequencies_for(dims, length)
        return np.where(self.axes(dims.head_dim) == 0, 0.0, found) if self.still_time else found

    def axes(self, head_dim: int) -> np.ndarray:
        """The axis of each plane that turns, ``[r/2]``.

        >>> MRoPE(sections=(2, 1, 1)).axes(8).tolist()
        [0, 0, 1, 2]
        >>> MRoPE(sections=(3, 2, 1), order="interleaved").axes(12).tolist()
        [0, 1, 2, 0, 1, 0]
        >>> MRoPE(sections=(2, 2, 2), order="space_first").axes(12).tolist()
        [1, 2, 1, 2, 0, 0]
        >>> MRoPE(sections=(3, 2, 1), order="even").axes(12).tolist()
        [0, 1, 2, 0, 1, 0]
        >>> MRoPE(sections=(0.5, 0.25, 0.25)).axes(12).tolist()
        [0, 0, 0, 1, 1, 2]
        >>> MRoPE(order=(0, 0, 1, 2)).axes(12).tolist()
        [0, 0, 1, 2, 0, 0]
        """
        planes = self._one.rotated_dim(head_dim) // 2
        if isinstance(self.order, tuple):
            return np.resize(np.array(self.order), planes)
        if self._shares:
            shares = np.multiply(self._shares, planes)
            counts = np.floor(shares).astype(int)
            counts[np.argsort(counts - shares, kind="stable")[: planes - counts.sum()]] += 1
            sections = tuple(counts.tolist())
        elif self.sections is not None:
            sections = self.sections
        elif self.order == "interleaved":
            side = 5 * planes // 16
            sections = planes - 2 * side, side, side
        else:
            rest = planes - planes // 4
            sections = planes // 4, rest - rest // 2, rest // 2
        if sum(sections) != planes:
            raise ValueError(
                f"MRoPE.sections = {sections} are {sum(sections)} planes of two dimensions, but {2 * planes} of "
                f"head_dim = {head_dim} dimensions turn, which are {planes} planes: choose sections that add up"
            )
        if self.order == "blocks":
            return np.repeat(np.arange(len(sections)), sections)
        time, height, width = sections
        if self.order == "even":
            return self._even(sections)
        if self.order == "space_first":
            if not 0 <= height - width <= 1:
                raise ValueError(
                    f"MRoPE.sections = {sections} cannot alternate rows and columns: give both as many planes, or rows "
                    "one more, as ERNIE's (20, 22, 22), or use order='blocks'"
                )
            return np.append(np.arange(height + width) % 2 + 1, np.zeros(time, int))
        if max(3 * height - 1, 3 * width) > planes:
            raise ValueError(
                f"MRoPE.sections = {sections} cannot alternate, since every third plane is at most one of height or of "
                "width: give time the largest section, as Qwen3-VL's (24, 20, 20), or use order='blocks'"
            )
        axes = np.zeros(planes, int)
        axes[1 : 3 * height : 3] = 1
        axes[2 : 3 * width : 3] = 2
        return axes

    def _even(self, sections: tuple[int, ...]) -> np.ndarray:
        shares, axes = (max(sections[0] - 1, 0), *sections[1:]), list[int]()
        for _ in range(sum(shares)):
            left = [axis for axis, share in enumerate(shares) if axes.count(axis) < share]
            other = [axis for axis in left if axes[-1:] != [axis]]
            axes.append(min(other or left, key=lambda axis: axes.count(axis) / shares[axis]))
        return np.array([*axes, *[0][: sections[0]]])

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        head_dim, one = x.shape[-1], self._one
        if len(positions.shape) == 2:
            positions = positions[..., None].repeat(self.position_axes, axis=-1)
        if self.still_time:
            positions = positions * np.array([0, 1, 1], positions.dtype)[None, None]
        each = one.turns(head_dim, length, at_least_float32(x))
        return turn_by_axes(x, positions, self.axes(head_dim), each, self.layout, one.magnitude)
