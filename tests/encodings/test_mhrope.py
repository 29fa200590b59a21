import jax
import numpy as np
import pytest
from planes import turned

from posenc_jax.encodings import Geometry, MHRoPE, RoPE, Sequence


@pytest.mark.parametrize(
    ("sections", "axes"), [((1, 2, 1), [0, 1, 1, 2]), (None, [0, 1, 1, 2]), ((1, 1, 0), [0, 1, None, None])]
)
def test_every_head_reads_one_axis(random, sections, axes):
    positions = random.integers(0, 20, (2, 5, 3)).astype(np.int32)
    q, k = random.normal(size=(2, 2, 4, 5, 8))
    sequence = Sequence(positions, np.array([5]))
    geometry = Geometry.between(sequence, sequence, num_heads=4)
    with jax.enable_x64(True):
        got = MHRoPE(sections, RoPE(100.0, "half")).score({}, q, k, geometry, None)
    for b, h, i, j in np.ndindex(2, 4, 5, 5):
        at_i, at_j = (0 if axes[h] is None else positions[b, t, axes[h]] for t in (i, j))
        query, key = (
            turned(x, [at * 100 ** (-2 * n / 8) for n in range(4)], "half")
            for x, at in ((q[b, h, i], at_i), (k[b, h, j], at_j))
        )
        assert got[b, h, i, j] == pytest.approx(query @ key / 8**0.5, abs=1e-9)
