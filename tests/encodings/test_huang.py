import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.relative.shaw import Huang


def test_logits_are_those_of_the_formula(random):
    """(q + a) . (k + a) - a . a less q . k, over sqrt(D): 3 queries, 7 keys, a row with gaps and packing."""
    positions = np.array([np.arange(7), [0, 1, 4, 0, 1, 2, 9]])
    table, q, k = random.normal(size=(7, 4)), random.normal(size=(2, 4, 3, 4)), random.normal(size=(2, 4, 7, 4))
    with jax.enable_x64(True):
        geometry = geometry_at(positions[:, 4:], positions, num_heads=4)
        got = Huang(3).content_bias({"table": table}, jnp.asarray(q), jnp.asarray(k), geometry, None)
    for b, h, i, j in np.ndindex(got.shape):
        a = table[min(max(int(positions[b, j]) - int(positions[b, 4 + i]), -3), 3) + 3]
        query, key = q[b, h, i], k[b, h, j]
        assert float(got[b, h, i, j]) == pytest.approx(((query + a) @ (key + a) - a @ a - query @ key) / 2, abs=1e-12)
