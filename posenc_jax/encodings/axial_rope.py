"""Rotary position embedding over several axes: axial, with mixed learned frequencies, and multimodal."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.rope import RoPE
from posenc_jax.encodings.rope_scaling import RoPEScaling
from posenc_jax.encodings.shared.phase import Turns, sincos_of_turns, turns, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, check_planes, turn
from posenc_jax.encodings.value import above, at_least, limited


def turn_by_axes(x: Array, positions: Array, axes: np.ndarray, each: Turns, layout: Layout, magnitude: float) -> Array:
    """`rotate` where plane k of ``x [B, H, S, D]`` turns by ``positions[..., axes[k]]`` times the frequency of
    ``each[..., k]``, and is multiplied by ``magnitude``; ``positions [#B, S, A]``; ``axes [F]`` are known. Angles are
    exact at integer positions; dimensions from ``2 F`` on stay as they are.
    """
    dtype = at_least_float32(x)
    planes = [np.flatnonzero(axes == axis) for axis in range(positions.shape[-1])]
    own = [Turns(*(array[..., k] for array in each)) for k in planes]
    parts = [sincos_of_turns(positions[..., axis], turns_of, dtype) for axis, turns_of in enumerate(own)]
    order = np.argsort(np.concatenate(planes))
    numpy = np if all(isinstance(part, np.ndarray) for pair in parts for part in pair) else jnp
    sin, cos = (numpy.concatenate(values, axis=-1)[..., order][:, None] for values in zip(*parts, strict=True))
    if magnitude != 1:
        sin, cos = magnitude * sin, magnitude * cos
    return turn(x, sin, cos, layout)


@dataclasses.dataclass(frozen=True)
class AxialRoPE(Rotary):
    """RoPE over the axes of an image or a film: each axis turns planes of its own::

        plane k of axis a turns by p_a base^(-k / n),   k = 0 .. n-1,   n = D / (2 axes)

    (Heo et al. 2024, section 3.2, "RoPE-Axial": base 100, since images are short.) Positions ``[#B, S, axes]``, slowest
    axis first, as from `Grid`. As in the authors' code (naver-ai/rope-vit) the first n planes are those of the last
    axis, the column, and the last n those of the first; the paper alternates them, which is a permutation of
    dimensions. A token outside the image, such as a class token, is the model's matter: the authors
    rotate it by 0.

    Raises ValueError in `check` if head_dim is no multiple of 2 axes.
    """

    axes: int = 2
    base: float = 100.0
    layout: Layout = "interleaved"

    name = "axial_rope"
    paper = "arXiv:2403.13298"
    citation = """@inproceedings{heo2024rotary, author = {Heo, B. and Park, S. and Han, D. and Yun, S.},
        title = {{Rotary Position Embedding for Vision Transformer}}, booktitle = {ECCV}, year = {2024},
        eprint = {2403.13298}}"""
    methods = (Method("rotary", "Axial 2-D RoPE", "grid(width=8)|axial_rope", "Heo et al. 2024", paper, use="W"),)
    shift_invariant = True
    limits = limited(axes=at_least(1, ": 2 for images, 3 for films"), base=above(0, ": the paper has 100.0"))

    @property
    def position_axes(self) -> int:  # type: ignore[override]
        return self.axes

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, 2 * self.axes)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[head_dim/2]``, the last axis first, as its planes."""
        return self._frequencies(dims.head_dim)

    def _frequencies(self, head_dim: int) -> np.ndarray:
        return np.tile(vaswani_frequencies(head_dim // self.axes, self.base), self.axes)

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        head_dim = x.shape[-1]
        axes = np.repeat(np.arange(self.axes)[::-1], head_dim // self.axes // 2)
        return turn_by_axes(x, positions, axes, turns(self._frequencies(head_dim)), self.layout, 1.0)


@dataclasses.dataclass(frozen=True)
class MixedRoPE(Rotary):
    """RoPE over two axes whose planes turn by both, with learned frequencies::

        plane k of head h turns by p_x f_x(h, k) + p_y f_y(h, k)

    so that diagonals have planes too (Heo et al. 2024, section 3.3, "RoPE-Mixed"). Positions ``[#B, S, 2]``: row y,
    column x, as from `Grid`. Parameters: ``frequencies [2, Hkv, D/2]``, x first, of each layer; initialised as in the
    authors' code (naver-ai/rope-vit): per head a random angle u, and for k < D/4::

        f_x = base^(-4k/D) (cos u, cos(u + pi/2)),   f_y = base^(-4k/D) (sin u, sin(u + pi/2))

    The two halves of the planes are perpendicular directions. ``base`` is 10 in the authors' code. With grouped-query
    heads the queries of a group share the frequencies of their key. Frequencies are learned, so angles are plain
    products in at least float32.

    Raises ValueError in `check` if head_dim is no multiple of 4.
    """

    base: float = 10.0
    layout: Layout = "interleaved"

    name = "mixed_rope"
    paper = "arXiv:2403.13298"
    citation = AxialRoPE.citation
    methods = (Method("rotary", "Mixed 2-D RoPE", "grid(width=8)|mixed_rope", "Heo et al. 2024", paper, use="W"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("frequencies", 1),)
    by_key_head = True
    position_axes = 2
    limits = limited(base=above(0, ": the authors' code has 10.0"))

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, 4)

    def init(self, key: Key, dims: Dims) -> Params:
        magnitude = vaswani_frequencies(dims.head_dim // 2, self.base)
        angle = jax.random.uniform(key, (dims.num_kv_heads, 1), jnp.float32, maxval=2 * math.pi)
        both = jnp.concatenate([angle, angle + math.pi / 2], axis=1)
        both = jnp.repeat(both, len(magnitude), axis=1)
        magnitude = np.tile(magnitude, 2)[None, None].astype(np.float32)
        return {"frequencies": jnp.stack([jnp.cos(both), jnp.sin(both)]) * magnitude}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        frequencies = jnp.asarray(params["frequencies"])
        dtype = at_least_float32(x, frequencies)
        frequencies = jnp.repeat(frequencies.astype(dtype), x.shape[1] // frequencies.shape[1], axis=1)
        row, column = (jnp.asarray(positions)[..., axis].astype(dtype)[:, None, :, None] for axis in range(2))
        angles = column * frequencies[0][None, :, None] + row * frequencies[1][None, :, None]
        return turn(x, jnp.sin(angles), jnp.cos(angles), self.layout)


@dataclasses.dataclass(frozen=True)
class MRoPE(Rotary):
    """Multimodal RoPE: the planes of one RoPE, dealt out to time, height and width::

        plane k turns by p_a(k) base^(-2k/D),   a(k) the axis of plane k

    (Wang et al. 2024, Qwen2-VL, section 2.1.) Positions ``[#B, S, 3]``: time, row, column, as from `Grid` with a height
    for films; a text token has the same number three times, and then this is RoPE with the same base and layout.

    Fields: ``order``: "blocks" puts the axes one after the other, as ``mrope_section`` of Qwen2-VL and Qwen2.5-VL, so
    that time has the fastest planes; "interleaved" alternates them, t h w t h w ..., and gives time the rest, as
    Qwen3-VL. ``sections``: the number of planes per axis; None is the models' choice, (16, 24, 24) and (24, 20, 20) at
    head_dim 128: a quarter for time and half of the rest each, or 5/16 for height and for width and the rest for time,
    rounded. ``base`` 1e6 and ``layout`` "half" as there. ``rotary_dim`` and ``scaling`` as in `RoPE`: GLM-4V and
    Qwen3.5 turn a part of each head, and Qwen2.5-VL reads longer texts by YaRN.

    Raises ValueError in `check` if the sections are not the planes that turn, or do not interleave; and as `RoPE`.
    """

    sections: tuple[int, int, int] | None = None
    order: Literal["blocks", "interleaved"] = "blocks"
    base: float = 1e6
    layout: Layout = "half"
    rotary_dim: int | float | None = None
    scaling: RoPEScaling | None = None

    name = "mrope"
    paper = "arXiv:2409.12191"
    citation = """@misc{wang2024qwen, author = {Wang, P. and Bai, S. and Tan, S. and Wang, S. and Fan, Z. and Bai, J.
        and others}, title = {{Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
        Resolution}}, year = {2024}, eprint = {2409.12191}}"""
    methods = (
        Method("rotary", "M-RoPE", "grid(width=4, height=4)|mrope", "Wang et al. 2024", paper, use="W"),
        Method(
            "rotary",
            "M-RoPE, interleaved",
            "grid(width=4, height=4)|mrope(order='interleaved')",
            "Qwen team 2025",
            "https://github.com/QwenLM/Qwen3-VL",
            use="W",
        ),
    )
    shift_invariant = True
    position_axes = 3
    limits = limited(base=above(0, ": Qwen2-VL has 1e6"))

    def check_fields(self) -> None:
        if self.sections is not None and min(self.sections) < 0:
            raise ValueError(f"MRoPE.sections = {self.sections} must be numbers of planes: Qwen2-VL has (16, 24, 24)")
        object.__setattr__(self, "rotary_dim", self._one.rotary_dim)  # checked, and 64.0 and 64 are one value

    @property
    def _one(self) -> RoPE:
        """The RoPE whose planes are dealt out."""
        return RoPE(self.base, self.layout, self.rotary_dim, self.scaling)

    def check(self, dims: Dims) -> None:
        self._one.check(dims)
        self.axes(dims.head_dim)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[r/2]``, of each plane that turns, whatever its axis."""
        return self._one.frequencies_for(dims, length)

    def axes(self, head_dim: int) -> np.ndarray:
        """The axis of each plane that turns, ``[r/2]``.

        >>> MRoPE(sections=(2, 1, 1)).axes(8).tolist()
        [0, 0, 1, 2]
        >>> MRoPE(sections=(3, 2, 1), order="interleaved").axes(12).tolist()
        [0, 1, 2, 0, 1, 0]
        """
        planes = self._one.rotated_dim(head_dim) // 2
        if self.sections is not None:
            sections = self.sections
        elif self.order == "blocks":
            rest = planes - planes // 4
            sections = planes // 4, rest - rest // 2, rest // 2
        else:
            side = 5 * planes // 16
            sections = planes - 2 * side, side, side
        if sum(sections) != planes:
            raise ValueError(
                f"MRoPE.sections = {sections} are {sum(sections)} planes of two dimensions, but {2 * planes} of "
                f"head_dim = {head_dim} dimensions turn, which are {planes} planes: choose sections that add up"
            )
        if self.order == "blocks":
            return np.repeat(np.arange(3), sections)
        if max(3 * sections[1] - 1, 3 * sections[2]) > planes:
            raise ValueError(
                f"MRoPE.sections = {sections} cannot alternate, since every third plane is at most one of height or of "
                "width: give time the largest section, as Qwen3-VL's (24, 20, 20), or use order='blocks'"
            )
        axes = np.zeros(planes, int)
        axes[1 : 3 * sections[1] : 3] = 1
        axes[2 : 3 * sections[2] : 3] = 2
        return axes

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        head_dim, one = x.shape[-1], self._one
        each = one.turns(head_dim, length, at_least_float32(x))
        return turn_by_axes(x, positions, self.axes(head_dim), each, self.layout, one.magnitude)
