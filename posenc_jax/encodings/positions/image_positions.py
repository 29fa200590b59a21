"""Cells of an image as fractions of its size, and how training disturbs them."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.value import at_least, limited, of_field
from posenc_jax.encodings.shared.draws import draw_keys


@dataclasses.dataclass(frozen=True)
class ImagePositions(PositionalEncoding):
    """Divides rows and columns by the size of the image, for the elements after it in the slot::

        "centres"   p_a -> 2 (p_a + 1/2) / n_a - 1              the image is -1 .. 1: DINOv3, SAM
        "corners"   p_a -> 2 p_a / (n_a - 1) - 1                first and last cell are -1 and 1: Perceiver
        "aspect"    p_a -> (2 p_a / (n_a - 1) - 1) sqrt(n_a / n_b)     of equal area, b the other axis: golden gate RoPE
        "unit"      p_a -> p_a / (n_a - 1)                      0 .. 1: LieRE
        "turn"      p_a -> 2 pi (p_a + 1) / (n_a + 1e-6)        DETR

    In training DINOv3 (Siméoni et al. 2025, section 3.2, "box jittering"; ``augment_patches_center_coordinates`` in
    transformers) disturbs all cells of a batch together, in this order::

        p_a -> r j_a (p_a + s_a),   s_a ~ U(-shift, shift),   ln j_a ~ U(-+ ln jitter),   ln r ~ U(-+ ln rescale)

    so that features do not depend on resolution, aspect ratio or place. Positions known on the host are divided in
    float64, others in JAX's widest floats.

    Attributes:
      sizes: n for each axis, slowest first. An image of another size needs its own.
      to: which of the five results above.
      shift, jitter, rescale: the limits of the draws: 0, 1 and 1 change nothing; DINOv3 trains with ``rescale`` 2.

    >>> tokens = Sequence(np.array([[[0, 0], [0, 1], [1, 3]]]), np.array([3]))
    >>> ImagePositions((2, 4)).map_positions(tokens, key=None, train=False)[0].tolist()
    [[-0.5, -0.75], [-0.5, -0.25], [0.5, 0.75]]
    """

    sizes: tuple[int, ...]
    to: Literal["centres", "corners", "aspect", "unit", "turn"] = "centres"
    shift: float = 0.0
    jitter: float = 1.0
    rescale: float = 1.0

    name = "image_positions"
    paper = "arXiv:2508.10104"
    citation = """@misc{simeoni2025dinov3, author = {Sim{\\'e}oni, O. and Vo, H. V. and Seitzer, M. and Baldassarre, F.
        and Oquab, M. and others}, title = {{DINOv3}}, year = {2025}, eprint = {2508.10104}}"""
    shift_invariant = True
    limits = limited(
        shift=at_least(0, ": 0 for none"),
        jitter=at_least(1, ": axes are scaled by 1/jitter to jitter; use 1 for none"),
        rescale=at_least(1, ": images are scaled by 1/rescale to rescale; use 1 for none"),
    )
    position_axes = of_field("sizes", len)

    @property
    def random(self) -> bool:  # type: ignore[override]
        """True if training disturbs positions."""
        return (self.shift, self.jitter, self.rescale) != (0, 1, 1)

    def check_fields(self) -> None:
        least = 1 if self.to in ("centres", "turn") else 2
        if not self.sizes or min(self.sizes) < least or (self.to == "aspect" and len(self.sizes) != 2):
            raise ValueError(
                f"ImagePositions.sizes = {self.sizes} must have a number of cells, at least {least} for "
                f"to={self.to!r}, for each axis{' of two' if self.to == 'aspect' else ''}: (14, 14) for 196 patches"
            )

    def affine(self) -> tuple[np.ndarray, np.ndarray]:
        """Scale and offset of each axis, ``[A]`` float64."""
        n = np.array(self.sizes, np.float64)
        if self.to == "centres":
            return 2 / n, 1 / n - 1
        if self.to == "turn":
            return 2 * np.pi / (n + 1e-6), 2 * np.pi / (n + 1e-6)
        if self.to == "unit":
            return 1 / (n - 1), 0 * n
        half = np.sqrt(n / n[::-1]) if self.to == "aspect" else np.ones_like(n)
        return 2 * half / (n - 1), -half

    def mapped_max_len(self, max_len: int) -> int:
        """One more than the largest position, rounded up."""
        scale, offset = self.affine()
        moved = ((max_len - 1) * scale + offset).max() + self.shift
        return max(1, math.ceil(moved * self.jitter * self.rescale) + 1)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """``[#B, S, A]`` fractions; known positions stay known where nothing is drawn."""
        positions, (scale, offset) = sequence.positions, self.affine()
        if isinstance(positions, np.ndarray):
            positions = positions.astype(np.float64) * scale + offset
        else:
            dtype = jnp.result_type(float)
            positions = positions.astype(dtype) * scale.astype(dtype)[None, None] + offset.astype(dtype)[None, None]
        if not (train and self.random):
            return positions
        keys = jax.random.split(draw_keys(key, sequence, "batch", "ImagePositions")[0], 3)

        def draw(key: Key, shape: tuple[int, ...], limit: float) -> Array:
            return jax.random.uniform(key, shape, jnp.float32, -limit, limit)

        axes = (1, 1, len(self.sizes))
        positions = jnp.asarray(positions)
        factors = draw(keys[1], axes, math.log(self.jitter)) + draw(keys[2], (1, 1, 1), math.log(self.rescale))
        return (positions + draw(keys[0], axes, self.shift)) * jnp.exp(factors)
