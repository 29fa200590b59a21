"""Positions in reading order as rows and columns."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.interface.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class Grid(PositionalEncoding):
    """Reads positions 0, 1, 2, ... as the cells of a grid, row by row, for the elements after it in the slot::

        p -> (row, column) = (p div width, p mod width)
        p -> (depth, row, column) = (p div (height width), p div width mod height, p mod width)     with a height

    Plain positions ``[#B, S]`` become ``[#B, S, 2]`` or ``[#B, S, 3]``, slowest axis first, as in
    ``(Grid(width=8), SinusoidalAxes(axes=2))``: the patches of an image, which a Vision Transformer numbers this way
    (Dosovitskiy et al. 2020, section 3.1 and appendix D.4). The first axis has no bound: a sequence of any length is a
    taller image, or a longer film. Division rounds down: the cell before 0 is (-1, width - 1).

    Positions must be integers; models with positions of several axes of their own need no grid.

    Attributes:
      width: the number of columns.
      height: the rows of each layer in three dimensions, or None for two.

    >>> Grid(width=3).map_positions(Sequence.of_length(5), key=None, train=False)[0].tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
    """

    width: int
    height: int | None = None

    name = "grid"
    paper = "arXiv:2010.11929"
    citation = """@inproceedings{dosovitskiy2020image, author = {Dosovitskiy, A. and Beyer, L. and Kolesnikov, A. and
        Weissenborn, D. and Zhai, X. and Unterthiner, T. and Dehghani, M. and Minderer, M. and Heigold, G. and Gelly,
        S. and Uszkoreit, J. and Houlsby, N.}, title = {{An Image is Worth 16x16 Words: Transformers for Image
        Recognition at Scale}}, booktitle = {ICLR 2021}, year = {2020}, eprint = {2010.11929}}"""
    integer_positions = True
    limits = limited(
        width=at_least(1, ": it is the number of columns"), height=at_least(1, ", or None for a grid of two axes")
    )

    def mapped_max_len(self, max_len: int) -> int:
        layer = self.width * (self.height or 1)
        return max(min(self.width, max_len), self.height or 1, -(-max_len // layer))

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """``[#B, S, 2]`` or ``[#B, S, 3]``, in the integer type of the positions."""
        positions = sequence.positions
        if not jnp.issubdtype(positions.dtype, jnp.integer):
            raise ValueError(
                f"Grid counts integer positions, got {positions.dtype}: put it before what makes fractions of them"
            )
        row, column = positions // self.width, positions % self.width
        axes = [row, column] if self.height is None else [row // self.height, row % self.height, column]
        return (np if isinstance(positions, np.ndarray) else jnp).stack(axes, axis=-1)
