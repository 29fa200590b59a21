import jax
import numpy as np
import pytest
from initial import initial
from planes import exponential

from posenc_jax.encodings import ComRoPE, Dims, LieRE

RANDOM = np.random.default_rng(0)
AT = RANDOM.integers(0, 6, (1, 5, 2)).astype(np.int32)
X = RANDOM.normal(size=(1, 4, 5, 6))
DIMS = Dims(d_model=24, num_heads=4, num_kv_heads=2, head_dim=6, num_layers=1, max_len=16)


def check(encoding, params, generator_of):
    """Queries of four heads and keys of two; ``generator_of(axis, key head, block)``."""

    def both(params, x, at):
        return encoding.encode_queries(params, x, at, None), encoding.encode_keys(params, x[:, ::2], at, None)

    with jax.enable_x64(True):
        queries, keys = map(np.asarray, jax.jit(both)(params, X, AT))
    size = encoding.block
    for h, s, n in np.ndindex(4, 5, 6 // size):
        rotation = exponential(sum(AT[0, s, a] * generator_of(a, h // 2, n) for a in range(2)))
        part = slice(n * size, (n + 1) * size)
        np.testing.assert_allclose(queries[0, h, s, part], rotation @ X[0, h, s, part], atol=1e-9)
        if h % 2 == 0:
            np.testing.assert_allclose(keys[0, h // 2, s, part], rotation @ X[0, h, s, part], atol=1e-9)


@pytest.mark.parametrize("block", [6, 3])
def test_liere_is_the_exponential_of_a_sum(block):
    raw = RANDOM.normal(size=(2, 2, 6 // block, block, block))

    def generator(axis, head, n):
        upper = np.triu(raw[head, axis, n], 1)
        return upper - upper.T

    check(LieRE(block=block), {"generators": raw}, generator)


def test_comrope_linear():
    raw, multipliers = RANDOM.normal(size=(2, 2, 3, 3)), RANDOM.normal(size=(2, 2))
    params = {"generators": raw, "multipliers": multipliers}
    check(ComRoPE(block=3), params, lambda a, h, n: multipliers[a, n] * (raw[h, n] - raw[h, n].T))


def test_comrope_partition():
    raw = RANDOM.normal(size=(2, 2, 3, 3))
    encoding = ComRoPE("partition", block=3)
    check(encoding, {"generators": raw}, lambda a, h, n: (n % 2 == a) * (raw[h, n] - raw[h, n].T))


@pytest.mark.parametrize("encoding", [LieRE(block=3), ComRoPE(block=3), ComRoPE("partition", block=3)])
def test_rows_share_positions_of_one_row(encoding):
    params = initial(encoding, DIMS)
    x = np.concatenate([X, -2 * X]).astype(np.float32)
    encode = jax.jit(lambda at: encoding.encode_queries(params, x, at, None))
    np.testing.assert_array_equal(encode(AT), encode(np.concatenate([AT, AT])))
