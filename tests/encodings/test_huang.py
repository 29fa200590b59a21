import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial, shapes_of
from sides import geometry_at

from posenc_jax.encodings.base import Dims, Geometry, Sequence
from posenc_jax.encodings.huang import Huang


@pytest.mark.parametrize("known", [True, False])
def test_logits_are_those_of_the_formula(random, known):
    """(q + a) . (k + a) - a . a less q . k, over sqrt(D): 3 queries, 7 keys, a row with gaps and packing."""
    positions = np.array([np.arange(7), [0, 1, 4, 0, 1, 2, 9]])
    table, q, k = random.normal(size=(7, 4)), random.normal(size=(2, 4, 3, 4)), random.normal(size=(2, 4, 7, 4))
    with jax.enable_x64(True):
        keys = positions if known else jnp.asarray(positions)
        geometry = geometry_at(keys[:, 4:], keys, num_heads=4)
        got = Huang(3).content_bias({"table": table}, jnp.asarray(q), jnp.asarray(k), geometry, None)
        assert got.dtype == jnp.float64
    for b, h, i, j in np.ndindex(got.shape):
        a = table[min(max(int(positions[b, j]) - int(positions[b, 4 + i]), -3), 3) + 3]
        query, key = q[b, h, i], k[b, h, j]
        assert float(got[b, h, i, j]) == pytest.approx(((query + a) @ (key + a) - a @ a - query @ key) / 2, abs=1e-12)


def test_initialisation_and_refusals():
    dims = Dims(256, 4, 4, 64, 1, 100)
    params = initial(Huang(), dims)
    assert params["table"].shape == (199, 64)
    assert 0.019 < float(params["table"].std()) < 0.021
    assert shapes_of(Huang(16), dims)["table"].shape == (33, 64)
    sequence = Sequence(np.array([[0.0, 0.5]], np.float32), np.array([2]))
    q = np.ones((1, 4, 2, 64), np.float32)
    with pytest.raises(ValueError, match="Huang reads a table by whole distances, got float32: use integer positions"):
        Huang().content_bias(params, q, q, Geometry.between(sequence, sequence, num_heads=4), None)
