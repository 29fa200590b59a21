"""Points in the plane: a task in which a position is two real numbers."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import Example, Split, Task
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

MOST = 1024


@dataclasses.dataclass(frozen=True)
class NearestPoint(Task):
    """The symbol of the nearest other point, asked at each of n points in the plane.

    Points are drawn uniformly from a square of side 2 sqrt(n), so that the nearest one is a unit away on average, as
    the next cell of a grid is, and a little more at the border. Each has a symbol of its own, any of ``num_symbols``,
    and they are listed in the order in which they were drawn, which says nothing.

    Attributes:
      num_points: the points n of a training example; more of them, in a larger square, are its length generalization.
      num_symbols: how many symbols there are, from which those of an example are drawn; no example has more points.

    A model whose encoding reads positions of two axes is given (y, x), which are real numbers: an encoding of whole
    positions is refused. Another one is given the order of the list.

    All symbols of an example differ, so without positions every other one is as likely as the next: guessing has
    1/(n - 1), and ``chance`` is that of the training length. A point's own position tells nothing of the others'.

    >>> task = NearestPoint(num_points=3, num_symbols=4)
    >>> task.describe(task.example(jax.random.key(0), 3, 3))
    '3 at (0.03, 0.07), 1 at (2.01, 1.25), 2 at (0.77, 0.41) -> 2 2 3'

    Errors: ValueError for ``num_points`` below 2 or above ``num_symbols``, and for such lengths.
    """

    num_points: int = 16
    num_symbols: int = 32

    name = "nearest_point"
    paper = "this library"
    citation = "this library (posenc_jax), no publication"
    length_unit = "points"
    limits = limited(num_points=at_least(2, most=MOST), num_symbols=at_least(2, most=MOST))
    model_kind = "encoder_only"
    position_axes = 2
    real_positions = True

    def check_fields(self) -> None:
        super().check_fields()
        self._refuse(f"NearestPoint.num_points = {self.num_points}", self.num_points)

    def _refuse(self, what: str, points: int) -> None:
        if not 2 <= points <= self.num_symbols:
            raise ValueError(
                f"{what} must be 2 to {self.num_symbols}, as many as there are symbols (num_symbols), since each point "
                "has another one: change it, or num_symbols"
            )

    @property
    def chance(self) -> float:  # type: ignore[override]
        return 1 / (self.num_points - 1)

    @property
    def vocab_size(self) -> int:
        return self.num_symbols

    @property
    def train_lengths(self) -> tuple[int, ...]:
        return (self.num_points,)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        self._refuse(f"length {length}", length)

    def width(self, max_length: int) -> int:
        return max_length

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        symbol_key, point_key = jax.random.split(key)
        real = jnp.arange(max_length) < length
        symbols = jnp.argsort(jax.random.bits(symbol_key, (self.num_symbols,), jnp.uint32)).astype(jnp.int32)
        symbols = jnp.take(symbols, jnp.arange(max_length), mode="clip")
        side = 2 * jnp.sqrt(jnp.asarray(length, jnp.float32))
        points = side * jax.random.uniform(point_key, (max_length, 2), jnp.float32)
        squared = jnp.square(points[:, None] - points[None]).sum(axis=-1)
        other = real[None] & ~jnp.eye(max_length, dtype=bool)
        nearest = jnp.argmin(jnp.where(other, squared, jnp.inf), axis=1)
        example = answered(symbols, symbols[nearest], real, length)
        return dataclasses.replace(example, grid_positions=jnp.where(real[:, None], points, 0))

    def describe(self, example: Example) -> str:
        """Each point with its (y, x), and the answers."""
        inputs, answers = super().describe(example).split(" -> ")
        positions = np.asarray(example.grid_positions).tolist()
        points = (f"{symbol} at ({y:.2f}, {x:.2f})" for symbol, (y, x) in zip(inputs.split(), positions))
        return f"{', '.join(points)} -> {answers}"
