import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from last_queries import last_queries

from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry, Sequence
from posenc_jax.encodings.relative.tupe import TUPE

DIMS = Dims(d_model=6, num_heads=4, num_kv_heads=2, head_dim=4, num_layers=1, max_len=12)


def bucket(relative, num_buckets, max_distance):
    """T5's bucket of one relative position, both directions."""
    side = num_buckets // 2
    start, n, exact = (side if relative > 0 else 0), abs(relative), side // 2
    if n < exact:
        return start + n
    return start + min(exact + int(math.log(n / exact) / math.log(max_distance / exact) * (side - exact)), side - 1)


def normalised(params, row):
    row = params["table"][row]
    return (row - row.mean()) / np.sqrt(row.var() + 1e-5) * params["norm_scale"] + params["norm_offset"]


def correlation(params, head, query_row, key_row):
    """(LN(p_i) U_Q) . (LN(p_j) U_K) / sqrt(2 D)."""
    query, key = (
        params["projections"][role, head] @ normalised(params, row) + params["offsets"][role, head]
        for role, row in enumerate((query_row, key_row))
    )
    return query @ key / math.sqrt(2 * len(query))


def position_terms(encoding, params, head, i, j):
    """Of a query at position i and a key at position j."""
    if encoding.untie_cls and i == 0:
        special = correlation(params, head, 0, 0)
        return special + (params["buckets"][head, encoding.num_buckets // 2] if encoding.relative else 0)
    if encoding.untie_cls and j == 0:
        special = correlation(params, head, 1, 1)
        return special + (params["buckets"][head, encoding.num_buckets] if encoding.relative else 0)
    terms = correlation(params, head, i + 1, j + 1)
    if encoding.relative:
        terms += params["buckets"][head, bucket(j - i, encoding.num_buckets, encoding.max_distance)]
    return terms


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "encoding", [TUPE(), TUPE(True, num_buckets=8, max_distance=6), TUPE(True, False, 8, 6)], ids=["A", "R", "R-tied"]
)
def test_attention_is_the_papers(random, encoding, known):
    """Queries are tokens 3 to 6 of 7; the second row packs two sequences, the later one begins at token 3."""
    positions = np.array([np.arange(7), [0, 1, 4, 0, 1, 5, 11]])
    segments = np.array([[1] * 7, [1, 1, 1, 2, 2, 2, 2]])
    q, (k, v) = random.normal(size=(2, 4, 4, 4)), random.normal(size=(2, 2, 2, 7, 4))
    with jax.enable_x64(True):
        shapes = jax.eval_shape(lambda: encoding.init(jax.random.key(0), DIMS))
        params = {name: random.normal(size=p.shape) for name, p in shapes.items()}
        for causal in (True, False):
            geometry = last_queries(positions, segments, 3, causal=causal, known=known)
            program = jax.jit(lambda p, *qkv, geometry=geometry: attend(*qkv, (encoding,), (p,), geometry))
            got = np.asarray(program(params, q, k, v))
            visible = np.asarray(geometry.mask)[:, 0]
            for b, h, i in np.ndindex(2, 4, 4):
                scores = [
                    q[b, h, i] @ k[b, h // 2, j] / math.sqrt(8)
                    + position_terms(encoding, params, h, int(positions[b, 3 + i]), int(positions[b, j]))
                    for j in range(7)
                ]
                weights = np.where(visible[b, i], np.exp(scores), 0)
                np.testing.assert_allclose(got[b, h, i], weights / weights.sum() @ v[b, h // 2], atol=1e-12)


def test_beyond_the_table():
    """An error if known, NaN if traced, but not for padding; or the nearest row."""
    params = initial(TUPE(max_len=4), DIMS)
    assert params["table"].shape == (5, 6)
    outside = Sequence(np.array([[3, 4, -1]]), np.array([2]), segment_ids=np.array([[1, 1, 0]]))
    geometry = Geometry.between(outside, outside, num_heads=4)
    with pytest.raises(
        ValueError, match=r"position 4 is outside TUPE's table of positions 0 \.\. 3: raise max_len, or"
    ):
        TUPE(max_len=4).bias(params, geometry)

    def bias(encoding, geometry):
        return np.asarray(jax.jit(lambda params: encoding.bias(params, geometry))(params))

    traced = geometry.at(jnp.asarray(outside.positions), np.array([[1, 2, 3]]))
    finite = np.isfinite(bias(TUPE(max_len=4), traced)).all(axis=(0, 1, 3))
    assert finite.tolist() == [True, False, True]
    padded = dataclasses.replace(outside, positions=np.array([[3, 2, -1]]))
    assert np.isfinite(bias(TUPE(max_len=4), Geometry.between(padded, padded, num_heads=4))).all()
    clamped = bias(TUPE(max_len=4, beyond="clamp"), geometry)
    inside = dataclasses.replace(outside, positions=np.array([[3, 3, 0]]))
    want = bias(TUPE(max_len=4), Geometry.between(inside, inside, num_heads=4))
    np.testing.assert_allclose(clamped[:, :, :2, :2], want[:, :, :2, :2], atol=1e-6)
