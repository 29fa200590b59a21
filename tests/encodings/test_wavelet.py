import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, Sequence, Wavelet


@pytest.mark.parametrize("scales", [1, 2, 4])
def test_queries_meet_a_wavelet_of_the_distance(random, scales):
    """Equations 11 to 14."""
    q, positions = random.normal(size=(2, 3, 5, 8)), random.integers(0, 30, (2, 5)).astype(np.int32)
    sequence = Sequence(positions, np.array([30, 30]))
    geometry = Geometry.between(sequence, sequence, num_heads=3)
    with jax.enable_x64(True):
        got = Wavelet(scales).content_bias({}, q, q, geometry, None)
    pairs = [(2**n, b) for n in range(scales) for b in range(8 // scales)]
    for b, h, i, j in np.ndindex(2, 3, 5, 5):
        t = [(float(positions[b, i] - positions[b, j]) - shift) / a for a, shift in pairs]
        p = [(1 - x * x) * math.exp(-x * x / 2) for x in t]
        assert got[b, h, i, j] == pytest.approx(q[b, h, i] @ p / math.sqrt(8), abs=1e-9)
