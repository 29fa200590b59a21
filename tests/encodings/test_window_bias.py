import itertools

import jax
import numpy as np
from sides import geometry_at

from posenc_jax.encodings.additive.window_bias import WindowBias, cubic_weights
from posenc_jax.encodings.interface.base import Geometry, Sequence
from posenc_jax.encodings.interface.slots import geometries
from posenc_jax.encodings.positions.grid import Grid

TOKENS = Sequence.of_length(12)


def biases(encoding, table):
    """In float64, of 12 cells in rows of 4."""
    _, geometry = geometries((Grid(width=4), encoding), TOKENS, TOKENS, num_heads=2, contiguous=True)
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda p: encoding.bias(p, geometry))({"table": table}))


def test_a_row_for_each_offset(random):
    """The authors' code: both differences, query minus key, are moved to begin at 0, and the first is multiplied by the
    number of the second.
    """
    table = random.normal(size=(5 * 7, 2))
    got = biases(WindowBias((3, 4)), table)
    for i, j in np.ndindex(12, 12):
        row = (i // 4 - j // 4 + 2) * 7 + (i % 4 - j % 4 + 3)
        np.testing.assert_allclose(got[0, :, i, j], table[row], rtol=1e-12)
    single = geometry_at(np.array([[0, 9]]), np.array([[1, 3, 4]]))
    want = table[[[3, 1, 0], [8, 8, 8]]]  # of 9 rows, offsets -4 .. 4
    got = WindowBias((5,)).bias({"table": table[:9]}, single)
    np.testing.assert_allclose(got[0], np.moveaxis(want, -1, 0), rtol=1e-6)


def test_windows_of_films(random):
    """Video Swin's code: differences begin at 0, the first times (2 h - 1)(2 w - 1), the second times 2 w - 1."""
    table, cells = random.normal(size=(3 * 5 * 7, 2)), random.integers(0, 2, (1, 6, 3)).astype(np.int32)
    tokens = Sequence(cells, np.array([6]))
    geometry = Geometry.between(tokens, tokens, num_heads=2)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda p: WindowBias((2, 3, 4)).bias(p, geometry))({"table": table}))
    for i, j in np.ndindex(6, 6):
        t, y, x = cells[0, i] - cells[0, j]
        np.testing.assert_allclose(got[0, :, i, j], table[(t + 1) * 35 + (y + 2) * 7 + x + 3], rtol=1e-12)


def test_mirrored_offsets_share_a_row(random):
    """LeViT's code: an offset is numbered when it first occurs between the first cell and the others."""
    table, cells = random.normal(size=(12, 2)), list(itertools.product(range(3), range(4)))
    numbers = {}
    for a, b in itertools.product(cells, cells):
        numbers.setdefault((abs(a[0] - b[0]), abs(a[1] - b[1])), len(numbers))
    got = biases(WindowBias((3, 4), mirrored=True), table)
    for (i, a), (j, b) in itertools.product(enumerate(cells), enumerate(cells)):
        np.testing.assert_allclose(got[0, :, i, j], table[numbers[abs(a[0] - b[0]), abs(a[1] - b[1])]], rtol=1e-12)


def keys_kernel(x):
    """Keys (1981) with a = -3/4."""
    x = abs(x)
    if x <= 1:
        return 1.25 * x**3 - 2.25 * x**2 + 1
    return -0.75 * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def test_a_table_is_resized_by_cubic_convolution(random):
    table = random.normal(size=(3 * 5, 2))
    want = np.zeros((5, 9, 2))
    for y, x in np.ndindex(5, 9):
        at_y, at_x = (y + 0.5) * 3 / 5 - 0.5, (x + 0.5) * 5 / 9 - 0.5
        for m, n in itertools.product(range(-3, 7), range(-3, 9)):
            weight = keys_kernel(at_y - m) * keys_kernel(at_x - n)
            want[y, x] += weight * table[min(max(m, 0), 2) * 5 + min(max(n, 0), 4)]
    got = biases(WindowBias((2, 3), resized=(3, 5)), table)
    for i, j in np.ndindex(12, 12):
        np.testing.assert_allclose(got[0, :, i, j], want[i // 4 - j // 4 + 2, i % 4 - j % 4 + 4], atol=1e-9)
    unchanged = biases(WindowBias((3, 5), resized=(3, 5)), want.reshape(-1, 2))
    np.testing.assert_allclose(unchanged, got, rtol=1e-12)


def test_weights_are_those_of_torch():
    """``torch.nn.functional.interpolate(torch.tensor([[[[0., 1, 4, 9]]]]), (1, 7), mode="bicubic")``, in float64."""
    want = [-0.09921647230320696, 0.15624999999999845, 0.8042091836734683, 2.125, 4.424653790087461, 7.480776239067055]
    np.testing.assert_allclose(cubic_weights(4, 7) @ [0, 1, 4, 9], [*want, 9.496082361516041], atol=1e-12)
