import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings.interface.base import Geometry, Sequence
from posenc_jax.encodings.relative.irpe import IRPE, piecewise_starts

CELLS = np.array([[0, 0], [0, 1], [1, 0], [2, 5], [9, 3], [4, 40], [30, 30]])
GEOMETRY = Geometry.between(*[Sequence(CELLS[None], np.array([7]))] * 2, num_heads=2)


def g(x, ratio=1.9):
    """Equation 18, with the authors' constants; Python rounds halves to even, as torch does."""
    a, b, c = ratio, 2 * ratio, 8 * ratio
    if abs(x) <= a:
        return round(x)
    return int(math.copysign(min(round(a + math.log(abs(x) / a) / math.log(c / a) * (b - a)), b), x))


@pytest.mark.parametrize("ratio", [1.0, 1.9, 3.4, 20.0])
def test_buckets_begin_where_the_formula_says(ratio):
    starts = piecewise_starts(ratio)
    for x in range(1000):
        assert np.searchsorted(starts, x, side="right") == g(x, ratio)


def rows(mapping, offset):
    y, x = offset
    if mapping == "product":
        return [(g(y) + 3) * 7 + g(x) + 3]
    return [g(y) + 3, 7 + g(x) + 3] if mapping == "cross" else [g(round(math.hypot(y, x))) + 3]


@pytest.mark.parametrize("mapping", ["product", "cross", "euclidean"])
def test_what_a_pair_reads(random, mapping):
    vectors, biases = IRPE(mapping), IRPE(mapping, "bias")
    table, numbers = (random.normal(size=(vectors.num_buckets, columns)) for columns in (4, 2))
    q = random.normal(size=(1, 2, 7, 4))

    def both(table, numbers, q):
        read = vectors.content_bias({"table": table}, q, q, GEOMETRY, None)
        return read, biases.bias({"table": numbers}, GEOMETRY)

    with jax.enable_x64(True):
        got_vectors, got_biases = map(np.asarray, jax.jit(both)(table, numbers, q))
    for i, j in np.ndindex(7, 7):
        own = rows(mapping, [int(d) for d in CELLS[i] - CELLS[j]])
        want = sum(q[0, :, i] @ table[r] for r in own) / 2
        np.testing.assert_allclose(got_vectors[0, :, i, j], want, rtol=1e-9)
        np.testing.assert_allclose(got_biases[0, :, i, j], sum(numbers[r] for r in own), rtol=1e-9)


@pytest.mark.parametrize(
    ("cell", "distance"),
    # The square of the first is 2105 * 2106: in float32 its root is the half that rounds up to the next bucket.
    [((189, 2097), 2105), ((46341, 46341), 2303), ((-(2**30), 5), 2303)],
)
def test_a_distance_is_rounded_exactly(cell, distance):
    """At a ratio of 288 the last bucket begins at a distance below 2303."""
    cells = Sequence(np.array([[[0, 0], cell]]), np.array([2]))
    geometry, encoding = Geometry.between(cells, cells, num_heads=1), IRPE("euclidean", "bias", 288.0)
    numbers = np.arange(encoding.num_buckets, dtype=np.float32)[:, None]
    got = jax.jit(lambda table: encoding.bias({"table": table}, geometry))(numbers)
    assert got[0, 0, 1, 0] == 576 + g(distance, 288.0)
    assert g(2105, 288.0) < g(2106, 288.0)
