"""Rows of packed and padded tokens for methods whose logits depend on the tokens between query and key, and a check of
`attend` on them against loops over rows, heads, queries and keys.
"""

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry, Sequence
from posenc_jax.encodings.interface.slots import token_terms

DIMS = Dims(d_model=8, num_heads=4, num_kv_heads=2, head_dim=4, num_layers=1, max_len=16)
# Padding on the left; two sequences and padding on the right; sequences out of order, with padding between and inside.
SEGMENTS = np.array([[0, 0, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 2, 2, 2, 2, 0], [2, 2, 2, 0, 1, 1, 0, 1, 1]], np.int32)
ROWS, KEYS = SEGMENTS.shape
SHUFFLED = np.array([4, 0, 8, 2, 6, 1, 3, 7, 5])


def noise(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


X = noise(ROWS, KEYS, DIMS.d_model)
Q = noise(ROWS, DIMS.num_heads, KEYS, DIMS.head_dim, seed=1)
K, V = (noise(ROWS, DIMS.num_kv_heads, KEYS, DIMS.head_dim, seed=seed) for seed in (2, 3))


def key_head(h):
    return h * DIMS.num_kv_heads // DIMS.num_heads


def sequence_of(b, i):
    """The tokens of the sequence of token i of row b up to i, in order."""
    return [t for t in range(i + 1) if SEGMENTS[b, t] == SEGMENTS[b, i]]


def softmax(logits):
    exponentials = np.exp(np.array(logits) - max(logits))
    return exponentials / exponentials.sum()


def loops(logit, weights):
    """``logit(b, h, i, j)`` and ``weights(logits of all tokens up to i)`` for all real tokens i: ``[B, H, K, D]``."""
    out = np.zeros(Q.shape)
    for b, h, i in np.ndindex(Q.shape[:3]):
        if SEGMENTS[b, i]:
            keys = sequence_of(b, i)
            for j, w in zip(keys, weights([logit(b, h, i, j) for j in keys])):
                out[b, h, i] += w * V[b, key_head(h), j]
    return out


def params_of(encoding, seed=7):
    """Parameters of order one, so that every term counts."""
    shapes = jax.eval_shape(lambda key: encoding.init(key, DIMS), jax.random.key(0))
    return {name: noise(*p.shape, seed=seed + i) * (p.shape[0] ** -0.5) for i, (name, p) in enumerate(shapes.items())}


def run(encodings, params, *, order, queries, known, dtype):
    """`attend` with the keys in some order and the queries of some tokens; slots known on the host or not."""
    x, q, k, v = (a.astype(dtype) for a in (X, Q, K, V))
    params = jax.tree.map(lambda a: a.astype(dtype), params)
    length = np.full((1,), KEYS, np.int32)

    def part(tokens):
        places = tokens[None] if known else jnp.asarray(tokens[None])
        return Sequence(tokens[None].astype(np.int32), length, segment_ids=SEGMENTS[:, tokens], places=places)

    geometry = Geometry.between(part(queries), part(order), num_heads=DIMS.num_heads, causal=True)

    @jax.jit
    def program(params, x, *qkv):
        terms = token_terms(encodings, params, x, part(order))
        return attend(*qkv, encodings, params, geometry, terms)

    return program(params, x[:, order], q[:, :, queries], k[:, :, order], v[:, :, order])


def check(encodings, params, logit, weights=softmax):
    """All tokens, and the last four alone with keys in another order; float64, and float32 once."""
    want = loops(logit, weights)
    tokens, last = np.arange(KEYS), np.arange(5, KEYS)
    with jax.enable_x64(True):
        for order, queries, known in ((tokens, tokens, True), (SHUFFLED, last, True), (SHUFFLED, last, False)):
            got = np.asarray(run(encodings, params, order=order, queries=queries, known=known, dtype=np.float64))
            assert np.isfinite(got).all()
            real = np.broadcast_to((SEGMENTS != 0)[:, None, queries], got.shape[:3])
            np.testing.assert_allclose(got[real], want[:, :, queries][real], atol=1e-9, rtol=0)
    got = np.asarray(run(encodings, params, order=tokens, queries=tokens, known=True, dtype=np.float32))
    real = np.broadcast_to((SEGMENTS != 0)[:, None], got.shape[:3])
    np.testing.assert_allclose(got[real], want[real], atol=2e-5, rtol=0)
