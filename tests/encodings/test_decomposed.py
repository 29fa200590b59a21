import jax
import numpy as np
import pytest

from posenc_jax.encodings.interface.base import Geometry, Sequence
from posenc_jax.encodings.relative.decomposed import Decomposed


@pytest.mark.parametrize("scaled", [False, True])
def test_the_query_reads_a_vector_of_each_axis(random, scaled):
    """Keys are those of every second row and column, as where MViT pools them: in units of the queries' cells."""
    sizes = (3, 4)
    tables = {f"axis_{a}": random.normal(size=(2 * n - 1, 6)) for a, n in enumerate(sizes)}
    cells = np.stack(np.divmod(np.arange(12), 4), axis=-1)
    coarse = cells[(cells % 2 == 0).all(axis=-1)]
    sides = [Sequence(p[None], np.array([len(p)])) for p in (cells, coarse)]
    q = random.normal(size=(1, 2, 12, 6))
    encoding, geometry = Decomposed(sizes, scaled), Geometry.between(*sides, num_heads=2)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda p, q: encoding.content_bias(p, q, q, geometry, None))(tables, q))
    assert got.shape == (1, 2, 12, 4)
    for h, i, j in np.ndindex(2, 12, 4):
        row, column = cells[i] - coarse[j]
        want = q[0, h, i] @ (tables["axis_0"][row + 2] + tables["axis_1"][column + 3])
        np.testing.assert_allclose(got[0, h, i, j], want / 6**0.5 if scaled else want, rtol=1e-9)
