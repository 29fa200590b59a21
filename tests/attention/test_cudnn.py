"""What cuDNN is told, computed by XLA's form of the same function: cuDNN itself needs a GPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from calls import DIMS, noise

from posenc_jax.attention.choice import Call
from posenc_jax.attention.paths import along
from posenc_jax.encodings import Geometry, Sequence, parse
from posenc_jax.encodings.interface.attention import dense, prepare

LENGTHS = np.array([5, 8])


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """The arguments of the last call."""
    seen, real = {}, jax.nn.dot_product_attention

    def by_xla(*arrays, implementation, **arguments):
        assert implementation == "cudnn"
        seen.update(arguments)
        return real(*arrays, implementation="xla", **arguments)

    monkeypatch.setattr(jax.nn, "dot_product_attention", by_xla)
    return seen


def side(size, padded):
    segments = (np.arange(size)[None] < LENGTHS[:, None]).astype(np.int32) if padded else None
    lengths = LENGTHS if padded else np.array([size])
    places = np.arange(size, dtype=np.int32)[None]
    return Sequence(places, lengths, segment_ids=segments, right_padded=padded)


CALLS = {
    "causal": ((8, True), (8, True), {"causal": True}),
    "windowed": ((8, False), (8, False), {"causal": True, "window": 3}),
    "padded": ((8, True), (8, True), {}),
    "padded keys": ((6, False), (8, True), {}),
    "padded queries": ((8, True), (6, False), {}),
    "whole": ((6, False), (8, False), {}),
}


@pytest.mark.parametrize(
    ("spec", "call"),
    [("alibi", "causal"), ("alibi", "windowed"), *((spec, call) for spec in ("rope", "nope") for call in CALLS)],
)
def test_it_is_told_what_the_reference_computes(spec, call, told):
    queries, keys, call = CALLS[call]
    encodings = parse(spec)
    of_queries, of_keys = (side(*one) for one in (queries, keys))
    of_queries = of_keys if queries == keys else of_queries
    geometry = Geometry.between(of_queries, of_keys, num_heads=DIMS.num_heads, contiguous=True, **call)
    q = jnp.asarray(noise(2, 4, queries[0], 8), jnp.float32)
    k, v = (jnp.asarray(noise(2, 2, keys[0], 8, seed=s), jnp.float32) for s in (1, 2))
    params = tuple(e.init(jax.random.key(0), DIMS) for e in encodings)
    prepared = prepare(q, k, v, encodings, params, geometry)
    found = along("cudnn", prepared, Call.of(prepared))
    real = np.ones((2, queries[0])) if not queries[1] else of_queries.segment_ids
    real = real[:, None, :, None] != 0
    np.testing.assert_allclose(np.where(real, found, 0), np.where(real, dense(prepared), 0), atol=2e-6)
    padded = queries[1] or keys[1]
    for name, (size, with_padding) in (("query_seq_lengths", queries), ("key_value_seq_lengths", keys)):
        if padded and keys[1]:
            np.testing.assert_array_equal(told[name], LENGTHS if with_padding else (size, size))
        else:
            assert told[name] is None
