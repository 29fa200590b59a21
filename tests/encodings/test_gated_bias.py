"""WavLMAttention of transformers, pair by pair: eight outputs of a projection of each head's part, summed by fours."""

import jax
import numpy as np
import pytest
from rows_of_tokens import DIMS, noise
from sides import geometry_at

from posenc_jax.encodings import Dims, GatedBias, t5_buckets
from posenc_jax.encodings.interface.attention import attend


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@pytest.mark.parametrize("causal", [False, True])
def test_logits_are_those_of_the_model(causal):
    encoding, heads, part = GatedBias(num_buckets=8, max_distance=6), 4, 2
    table, linear, offset = noise(heads, 8), noise(8, part, seed=1), noise(8, seed=2)
    constants, x = noise(heads, seed=3), noise(1, 9, heads * part, seed=4)
    q, k, v = noise(1, heads, 9, 3), noise(1, 2, 9, 3, seed=1), noise(1, 2, 9, 3, seed=2)
    params = {"table": table, "gates": linear.reshape(2, 4, part).sum(1), "constants": constants}
    params["offsets"] = offset.reshape(2, 4).sum(1)
    positions = np.array([[0, 1, 2, 4, 5, 7, 8, 12, 13]])
    with jax.enable_x64(True):
        geometry = geometry_at(positions, positions, num_heads=heads, causal=causal)
        terms = (encoding.token_terms(params, x, None),)
        _, weights = attend(q, k, v, (encoding,), (params,), geometry, terms, return_weights=True)
    for h, i in np.ndindex(heads, 9):
        outputs = linear @ x[0, i, h * part : (h + 1) * part] + offset
        a, b = sigmoid(outputs[:4].sum()), sigmoid(outputs[4:].sum())
        gate = a * (b * constants[h] - 1) + 2
        logits = []
        for j in range(i + 1 if causal else 9):
            distance = positions[0, j] - positions[0, i]
            bucket = int(t5_buckets(np.array(distance), 8, 6, bidirectional=not causal))
            logits.append(q[0, h, i] @ k[0, h // 2, j] / np.sqrt(3) + gate * table[h, bucket])
        want = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(weights[0, h, i, : len(want)], want, atol=1e-12)


def test_heads_divide_the_input():
    with pytest.raises(ValueError, match="num_heads = 3 must divide d_model = 8"):
        GatedBias().check(Dims(8, 3, 3, 4, 1, 16))
    with pytest.raises(ValueError, match=r"num_buckets = 7 must be even"):
        GatedBias(num_buckets=7)
    assert DIMS.d_model % DIMS.num_heads == 0
