"""Rotary position embedding along fixed directions of the plane: spiral and golden gate RoPE."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.images_and_media.axial_rope import turn_by_vectors
from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import sincos, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, check_planes, turn


@dataclasses.dataclass(frozen=True)
class SpiralRoPE(Rotary):
    """RoPE over two axes whose planes turn by the position's projection on directions spread over half a circle::

        plane k turns by f_k (y cos a_k + x sin a_k)            k < D/4, the planes of rows
        plane D/4 + k turns by f_k (x cos a - y sin a)          the planes of columns, a = a_(D/4+k)
        a_k = floor((k mod K) / 2) pi / K,   f_k = scale base^(-4k/D)

    (Liu et al. 2026, Spiral RoPE, in the form of the authors' code, huajianduzhuo-code/Spiral_RoPE, with its default of
    frequencies of each direction's own.) K = 2 is axial RoPE. Positions ``[#B, S, 2]``: row, column, as from `Grid`.
    Departure: the code rotates tables of angles as images, by bilinear interpolation about the centre. That equals the
    projection up to a constant per plane, except in the image's corners, where it repeats the border. Angles are exact
    at integer positions.

    Attributes:
      directions: K, even, 4 in the authors' runs.
      base: that of the frequencies, 10000 in the authors' code.
      scale: the factor of all frequencies, 1.5 in the authors' runs.
      layout: which dimensions make a plane, see `RoPE`.

    Raises:
      ValueError: in `check`, if head_dim is no multiple of 2 K.
    """

    directions: int = 4
    base: float = 10000.0
    scale: float = 1.5
    layout: Layout = "interleaved"

    name = "spiral_rope"
    paper = "arXiv:2602.03227"
    citation = """@misc{liu2026spiral, author = {Liu, H. and Ren, S. and Zhu, T. and Wang, P. and Xie, C. and Yuille, A.
        and Zheng, Z. and Wang, F.}, title = {{Spiral RoPE: Rotate Your Rotary Positional Embeddings in the 2D Plane}},
        year = {2026}, eprint = {2602.03227}}"""
    methods = (Method("rotary", "Spiral RoPE", "grid(width=8)|spiral_rope", "Liu et al. 2026"),)
    shift_invariant = True
    position_axes = 2
    limits = limited(
        directions=at_least(2, ": 2 are rows and columns, the authors have 4"),
        base=above(0, ": the authors' code has 10000.0"),
        scale=above(0, ": the authors have 1.5"),
    )

    def check_fields(self) -> None:
        if self.directions % 2:
            raise ValueError(f"SpiralRoPE.directions = {self.directions} must be even: each has its perpendicular")

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, 2 * self.directions)

    def vectors(self, head_dim: int) -> np.ndarray:
        """``[D/2, 2]`` float64: by what each plane turns from row to row and from column to column, in radians."""
        planes = np.arange(head_dim // 2)
        angles = planes % self.directions // 2 * np.pi / self.directions
        frequencies = self.scale * np.tile(vaswani_frequencies(head_dim // 2, self.base), 2)
        rows = planes < head_dim // 4
        along_y = np.where(rows, np.cos(angles), -np.sin(angles))
        along_x = np.where(rows, np.sin(angles), np.cos(angles))
        return np.asarray(frequencies[:, None] * np.stack([along_y, along_x], axis=-1))

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        dtype, vectors = at_least_float32(x), self.vectors(x.shape[-1])
        (sin_y, cos_y), (sin_x, cos_x) = (sincos(positions[..., a], vectors[:, a], dtype) for a in range(2))
        sin, cos = sin_y * cos_x + cos_y * sin_x, cos_y * cos_x - sin_y * sin_x
        return turn(x, sin[:, None], cos[:, None], self.layout)


@dataclasses.dataclass(frozen=True)
class GoldenGateRoPE(Rotary):
    """RoPE over two axes whose planes turn by the position's projection on directions a golden angle apart::

        plane k of head h turns by w_k (x cos u + y sin u),   u = (h D/2 + k) pi / phi,   phi = (1 + sqrt 5) / 2
        w_k = 0 for the first z planes, then from lowest to highest in equal ratios

    (Xiong 2025, "On N-dimensional Rotary Positional Embeddings", the two-dimensional form of its code; z is
    ``zero_fraction`` of the planes, rounded.) Neighbouring frequencies have distant directions, which differ between
    heads. Positions ``[#B, S, 2]``: row, column; those of the post span -1 .. 1 for a square image and keep the aspect
    ratio of others, as `ImagePositions` to "aspect". Heads of grouped queries turn as their key's. The post's code for
    more axes spreads directions by another sequence, in two dimensions too.

    Attributes:
      lowest, highest: the first and the last frequency above 0, in radians per unit of the positions: users begin at
        0.2 to 0.5 and end at 10 to 40.
      zero_fraction: the part of the planes that do not turn.
      layout: which dimensions make a plane, see `RoPE`.

    Parameters, which are not trained: ``frequencies [Hkv, D/2, 2]`` along x and y.
    """

    lowest: float = 0.2
    highest: float = 20.0
    zero_fraction: float = 0.0
    layout: Layout = "half"

    name = "golden_gate_rope"
    paper = "https://jerryxio.ng/posts/nd-rope"
    citation = """@misc{xiong2025ndrope, author = {Xiong, J.}, title = {{On N-dimensional Rotary Positional
        Embeddings}}, year = {2025}, url = {https://jerryxio.ng/posts/nd-rope}}"""
    methods = (
        Method(
            "rotary",
            "Golden gate RoPE",
            "grid(width=8)|image_positions(sizes=(8, 8), to='aspect')|golden_gate_rope",
            "Xiong 2025",
            use="s",
        ),
    )
    shift_invariant = True
    position_axes = 2
    frozen = frozenset({"frequencies"})
    head_axes = (("frequencies", 0),)
    by_key_head = True
    limits = limited(
        lowest=above(0, ": radians per unit of the positions"), zero_fraction=at_least(0, ": 0 for none", most=1)
    )

    def check_fields(self) -> None:
        if self.highest <= self.lowest:
            raise ValueError(
                f"GoldenGateRoPE.highest = {self.highest} must exceed lowest = {self.lowest}: the frequencies go up "
                "from plane to plane"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        planes, heads = dims.head_dim // 2, dims.num_kv_heads
        still = round(self.zero_fraction * planes)
        steps = np.linspace(0, 1, planes - still)
        magnitudes = np.concatenate([np.zeros(still), self.lowest * (self.highest / self.lowest) ** steps])
        angles = np.arange(heads * planes).reshape(heads, planes) * (math.pi * (math.sqrt(5) - 1) / 2)
        vectors = magnitudes[None, :, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return {"frequencies": jnp.asarray(vectors, jnp.float32)}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        frequencies = params["frequencies"]
        return turn_by_vectors(x, positions, frequencies[..., 0], frequencies[..., 1], self.layout)
