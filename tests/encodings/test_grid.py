import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Grid, Sequence


def cells(grid, positions):
    return grid.map_positions(Sequence(positions, np.array([5])), key=None, train=False)


def test_cells_in_reading_order():
    image = np.arange(15).reshape(5, 3)
    got = cells(Grid(width=3), np.arange(15)[None])
    assert got.shape == (1, 15, 2)
    for p, (row, column) in enumerate(got[0]):
        assert image[row, column] == p
    film = np.arange(24).reshape(2, 4, 3)
    for p, (depth, row, column) in enumerate(cells(Grid(3, height=4), np.arange(24)[None])[0]):
        assert film[depth, row, column] == p


def test_known_positions_stay_known_and_traced_ones_map_alike():
    positions = np.array([[7, 0, -1], [1023, 64, 8]], np.int32)
    for grid in (Grid(8), Grid(8, 8)):
        known, traced = cells(grid, positions), cells(grid, jnp.asarray(positions))
        assert isinstance(known, np.ndarray)
        assert known.dtype == traced.dtype == np.int32
        np.testing.assert_array_equal(known, traced)


@pytest.mark.parametrize("grid", [Grid(8), Grid(8, 4), Grid(100), Grid(1, 100), Grid(7, 3)])
@pytest.mark.parametrize("length", [1, 30, 64, 65])
def test_longest_axis(grid, length):
    largest = cells(grid, np.arange(length)[None]).max() + 1
    assert largest <= grid.mapped_max_len(length)
    assert largest == grid.mapped_max_len(length) or (grid.height or 0) > largest
