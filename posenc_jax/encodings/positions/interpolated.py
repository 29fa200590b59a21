"""Position Interpolation: positions pressed together."""

import dataclasses
import math

import numpy as np

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.rotary.rope_scaling import PositionInterpolation


@dataclasses.dataclass(frozen=True)
class Interpolated(PositionalEncoding):
    """Divides positions by a factor, for any elements after it in the slot that read fractions::

        p -> p / factor

    (Chen et al. 2023, section 2.3, equation 4: factor = L'/L, from L trained positions to L' to be read). Before `RoPE`
    it is the paper's method; a rotary encoding that divides its frequencies instead keeps integer positions and with
    them the exact phase of very large ones. Before `Learned` it blends the rows of a shorter table; before `ALiBi` a
    factor below 1 makes the slopes steeper.

    Positions known on the host are divided in float64, others in at least float32, whose fractions carry an error of
    6e-8 of the position.

    Attributes:
      factor: above 0; one below 1 stretches positions.

    >>> Interpolated(4).map_positions(Sequence.of_length(4), key=None, train=False).tolist()
    [[0.0, 0.25, 0.5, 0.75]]
    """

    factor: float

    name = "interpolated"
    paper = "arXiv:2306.15595"
    citation = PositionInterpolation.citation
    methods = (
        Method("positions", "Interpolated positions", "interpolated(factor=4)|rope", "Chen et al. 2023", use="W"),
    )
    shift_invariant = True
    position_axes = "any"
    limits = limited(
        factor=above(0, ": the ratio of the length to be read to the length in training, 1 for unchanged positions")
    )

    def mapped_max_len(self, max_len: int) -> int:
        """One more than the largest position, rounded up."""
        return math.ceil((max_len - 1) / self.factor) + 1

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """The quotients, fractional; known positions stay known."""
        positions = sequence.positions
        if isinstance(positions, np.ndarray):
            return positions.astype(np.float64) / self.factor
        return positions.astype(at_least_float32(positions)) / self.factor
