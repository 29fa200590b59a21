"""ReRoPE, SelfExtend, STRING and dual chunks, against the distance that the paper gives each pair of tokens."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import DualChunk, LogScaling, ReRoPE, RoPE, SelfExtend, String, attend

POSITIONS = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 4, 5, 6, 13, 14, 30, 31]], np.int32)


def rope_logit(q, k, distance, base=100.0):
    """RoPE's logit for a query ``distance`` after its key, half layout."""
    d, total = len(q), 0.0
    for plane in range(d // 2):
        a, b = complex(q[plane], q[d // 2 + plane]), complex(k[plane], k[d // 2 + plane])
        total += (a * b.conjugate() * np.exp(1j * base ** (-2 * plane / d) * distance)).real
    return total / np.sqrt(d)


def rerope(i, j):
    return i - j if i - j < 3 else 3


def leaky(i, j):
    return i - j if i - j < 3 else 3 + (i - j - 3) / 2.5


def self_extend(i, j):
    return i - j if i - j < 5 else i // 2 + 5 - 5 // 2 - j // 2


def self_extend_exact(i, j):
    return i - j if i - j < 5 else i // 2 + 5 - 5 / 2 - j // 2


def string(i, j):
    return i - j if i - j < 4 else i - j - 4 + 2


def dual_chunk(i, j):
    """Chunks of 4, positions up to 6."""
    if i // 4 == j // 4:
        return i - j
    return min(i % 4 + 4, 6) - j % 4 if i // 4 == j // 4 + 1 else 6 - j % 4


def short_dual_chunk(i, j):
    """Chunks of 2, positions up to 6, which two chunks do not reach."""
    if i // 2 == j // 2:
        return i - j
    return i % 2 + 2 - j % 2 if i // 2 == j // 2 + 1 else 3 - j % 2


ROPE = RoPE(base=100.0, layout="half")
CASES = {
    rerope: (ReRoPE(window=3, rope=ROPE), 1.0),
    leaky: (ReRoPE(window=3, factor=2.5, rope=ROPE), 1.0),
    self_extend: (SelfExtend(group_size=2, window=5, rope=ROPE), 1.0),
    self_extend_exact: (SelfExtend(group_size=2, window=5, shift="exact", rope=ROPE), 1.0),
    dual_chunk: (DualChunk(chunk=6, window=2, rope=ROPE), 1.0),
    short_dual_chunk: (DualChunk(chunk=6, window=4, rope=ROPE), 1.0),
    string: (String(shift=4, window=2, rope=ROPE), (0.1 * np.log(2) + 1) ** 2),
}


def geometry_of(positions, array=np.asarray):
    """Queries are the last four tokens."""
    keys, places = array(positions), array(np.arange(9)[None])
    return geometry_at(keys[:, 5:], keys, places=(places[:, 5:], places), num_heads=2, causal=True)


@pytest.mark.parametrize("distance", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logits_are_those_of_the_distance_in_the_paper(random, distance, dtype):
    encoding, factor = CASES[distance]
    q, k = random.normal(size=(2, 2, 4, 8)), random.normal(size=(2, 2, 9, 8))
    for array in (np.asarray, jnp.asarray):
        with jax.enable_x64(dtype == np.float64):
            program = jax.jit(functools.partial(encoding.score, {}, geometry=geometry_of(POSITIONS, array), terms=None))
            got = np.asarray(program(q.astype(dtype), k.astype(dtype)))
        assert got.dtype == dtype
        tolerance = 1e-9 if dtype == np.float64 else 2e-5
        for b in range(2):
            for i in range(4):
                for j in range(6 + i):  # what the causal mask leaves
                    pair = int(POSITIONS[b, 5 + i]), int(POSITIONS[b, j])
                    want = [factor * rope_logit(q[b, h, i], k[b, h, j], distance(*pair)) for h in range(2)]
                    np.testing.assert_allclose(got[b, :, i, j], want, atol=tolerance, err_msg=str(pair))


def test_string_is_the_papers_example(random):
    """Figure 5: L = 9, S = 3; the last row of distances 8 .. 0 becomes 5 4 3 2 1 0 2 1 0."""
    encoding = String(shift=3, window=0, attention_factor=1, rope=ROPE)
    q, k = random.normal(size=(2, 2, 4, 8)), random.normal(size=(2, 2, 9, 8))
    with jax.enable_x64(True):
        got = jax.jit(functools.partial(encoding.score, {}, geometry=geometry_of(POSITIONS), terms=None))(q, k)
    want = [rope_logit(q[0, 0, 3], k[0, 0, j], d) for j, d in enumerate([5, 4, 3, 2, 1, 0, 2, 1, 0])]
    np.testing.assert_allclose(got[0, 0, 3], want, atol=1e-9)
    assert String(training_length=131072).offset == 43253  # the authors' setting for Llama 3.1


@pytest.mark.parametrize("encoding", [ReRoPE(), ReRoPE(factor=16), SelfExtend(), String(), DualChunk()])
def test_within_the_window_it_is_rope(random, encoding):
    q, k, v = (random.normal(size=(2, 2, s, 8)).astype(np.float32) for s in (4, 9, 9))
    factor = getattr(encoding, "attention_factor", 1)

    @jax.jit
    def both(q, k, v):
        want = attend(q * factor**2, k, v, (RoPE(),), ({},), geometry_of(POSITIONS))
        return attend(q, k, v, (encoding,), ({},), geometry_of(POSITIONS)), want

    np.testing.assert_allclose(*both(q, k, v), atol=1e-6)


def test_queries_reach_the_score_scaled_by_log_n(random):
    """The author's ReRoPE: both elements of the slot."""
    q, k, v = (random.normal(size=(2, 2, s, 8)).astype(np.float32) for s in (4, 9, 9))
    slot, geometry = (LogScaling(4), ReRoPE(window=3)), geometry_of(POSITIONS)
    scaled = LogScaling(4).encode_queries({}, q, geometry.q_positions, None)
    of_score = jax.jit(lambda q: attend(q, k, v, slot[1:], ({},), geometry))
    want = of_score(scaled)
    np.testing.assert_allclose(jax.jit(lambda q: attend(q, k, v, slot, ({}, {}), geometry))(q), want, atol=1e-6)
    assert np.abs(of_score(q) - want).max() > 0.01


def test_a_chunk_without_tokens_is_refused():
    with pytest.raises(ValueError, match=r"DualChunk.window = 6 must be below chunk = 6, or a chunk"):
        DualChunk(chunk=6, window=6)
