import math

import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import ConvPosition, Dims, Sequence

DIMS = Dims(d_model=6, num_heads=1, num_kv_heads=1, head_dim=6, num_layers=1, max_len=64)


@pytest.mark.parametrize("kernel", [4, 3, 1])
def test_neighbours_of_the_same_sequence_are_added_up(random, kernel):
    """Wav2Vec2PositionalConvEmbedding of transformers, entry by entry: padding K div 2, and the last of an even K."""
    v, g, bias = random.normal(size=(kernel, 2, 3, 3)), random.normal(size=kernel), random.normal(size=6)
    x, segments = random.normal(size=(2, 7, 6)), np.array([[1, 1, 1, 2, 2, 2, 0], [1] * 7])
    sequence = Sequence(np.arange(7)[None], np.array([7]), segment_ids=segments)
    with jax.enable_x64(True):
        got = ConvPosition(kernel, 2).embed({"v": v, "g": g, "bias": bias}, x, sequence)
    for b, i, m in np.ndindex(2, 7, 6):
        if segments[b, i] == 0:
            continue
        total, group = bias[m], m // 3
        for t in range(kernel):
            j = i + t - kernel // 2
            if 0 <= j < 7 and segments[b, j] == segments[b, i]:
                weight = g[t] * v[t, group, :, m % 3] / math.sqrt((v[t] ** 2).sum())
                total += weight @ x[b, j, 3 * group : 3 * group + 3]
        want = x[b, i, m] + total / 2 * (1 + math.erf(total / math.sqrt(2)))
        assert got[b, i, m] == pytest.approx(want, abs=1e-9)


def test_gains_start_at_the_norms_of_the_weights():
    params = initial(ConvPosition(64, 2), DIMS)
    np.testing.assert_allclose(params["g"], np.sqrt((np.asarray(params["v"]) ** 2).sum((1, 2, 3))), rtol=1e-5)
