"""Arrows on a grid: a task in which a position is a row and a column."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import MANY, Example, Split, Task, integers
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

EMPTY = 0
FIRST_ARROW = 1
FIRST_Y = FIRST_ARROW + 4
FIRST_LETTER = FIRST_Y + 4
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXZ"
# Up, right, down, left: what to add to (row, column). The base of a Y in rotation r lies in direction r + 2.
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


@dataclasses.dataclass(frozen=True)
class ArrowGrid(Task):
    """The direction of the arrow at the base of the Y, on a grid of n x n cells, read row by row.

    ``num_arrows`` arrows and ``num_letters`` letters, one of them the Y, stand in cells of their own. The Y is upright
    or turned by quarters, so its base is the cell below, beside or above it, and one of the arrows stands there. The
    answer, up, right, down or left, is given at the Y. All cells are drawn uniformly, and so are rotation and arrows.

    Attributes:
      size: rows and columns n of a training grid, 9 in the source; larger ones are its length generalization.
      num_arrows, num_letters: 8 and 6 in the source; the letters, up to 26, but for the Y are never turned.

    A model whose encoding reads positions of two axes is given (row, column), another one the order of reading. So
    ``grid(width=9)|...`` is right for grids of nine columns only, and two axes for all.

    Published is the accuracy; guessing has a quarter.

    Tokens: 0 an empty cell, 1 to 4 the arrows, 5 to 8 the Y (named by where its top points), then the other letters.

    >>> task = ArrowGrid(size=4, num_arrows=3, num_letters=2)
    >>> task.describe(task.example(jax.random.key(0), 4, 4))
    '. . A . / > v Y> . / . . . v / . . . . -> v'

    Departures: the source has images of such grids in pixels and one answer for each; here cells are tokens. That the Y
    is turned, and the four directions, are our reading: the source shows it in a figure.

    Errors: ValueError for a grid too small for what stands on it, and for numbers out of range.

    Reference: Ostmeier et al., "LieRE: Lie Rotational Positional Encodings", 2024, table 3.
    """

    size: int = 9
    num_arrows: int = 8
    num_letters: int = 6

    name = "arrow_grid"
    citation = """@inproceedings{ostmeier2025liere, author = {Ostmeier and others}, title = {{LieRE: Lie Rotational
        Positional Encodings}}, booktitle = {ICML}, year = {2025}, eprint = {2406.10322}}"""
    chance = 0.25
    shortcut = "the most frequent arrow of the grid"
    length_unit = "rows"
    limits = limited(size=at_least(1, most=1024), num_arrows=MANY, num_letters=at_least(1, most=len(LETTERS) + 1))
    model_kind = "encoder_only"
    position_axes = 2
    class_names = tuple("^>v<")
    num_classes = len(class_names)

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        """The mean share of the most frequent of four directions, of 100,000 draws."""
        drawn = np.random.default_rng(0).multinomial(self.num_arrows, [1 / 4] * 4, 100_000)
        return float(drawn.max(axis=1).mean() / self.num_arrows)

    def check_fields(self) -> None:
        super().check_fields()
        self._refuse_small(f"ArrowGrid: size = {self.size}", self.size)

    def _refuse_small(self, what: str, size: int) -> None:
        things = self.num_arrows + self.num_letters
        if size < 2 or size**2 < things:
            raise ValueError(f"{what}: a grid of so many rows has no room for {things} arrows and letters; raise it")

    @property
    def vocab_size(self) -> int:
        return FIRST_LETTER + self.num_letters - 1

    @property
    def token_names(self) -> tuple[str, ...]:
        return (".", *"^>v<", "Y^", "Y>", "Yv", "Y<", *LETTERS[: self.num_letters - 1])

    @property
    def train_lengths(self) -> tuple[int, ...]:
        return (self.size,)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        self._refuse_small(f"length {length}", length)
        if length > 1024:
            raise ValueError(f"length {length}: grids have at most 1024 rows; lower it")

    def width(self, max_length: int) -> int:
        return max_length**2

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        turn_key, row_key, column_key, arrow_key, other_key = jax.random.split(key, 5)
        turn = integers(turn_key, (), 4)
        down, right = (jnp.asarray(axis)[(turn + 2) % 4] for axis in zip(*STEPS))
        # Both the Y and its base lie on the grid: along the axis of the step there is one place fewer.
        row = integers(row_key, (), length - jnp.abs(down)) + (down < 0).astype(jnp.int32)
        column = integers(column_key, (), length - jnp.abs(right)) + (right < 0).astype(jnp.int32)
        y = row * length + column
        base = (row + down) * length + column + right
        cell = jnp.arange(max_length**2)
        real = cell < length * length
        arrows = FIRST_ARROW + integers(arrow_key, (self.num_arrows,), 4)
        free = real & (cell != y) & (cell != base)
        order = jnp.where(free, jax.random.bits(other_key, cell.shape, jnp.uint32) >> 1, jnp.uint32(2**31))
        others = jnp.argsort(order, stable=True)[: self.num_arrows + self.num_letters - 2]
        things = jnp.concatenate([arrows[1:], FIRST_LETTER + jnp.arange(self.num_letters - 1)])
        tokens = jnp.zeros_like(cell).at[others].set(things).at[base].set(arrows[0]).at[y].set(FIRST_Y + turn)
        example = answered(tokens, jnp.full_like(tokens, arrows[0] - FIRST_ARROW), cell == y, length * length)
        row_and_column = jnp.stack([cell // length, cell % length], axis=1)
        return dataclasses.replace(example, grid_positions=jnp.where(real[:, None], row_and_column, 0))

    def describe(self, example: Example) -> str:
        """Row by row, and the answer."""
        rows = int(int(example.length) ** 0.5 + 0.5)
        inputs, answer = super().describe(example).split(" -> ")
        words = inputs.split()
        return " / ".join(" ".join(words[row * rows : (row + 1) * rows]) for row in range(rows)) + f" -> {answer}"
