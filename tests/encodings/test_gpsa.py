import math

import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import GPSA, Dims, Geometry, Sequence, attend

RANDOM = np.random.default_rng(0)
CELLS = np.stack(np.divmod(np.arange(6), 3), axis=-1)[None].astype(np.int32)
Q, K, V = (RANDOM.normal(size=(1, 2, 6, 4)) for _ in range(3))
PARAMS = {"weight": RANDOM.normal(size=(2, 3)), "gate": np.array([0.3, -1.2])}


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


@pytest.mark.parametrize("causal", [False, True])
def test_a_gate_mixes_two_softmaxes(causal):
    tokens = Sequence(CELLS, np.array([6]))
    geometry = Geometry.between(tokens, tokens, num_heads=2, causal=causal)
    with jax.enable_x64(True):
        program = jax.jit(lambda q, p: attend(q, K, V, (GPSA(),), (p,), geometry, return_weights=True)[1])
        weights = np.asarray(program(Q, PARAMS))
    for h, i in np.ndindex(2, 6):
        keys = range(i + 1) if causal else range(6)
        content = softmax(np.array([Q[0, h, i] @ K[0, h, j] / 2 for j in keys]))
        offsets = []
        for j in keys:
            y, x = (int(d) for d in CELLS[0, j] - CELLS[0, i])
            offsets.append(PARAMS["weight"][h] @ [x, y, x * x + y * y])
        gate = 1 / (1 + math.exp(-PARAMS["gate"][h]))
        want = (1 - gate) * content + gate * softmax(np.array(offsets))
        np.testing.assert_allclose(weights[0, h, i, : len(keys)], want, rtol=1e-9)
        assert not weights[0, h, i, len(keys) :].any()


def test_heads_start_as_a_convolution():
    """Of ten heads nine look at the cells around the query, each at another one, as in the authors' loops."""
    dims = Dims(d_model=40, num_heads=10, num_kv_heads=10, head_dim=4, num_layers=1, max_len=16)
    params = initial(GPSA(locality_strength=2.0), dims)
    for h1, h2 in np.ndindex(3, 3):
        np.testing.assert_allclose(params["weight"][h1 + 3 * h2], [4 * (h2 - 1), 4 * (h1 - 1), -2], rtol=1e-6)
    assert (abs(params["weight"][9]) < 0.5).all()
    np.testing.assert_array_equal(params["gate"], np.ones(10))
    four = Dims(d_model=16, num_heads=4, num_kv_heads=4, head_dim=4, num_layers=1, max_len=16)
    np.testing.assert_allclose(initial(GPSA(), four)["weight"][:, :2], [[-1, -1], [-1, 1], [1, -1], [1, 1]])
