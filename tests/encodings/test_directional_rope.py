import math

import jax
import numpy as np
import pytest
from initial import initial
from planes import turned

from posenc_jax.encodings import Dims, GoldenGateRoPE, SpiralRoPE

RANDOM = np.random.default_rng(0)
CELLS = RANDOM.integers(0, 30, (1, 5, 2)).astype(np.int32)


def encoded(encoding, params, x, positions):
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda p, x, at: encoding.encode_keys(p, x, at, None))(params, x, positions))


@pytest.mark.parametrize("directions", [2, 4])
def test_spiral_planes_read_projections(directions):
    """The authors' code: a table of angles with the axes in halves, of which dimensions i 4 .. i 4 + 3 of every
    ``directions`` 2 are turned by i 90 degrees / (directions / 2).
    """
    head_dim, groups = 16, directions // 2
    x = RANDOM.normal(size=(1, 2, 5, head_dim))
    got = encoded(SpiralRoPE(directions), {}, x, CELLS)
    for h, s in np.ndindex(2, 5):
        angles = []
        for dimension in range(0, head_dim, 2):
            turn = math.radians(dimension % (4 * groups) // 4 * 90 / groups)
            y, x_ = (int(p) for p in CELLS[0, s])
            k = dimension // 2 % (head_dim // 4)
            frequency = 1.5 / 10000 ** (2 * k / (head_dim // 2))
            of_rows = dimension < head_dim // 2
            angles.append(
                frequency
                * (y * math.cos(turn) + x_ * math.sin(turn) if of_rows else x_ * math.cos(turn) - y * math.sin(turn))
            )
        np.testing.assert_allclose(got[0, h, s], turned(x[0, h, s], angles, "interleaved"), atol=1e-9)


def test_spiral_directions_are_spread_over_half_a_circle():
    vectors = SpiralRoPE(4).vectors(32)
    directions = np.unique(np.round(np.degrees(np.arctan2(vectors[:, 1], vectors[:, 0])) % 180, 6))
    np.testing.assert_allclose(directions, [0, 45, 90, 135])


def test_golden_gate_directions():
    """The post's code: heads and planes are counted together, each a golden angle farther; x first."""
    encoding = GoldenGateRoPE(0.5, 8.0, zero_fraction=0.25)
    dims = Dims(d_model=16, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16)
    params = {name: np.float64(value) for name, value in initial(encoding, dims).items()}
    spacing = math.pi / ((1 + math.sqrt(5)) / 2)
    magnitudes = [0.0, 0.5, 2.0, 8.0]
    for h, k in np.ndindex(2, 4):
        u = (h * 4 + k) * spacing
        want = [magnitudes[k] * math.cos(u), magnitudes[k] * math.sin(u)]
        np.testing.assert_allclose(params["frequencies"][h, k], want, atol=2e-6)
    x, at = RANDOM.normal(size=(1, 2, 5, 8)), RANDOM.uniform(-1, 1, (1, 5, 2))
    got = encoded(encoding, params, x, at)
    for h, s in np.ndindex(2, 5):
        y, x_ = at[0, s]
        angles = [x_ * f[0] + y * f[1] for f in params["frequencies"][h]]
        np.testing.assert_allclose(got[0, h, s], turned(x[0, h, s], angles, "half"), atol=1e-9)
