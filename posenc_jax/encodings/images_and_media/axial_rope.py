"""Rotary position embedding over several axes: axial, with mixed learned frequencies, and an axis for each head."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, Terms, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited, of_field
from posenc_jax.encodings.rotary.rerope import scaled_product
from posenc_jax.encodings.rotary.rope import RoPE, WithRoPE
from posenc_jax.encodings.shared.phase import Turns, sincos_of_turns, turns, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, check_planes, turn


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


def turn_by_vectors(x: Array, positions: Array, along_x: Array, along_y: Array, layout: Layout) -> Array:
    """``x [B, heads, S, D]`` with plane k of head h turned by ``p_x along_x[h, k] + p_y along_y[h, k]``, which are
    ``[Hkv, D/2]`` each; heads of a group share those of their key. ``positions [#B, S, 2]``: row, column. Angles are
    plain products in at least float32.
    """
    dtype = at_least_float32(x, along_x)
    of_x, of_y = (
        jnp.repeat(jnp.asarray(along).astype(dtype), x.shape[1] // len(along), axis=0)[None, :, None]
        for along in (along_x, along_y)
    )
    row, column = (jnp.asarray(positions)[..., axis].astype(dtype)[:, None, :, None] for axis in range(2))
    angles = column * of_x + row * of_y
    return turn(x, jnp.sin(angles), jnp.cos(angles), layout)


@dataclasses.dataclass(frozen=True)
class AxialRoPE(Rotary):
    """RoPE over the axes of an image or a film: each axis turns planes of its own::

        plane k of axis a turns by p_a base^(-k / n),   k = 0 .. n-1,   n = D / (2 axes)

    (Heo et al. 2024, section 3.2, "RoPE-Axial": base 100, since images are short.) Positions ``[#B, S, axes]``, slowest
    axis first, as from `Grid`. As in the authors' code (naver-ai/rope-vit) the first n planes are those of the last
    axis, the column, and the last n those of the first; the paper alternates them, which is a permutation of
    dimensions. A token outside the image, such as a class token, is the model's matter: the authors
    rotate it by 0. The fields after ``base`` are for other released encoders.

    Attributes:
      axes: the number of axes, 2 for images and 3 for films.
      base: 100 in the paper.
      layout: which dimensions make a plane, see `RoPE`; "half_of_axis" joins the halves of an axis's own dimensions, k
        and k + D/4 for two axes, as CroCo does.
      rows_first: the first planes are those of the first axis, as in Qwen2-VL, Pixtral and DINOv3.
      staggered: the axes share the frequencies of one RoPE: plane k of axis a turns by
        p_a base^(-(k axes + a) / (n axes)), as in Pixtral.
      rest_first: where the axes do not divide head_dim, the first one has what the others leave, which is most, as in
        Wan.
      unit: "turns" makes frequencies 2 pi times as large, for positions that are fractions of an image, as in DINOv3.

    Raises:
      ValueError: in `check`, if head_dim is no multiple of 2 axes; with rest_first, if it is odd or less than 2 axes.
    """

    axes: int = 2
    base: float = 100.0
    layout: Layout | Literal["half_of_axis"] = "interleaved"
    rows_first: bool = False
    staggered: bool = False
    unit: Literal["radians", "turns"] = "radians"
    rest_first: bool = False

    name = "axial_rope"
    paper = "arXiv:2403.13298"
    citation = """@inproceedings{heo2024rotary, author = {Heo, B. and Park, S. and Han, D. and Yun, S.},
        title = {{Rotary Position Embedding for Vision Transformer}}, booktitle = {ECCV}, year = {2024},
        eprint = {2403.13298}}"""
    methods = (
        Method("rotary", "Axial 2-D RoPE", "grid(width=8)|axial_rope", "Heo et al. 2024", use="W"),
        Method(
            "rotary",
            "Axial 2-D RoPE (encoder of Qwen2-VL)",
            "grid(width=8)|axial_rope(base=1e4, layout='half', rows_first=True)",
            "Wang et al. 2024",
            "arXiv:2409.12191",
            use="W",
        ),
        Method(
            "rotary",
            "Axial 2-D RoPE (Pixtral)",
            "grid(width=8)|axial_rope(base=1e4, layout='half', rows_first=True, staggered=True)",
            "Agrawal et al. 2024",
            "arXiv:2410.07073",
            use="W",
        ),
        Method(
            "rotary",
            "Axial 2-D RoPE of disturbed images (DINOv3)",
            "grid(width=8)|image_positions(sizes=(8, 8), rescale=2)"
            "|axial_rope(layout='half', rows_first=True, unit='turns')",
            "Siméoni et al. 2025",
            "arXiv:2508.10104",
            use="W",
        ),
        Method(
            "rotary",
            "Axial 2-D RoPE (CroCo, DUSt3R, VGGT)",
            "grid(width=8)|axial_rope(layout='half_of_axis', rows_first=True)",
            "Weinzaepfel et al. 2022",
            "arXiv:2211.10408",
            use="W",
        ),
        Method(
            "rotary",
            "Axial 3-D RoPE (Wan)",
            "grid(width=4, height=4)|axial_rope(axes=3, base=1e4, rows_first=True, rest_first=True)",
            "Wan team 2025",
            "arXiv:2503.20314",
            use="W",
        ),
    )
    shift_invariant = True
    limits = limited(axes=at_least(1, ": 2 for images, 3 for films"), base=above(0, ": the paper has 100.0"))
    position_axes = of_field("axes")

    def check_fields(self) -> None:
        if self.staggered and self.rest_first:
            raise ValueError(
                "AxialRoPE.staggered deals the frequencies of one RoPE out evenly, and rest_first is for axes of "
                "different widths: choose one"
            )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, 2 if self.rest_first else 2 * self.axes, 2 * self.axes)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[head_dim/2]``, the last axis first unless ``rows_first``, as its planes."""
        return self._frequencies(dims.head_dim)

    def _frequencies(self, head_dim: int) -> np.ndarray:
        if self.staggered:
            by_axis = vaswani_frequencies(head_dim, self.base).reshape(-1, self.axes).T
            every = by_axis[self._order()].reshape(-1)
        else:
            every = np.concatenate([vaswani_frequencies(width, self.base) for width in self._widths(head_dim)])
        return every * math.tau if self.unit == "turns" else every

    def _order(self) -> np.ndarray:
        return np.arange(self.axes) if self.rows_first else np.arange(self.axes)[::-1]

    def _widths(self, head_dim: int) -> np.ndarray:
        widths = np.full(self.axes, 2 * (head_dim // (2 * self.axes)))
        widths[0] += head_dim - widths.sum()
        return widths[self._order()]

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        head_dim = x.shape[-1]
        each, widths = turns(self._frequencies(head_dim)), self._widths(head_dim)
        axes = np.repeat(self._order(), widths // 2)
        if self.layout != "half_of_axis":
            return turn_by_axes(x, positions, axes, each, self.layout, 1.0)
        ends = np.cumsum(widths)
        parts = [np.arange(end - width, end).reshape(2, -1).T.ravel() for end, width in zip(ends, widths, strict=True)]
        neighbours = np.concatenate(parts)  # a plane's dimensions beside each other
        out = turn_by_axes(x[..., neighbours], positions, axes, each, "interleaved", 1.0)
        return out[..., np.argsort(neighbours)]


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

    Raises:
      ValueError: in `check`, if head_dim is no multiple of 4.
    """

    base: float = 10.0
    layout: Layout = "interleaved"

    name = "mixed_rope"
    paper = "arXiv:2403.13298"
    citation = AxialRoPE.citation
    methods = (Method("rotary", "Mixed 2-D RoPE", "grid(width=8)|mixed_rope", "Heo et al. 2024", use="W"),)
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
        along_x, along_y = params["frequencies"]
        return turn_by_vectors(x, positions, along_x, along_y, self.layout)


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
