"""ReRoPE, SelfExtend, STRING and dual chunks, against the distance that the paper gives each pair of tokens."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import DualChunk, ReRoPE, RoPE, SelfExtend, String

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
def test_logits_are_those_of_the_distance_in_the_paper(random, distance):
    encoding, factor = CASES[distance]
    q, k = random.normal(size=(2, 2, 4, 8)), random.normal(size=(2, 2, 9, 8))
    for array in (np.asarray, jnp.asarray):
        with jax.enable_x64(True):
            program = jax.jit(functools.partial(encoding.score, {}, geometry=geometry_of(POSITIONS, array), terms=None))
            got = np.asarray(program(q, k))
        for b, i in np.ndindex(2, 4):
            for j in range(6 + i):  # what the causal mask leaves
                pair = int(POSITIONS[b, 5 + i]), int(POSITIONS[b, j])
                want = [factor * rope_logit(q[b, h, i], k[b, h, j], distance(*pair)) for h in range(2)]
                np.testing.assert_allclose(got[b, :, i, j], want, atol=1e-9, err_msg=str(pair))


def test_string_is_the_papers_example(random):
    """Figure 5: L = 9, S = 3; the last row of distances 8 .. 0 becomes 5 4 3 2 1 0 2 1 0."""
    encoding = String(shift=3, window=0, attention_factor=1, rope=ROPE)
    q, k = random.normal(size=(2, 2, 4, 8)), random.normal(size=(2, 2, 9, 8))
    with jax.enable_x64(True):
        got = jax.jit(functools.partial(encoding.score, {}, geometry=geometry_of(POSITIONS), terms=None))(q, k)
    want = [rope_logit(q[0, 0, 3], k[0, 0, j], d) for j, d in enumerate([5, 4, 3, 2, 1, 0, 2, 1, 0])]
    np.testing.assert_allclose(got[0, 0, 3], want, atol=1e-9)
    assert String(training_length=131072).offset == 43253  # the authors' setting for Llama 3.1
