import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from last_queries import last_queries

from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims
from posenc_jax.encodings.relative.deberta import DeBERTa, clipped_row

DIMS = Dims(d_model=6, num_heads=4, num_kv_heads=2, head_dim=4, num_layers=1, max_len=16)


def delta(encoding, distance):
    """The row of one distance (query minus key), with floating-point logarithms."""
    if encoding.version == "v1":
        k = encoding.max_distance
        return 0 if distance <= -k else 2 * k - 1 if distance >= k else distance + k
    span, m = encoding.num_buckets, encoding.num_buckets // 2
    bucket = distance
    if abs(distance) > m:
        share = math.log(abs(distance) / m) / math.log((encoding.max_distance - 1) / m)
        bucket = int(math.copysign(math.ceil(share * (m - 1) - 1e-12) + m, distance))
    return min(max(bucket + span, 0), 2 * span - 1)


def vectors(encoding, params, head, role):
    """The projected table of one head and role, row by row."""
    rows = []
    for row in params["table"]:
        if encoding.version == "v2":
            row = (row - row.mean()) / np.sqrt(row.var() + 1e-7) * params["norm_scale"] + params["norm_offset"]
        offset = params.get(f"{role}_offset", np.zeros((4, 4)))[head]
        rows.append(params[f"{role}_projection"][head] @ row + offset)
    return rows


def paper(encoding, params, q, k, v, head, q_positions, k_positions, visible):
    """One head of one sequence, pair by pair, over the root of D and the number of products."""
    products = 3 if encoding.terms == "both" else 2
    as_keys = None if encoding.terms == "p2c" else vectors(encoding, params, head, "key")
    as_queries = None if encoding.terms == "c2p" else vectors(encoding, params, head, "query")
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        scores = []
        for j in range(len(k)):
            distance = int(q_positions[i]) - int(k_positions[j])
            score = q[i] @ k[j]
            if as_keys is not None:
                score += q[i] @ as_keys[delta(encoding, distance)]
            if as_queries is not None:
                sign = 1 if encoding.p2c_distance == "code" else -1
                score += k[j] @ as_queries[delta(encoding, sign * distance)]
            scores.append(score / math.sqrt(products * q.shape[1]) if visible[i][j] else -np.inf)
        weights = np.exp(np.array(scores) - max(scores))
        out[i] = weights / weights.sum() @ v
    return out


@pytest.mark.parametrize(
    ("encoding", "known"),
    [
        (DeBERTa(max_distance=3), True),
        (DeBERTa(max_distance=3, terms="c2p"), False),
        (DeBERTa(max_distance=3, p2c_distance="paper"), False),
        (DeBERTa("v2", 9, 4), False),
        (DeBERTa("v2", 9, 4, terms="p2c", p2c_distance="paper"), True),
    ],
)
def test_attention_is_the_papers(random, encoding, known):
    """Queries are the last 3 of 7 tokens; the second row packs two sequences with gaps."""
    with jax.enable_x64(True):
        shapes = jax.eval_shape(lambda: encoding.init(jax.random.key(0), DIMS))
        params = {name: random.normal(size=p.shape) for name, p in shapes.items()}
        q, (k, v) = random.normal(size=(2, 4, 3, 4)), random.normal(size=(2, 2, 2, 7, 4))
        positions = np.array([np.arange(7), [0, 2, 4, 0, 1, 12, 17]])
        segments = np.array([[1] * 7, [1, 1, 1, 2, 2, 2, 2]])
        for causal in (True, False):
            geometry = last_queries(positions, segments, 4, causal=causal, known=known)
            program = jax.jit(lambda p, *qkv, geometry=geometry: attend(*qkv, (encoding,), (p,), geometry))
            got = np.asarray(program(params, q, k, v))
            visible = np.asarray(geometry.mask)[:, 0]
            for b, h in np.ndindex(2, 4):
                places = positions[b, 4:], positions[b], visible[b]
                want = paper(encoding, params, q[b, h], k[b, h // 2], v[b, h // 2], h, *places)
                np.testing.assert_allclose(got[b, h], want, atol=1e-12)


def test_rows_of_version_1():
    """Equation 3; the last row begins one distance early on the positive side, which has no distance k of its own."""
    assert [int(clipped_row(np.int64(d), 4)) for d in (-9, -4, -3, 0, 3, 4, 9)] == [0, 0, 1, 4, 7, 7, 7]


def test_rows_of_version_2():
    """The published buckets of sizes 256 and 512, odd-symmetric up to the ends of the table."""
    distances = np.array([0, 1, 127, 128, 129, 200, 256, 300, 511, 512, 4000])
    rows = DeBERTa("v2").rows(distances)
    assert (rows - 256).tolist() == [0, 1, 127, 128, 129, 169, 192, 207, 255, 255, 255]
    np.testing.assert_array_equal(DeBERTa("v2").rows(jnp.asarray(distances)), rows)
    np.testing.assert_array_equal(DeBERTa("v2").rows(-distances)[:9], 512 - rows[:9])
    assert DeBERTa("v2").rows(-distances)[9:].tolist() == [0, 0]
    for buckets, longest in ((256, 512), (128, 512), (16, 300), (6, 5), (4, 4), (5, 5), (5, 9), (7, 30), (127, 512)):
        encoding = DeBERTa("v2", longest, buckets)
        far = np.arange(-2 * longest**2, 2 * longest**2 + 1, max(longest // 100, 1))
        want = [delta(encoding, int(d)) for d in far]
        assert encoding.rows(far).tolist() == encoding.rows(jnp.asarray(far)).tolist() == want
        # The first row is of distances beyond the largest where the number of buckets is odd.
        assert delta(encoding, -longest) == buckets % 2
        assert (min(want), max(want)) == (0, 2 * buckets - 1)


def test_buckets_of_long_texts_cost_nothing():
    """A table of all distances would have 10^10 numbers."""
    assert DeBERTa("v2", 100_000, 5).rows(np.array([-(2**31) + 2, -100_000, 100_000])).tolist() == [1, 1, 9]
