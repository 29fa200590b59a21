import dataclasses

import jax
import numpy as np
import pytest
from last_queries import last_queries

from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry, Sequence
from posenc_jax.encodings.relative.music_transformer import MusicTransformer

DIMS = Dims(d_model=16, num_heads=4, num_kv_heads=2, head_dim=4, num_layers=1, max_len=6)


def paper(q, k, v, keys, values, q_positions, k_positions, visible):
    """One head of one sequence, pair by pair; a distance without a row of the table adds nothing."""
    rows = len(keys)
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        scores, added = [], []
        for j in range(len(k)):
            row = int(k_positions[j]) - int(q_positions[i]) + rows // 2
            inside = 0 <= row < rows
            score = q[i] @ k[j] + (q[i] @ keys[row] if inside else 0)
            scores.append(score / np.sqrt(q.shape[1]) if visible[i][j] else -np.inf)
            added.append(v[j] + (values[row] if inside and values is not None else 0))
        weights = np.exp(np.array(scores) - max(scores))
        out[i] = weights / weights.sum() @ np.array(added)
    return out


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_attention_is_the_papers(random, values, shared, known):
    """Queries are the last 3 of 7 tokens, distances reach beyond the table of 3; the second row has gaps and packs."""
    encoding = MusicTransformer(3, values=values, shared=shared)
    with jax.enable_x64(True):
        shape = (5, 4) if shared else (4, 5, 4)
        params = {name: random.normal(size=shape) for name in (("keys", "values") if values else ("keys",))}
        shapes = jax.eval_shape(lambda: encoding.init(jax.random.key(0), DIMS))
        assert jax.tree.map(np.shape, shapes) == jax.tree.map(np.shape, params)
        q, (k, v) = random.normal(size=(2, 4, 3, 4)), random.normal(size=(2, 2, 2, 7, 4))
        positions = np.array([np.arange(7), [0, 1, 4, 0, 1, 2, 5]])
        segments = np.array([[1] * 7, [1, 1, 1, 2, 2, 2, 2]])
        for causal in (True, False):
            geometry = last_queries(positions, segments, 4, causal=causal, known=known)
            program = jax.jit(lambda p, *qkv, geometry=geometry: attend(*qkv, (encoding,), (p,), geometry))
            got = np.asarray(program(params, q, k, v))
            visible = np.asarray(geometry.mask)[:, 0]
            for b, h in np.ndindex(2, 4):
                tables = [None if table is None else table if shared else table[h] for table in _tables(params)]
                want = paper(q[b, h], k[b, h // 2], v[b, h // 2], *tables, positions[b, 4:], positions[b], visible[b])
                np.testing.assert_allclose(got[b, h], want, atol=1e-12)


def _tables(params):
    return params["keys"], params.get("values")


@pytest.mark.parametrize(("max_distance", "shared"), [(3, False), (9, True)])
def test_the_skew_is_the_same_attention(random, max_distance, shared):
    """Contiguous and not declared so, with padding on the left, whose rows see no key: output and gradients."""
    encoding = MusicTransformer(max_distance, values=True, shared=shared)
    with jax.enable_x64(True):
        shapes = jax.eval_shape(lambda: encoding.init(jax.random.key(0), DIMS))
        params = jax.tree.map(lambda p: random.normal(size=p.shape), shapes)
        q, k, v, functional = random.normal(size=(4, 2, 4, 6, 4))
        segments = np.array([[0, 0, 1, 1, 1, 1], [1] * 6])
        sequence = Sequence(np.arange(6)[None], np.array([4, 6]), segment_ids=segments)
        geometry = Geometry.between(sequence, sequence, num_heads=4, causal=True)
        real = segments[:, None, :, None] * functional

        def loss(params, q, k, v, contiguous):
            declared = dataclasses.replace(geometry, contiguous=contiguous)
            return (attend(q, k, v, (encoding,), (params,), declared) * real).sum()

        run = jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3)), static_argnums=4)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12),
            run(params, q, k, v, True),
            run(params, q, k, v, False),
        )
