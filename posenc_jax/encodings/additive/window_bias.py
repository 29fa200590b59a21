"""A learned bias for each offset of two cells of a window: Swin Transformer's table, and LeViT's."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import of_field
from posenc_jax.encodings.relative.shaw import check_whole
from posenc_jax.encodings.shared.distances import by_distance

CUBIC = -0.75  # the coefficient of torch's bicubic interpolation
MOST = 2**24  # rows of a resized table, and weights of an axis: windows of 2048 by 2048


def cubic_weights(old: int, new: int) -> np.ndarray:
    """``[new, old]`` float64: the weights by which ``old`` samples become ``new`` by cubic convolution (Keys 1981);
    outer borders are kept and samples repeated beyond them, as torch resizes images.

    >>> cubic_weights(3, 3).tolist() == np.eye(3).tolist()
    True
    """
    centres = (np.arange(new) + 0.5) * old / new - 0.5
    first = np.floor(centres).astype(int)
    weights = np.zeros((new, old))
    for step in range(-1, 3):
        x = np.abs(centres - first - step)
        near = (CUBIC + 2) * x**3 - (CUBIC + 3) * x**2 + 1
        far = CUBIC * (x**3 - 5 * x**2 + 8 * x - 4)
        np.add.at(weights, (np.arange(new), np.clip(first + step, 0, old - 1)), np.where(x <= 1, near, far))
    return weights


@dataclasses.dataclass(frozen=True)
class WindowBias(PositionalEncoding):
    """A learned bias per head and offset between two cells of a window::

        logits_ij += table[r(d), h],   d_a = position of i - position of j on axis a
        r(d) = sum over a of (d_a + w_a - 1) prod over b > a of (2 w_b - 1)

    (Liu et al. 2021, "Swin Transformer", section 3.2 and equation 4; rows in the order of the authors' code.) Each
    layer has its own table. Added after the 1/sqrt(D) scaling. Positions ``[#B, S, axes]``, slowest axis first, as from
    `Grid`; windows themselves are the model's matter.

    Attributes:
      window: its sides, ``(7, 7)`` in the paper, ``(8, 7, 7)`` for films; a single one reads plain positions.
      mirrored: offsets of both signs share a row, ``|d|``, as LeViT's attention bias (Graham et al. 2021, section 4):
        ``r(d) = sum of |d_a| prod w_b``. Their code counts rows in the order in which offsets occur, which is this one.
      resized: the sides of other windows that a trained table serves: it is interpolated by cubic convolution from 2 w
        - 1 to 2 w' - 1 rows on each axis, as the authors' code does when it loads a model for larger windows.

    Departure: offsets beyond the window, which no pair of one window has, read the nearest row. Positions must be
    integers. Parameters: ``table [rows, H]``, N(0, 0.02^2), which the authors cut off at 2, 100 deviations (LeViT: 0).

    >>> table = {"table": np.arange(5.0, dtype=np.float32)[:, None]}
    >>> WindowBias((3,)).bias(table, Geometry.of_length(3, num_heads=1))[0, 0].tolist()
    [[2.0, 1.0, 0.0], [3.0, 2.0, 1.0], [4.0, 3.0, 2.0]]
    """

    window: tuple[int, ...] = (7, 7)
    mirrored: bool = False
    resized: tuple[int, ...] | None = None

    name = "window_bias"
    paper = "arXiv:2103.14030"
    citation = """@inproceedings{liu2021swin, author = {Liu, Z. and Lin, Y. and Cao, Y. and Hu, H. and Wei, Y. and
        Zhang, Z. and Lin, S. and Guo, B.}, title = {{Swin Transformer: Hierarchical Vision Transformer using Shifted
        Windows}}, booktitle = {ICCV}, year = {2021}, eprint = {2103.14030}}"""
    methods = (
        Method("additive", "Window bias (Swin)", "grid(width=8)|window_bias", "Liu et al. 2021", use="W"),
        Method(
            "additive",
            "Window bias, resized (Swin)",
            "grid(width=8)|window_bias(resized=(12, 12))",
            "Liu et al. 2021",
            note="a table trained on windows of 7, for windows of 12",
            use="W",
        ),
        Method(
            "additive",
            "Window bias of films (Video Swin)",
            "grid(width=4, height=4)|window_bias(window=(8, 7, 7))",
            "Liu et al. 2021",
            "arXiv:2106.13230",
            use="W",
        ),
        Method(
            "additive",
            "Attention bias (LeViT)",
            "grid(width=8)|window_bias(window=(14, 14), mirrored=True)",
            "Graham et al. 2021",
            "arXiv:2104.01136",
            use="W",
        ),
    )
    shift_invariant = True
    bias_of_distance = True
    integer_positions = True
    per_layer = True
    head_axes = (("table", 1),)
    unsigned = of_field("mirrored")

    @property
    def position_axes(self) -> int | None:  # type: ignore[override]
        """The number of sides of ``window``, or None (plain positions) for one."""
        return None if len(self.window) == 1 else len(self.window)

    def check_fields(self) -> None:
        for field, sides in (("window", self.window), ("resized", self.resized)):
            if sides is not None and (not sides or min(sides) < 1 or len(sides) != len(self.window)):
                raise ValueError(
                    f"WindowBias.{field} = {sides} must have a side of at least 1 for each axis of the positions"
                    f"{', as window has' if field == 'resized' else ': the paper has (7, 7)'}"
                )
        if self.mirrored and self.resized is not None:
            raise ValueError(
                f"WindowBias.resized = {self.resized} resizes signed offsets: leave mirrored or resized out"
            )
        if self.resized is not None:
            old, new = self.rows(self.window), self.rows(self.resized)
            most = max(math.prod(new), *(a * b for a, b in zip(old, new, strict=True)))
            if most > MOST:
                raise ValueError(
                    f"WindowBias.resized = {self.resized} is made of window = {self.window} in every step by {most} "
                    f"numbers, which must be at most {MOST}: resize to smaller windows"
                )

    def rows(self, window: tuple[int, ...]) -> tuple[int, ...]:
        """Rows of the table on each axis."""
        return window if self.mirrored else tuple(2 * side - 1 for side in window)

    def init(self, key: Key, dims: Dims) -> Params:
        shape = (math.prod(self.rows(self.window)), dims.num_heads)
        return {"table": 0.02 * jax.random.normal(key, shape, jnp.float32)}

    def table(self, params: Params) -> Array:
        """``[rows, H]``, resized where that is asked for."""
        table = jnp.asarray(params["table"])
        if self.resized is None:
            return table
        old, new = self.rows(self.window), self.rows(self.resized)
        by_axis = table.reshape(*old, table.shape[1])
        for axis, sizes in enumerate(zip(old, new, strict=True)):
            weights = cubic_weights(*sizes).astype(table.dtype)
            moved = jnp.tensordot(weights, jnp.moveaxis(by_axis, axis, 0), 1, precision="highest")
            by_axis = jnp.moveaxis(moved, 0, axis)
        return by_axis.reshape(-1, table.shape[1])

    def bias(self, params: Params, geometry: Geometry) -> Array:
        table, window = self.table(params), self.resized or self.window
        sizes = self.rows(window)

        def values(relative: Array) -> Array:
            check_whole(relative, "WindowBias")
            offsets = relative if self.position_axes else relative[..., None]
            row: Array = np.zeros((), np.int32)
            for axis, (side, size) in enumerate(zip(window, sizes, strict=True)):
                offset = -offsets[..., axis].clip(1 - side, side - 1)
                row = row * size + (jnp.abs(offset) if self.mirrored else offset + (side - 1))
            return jnp.moveaxis(jnp.take(table, row, axis=0, mode="clip"), -1, 1)

        return by_distance(values, geometry)
