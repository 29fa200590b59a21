import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from sides import geometry_at

from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry
from posenc_jax.encodings.relative.shaw import Shaw

DIMS = Dims(d_model=16, num_heads=4, num_kv_heads=2, head_dim=4, num_layers=1, max_len=16)


def paper(q, k, v, a_k, a_v, max_distance, positions, masked):
    """Equations 3 and 4 for one head of one sequence, a loop over pairs; ``masked[i][j]``: i may not attend to j."""
    q_positions, k_positions = positions
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        scores = []
        for j in range(len(k)):
            row = max(-max_distance, min(max_distance, int(k_positions[j] - q_positions[i]))) + max_distance
            scores.append(-np.inf if masked[i][j] else q[i] @ (k[j] + a_k[row]) / np.sqrt(q.shape[1]))
        exponentials = np.exp(np.array(scores) - max(scores))
        for j, weight in enumerate(exponentials / exponentials.sum()):
            row = max(-max_distance, min(max_distance, int(k_positions[j] - q_positions[i]))) + max_distance
            out[i] += weight * (v[j] + (0 if a_v is None else a_v[row]))
    return out


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_the_papers(random, values, causal):
    """Queries are the last 3 of 7 tokens; the second row has positions with gaps, as random or packed ones have."""
    encoding = Shaw(max_distance=2, values=values)
    params = {name: random.normal(size=(5, 4)) for name in (["keys", "values"] if values else ["keys"])}
    q, (k, v) = random.normal(size=(2, 4, 3, 4)), random.normal(size=(2, 2, 2, 7, 4))
    at, places = np.array([np.arange(7), [0, 1, 4, 5, 6, 11, 12]]), np.arange(7)[None]
    with jax.enable_x64(True):
        geometry = geometry_at(at[:, 4:], at, places=(places[:, 4:], places), num_heads=4, causal=causal)
        got = attend(*map(jnp.asarray, (q, k, v)), (encoding,), (params,), geometry)
    masked = [[causal and j > i for j in range(7)] for i in range(4, 7)]
    for b, h in np.ndindex(2, 4):
        tables = params["keys"], params.get("values")
        want = paper(q[b, h], k[b, h // 2], v[b, h // 2], *tables, 2, (at[b][4:], at[b]), masked)
        np.testing.assert_allclose(got[b, h], want, atol=1e-12)


def test_gradients_are_those_of_the_formula(random):
    """Against central differences of the loss, for both tables, the queries and the weights."""
    encoding, geometry = Shaw(max_distance=2), Geometry.of_length(5, num_heads=2)
    with jax.enable_x64(True):
        params = {name: jnp.asarray(random.normal(size=(5, 3))) for name in ("keys", "values")}
        q, weights = jnp.asarray(random.normal(size=(1, 2, 5, 3))), jnp.asarray(random.random(size=(1, 2, 5, 5)))
        c_logits, c_out = random.normal(size=(1, 2, 5, 5)), random.normal(size=(1, 2, 5, 3))

        @jax.jit
        def loss(params, q, weights):
            logits = encoding.content_bias(params, q, q, geometry, None)
            return (logits * c_logits).sum() + (encoding.value_term(params, weights, geometry) * c_out).sum()

        gradients = jax.grad(loss, (0, 1, 2))(params, q, weights)
        direction = jax.tree.map(lambda x: jnp.asarray(random.normal(size=x.shape)), (params, q, weights))
        along = sum(jax.tree.leaves(jax.tree.map(lambda g, d: (g * d).sum(), gradients, direction)))
        ahead, behind = (
            loss(*jax.tree.map(lambda x, d, s=s: x + s * d, (params, q, weights), direction)) for s in (1e-3, -1e-3)
        )
        assert float(along) == pytest.approx(float(ahead - behind) / 2e-3, rel=1e-7)


def test_no_array_of_pairs_and_dimensions():
    """Neither value nor gradient holds a vector for each pair of 16 queries and 16 keys (D = 4)."""
    encoding, geometry = Shaw(max_distance=2), Geometry.of_length(16, num_heads=4)
    params = initial(encoding, DIMS)

    def loss(params, q, weights):
        return (
            encoding.content_bias(params, q, q, geometry, None).sum()
            + encoding.value_term(params, weights, geometry).sum()
        )

    text = jax.jit(jax.grad(loss, (0, 1, 2))).lower(params, np.ones((2, 4, 16, 4)), np.ones((2, 4, 16, 16))).as_text()
    assert "16x5x" in text
    assert "16x16x4x" not in text
    assert "16x16x5x" not in text
