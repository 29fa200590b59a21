import math

import jax
import numpy as np

from posenc_jax.encodings import Geometry, LayoutBias, Sequence, SpatialALiBi

RANDOM = np.random.default_rng(0)
AT = RANDOM.integers(0, 1000, (1, 6, 2)).astype(np.int32)
AT[0, 5] = AT[0, 4]
TOKENS = Sequence(AT, np.array([6]))
GEOMETRY = Geometry.between(TOKENS, TOKENS, num_heads=3)


def biases(encoding, params):
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda p: encoding.bias(p, GEOMETRY))(params))


def test_a_slope_times_the_euclidean_distance():
    """Slopes of three heads, as in the authors' code: those of two, then the first of four."""
    got = biases(SpatialALiBi(), {})
    for i, j in np.ndindex(6, 6):
        for h, slope in enumerate((2**-4, 2**-8, 2**-2)):
            np.testing.assert_allclose(got[0, h, i, j], -slope * math.dist(AT[0, i], AT[0, j]), rtol=1e-9)


def test_gradients_are_finite_where_cells_meet():
    def total(at):
        tokens = Sequence(at, np.array([6]))
        return SpatialALiBi().bias({}, Geometry.between(tokens, tokens, num_heads=3)).sum()

    assert np.isfinite(jax.jit(jax.grad(total))(AT.astype(np.float32))).all()


def bucket(distance):
    """T5's, as LayoutLMv2's code has it: 32 for each direction, 16 of them for single distances, up to 256."""
    offset, n = 32 * (distance > 0), abs(distance)
    if n < 16:
        return offset + n
    return offset + min(31, 16 + int(math.log(n / 16) / math.log(256 / 16) * 16 + 1e-12))


def test_a_table_for_each_axis():
    tables = {f"axis_{axis}": RANDOM.normal(size=(3, 64)) for axis in range(2)}
    got = biases(LayoutBias(), tables)
    for i, j in np.ndindex(6, 6):
        y, x = (int(d) for d in AT[0, j] - AT[0, i])
        want = tables["axis_0"][:, bucket(y)] + tables["axis_1"][:, bucket(x)]
        np.testing.assert_allclose(got[0, :, i, j], want, rtol=1e-9)
