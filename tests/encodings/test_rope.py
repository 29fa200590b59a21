import jax
import jax.numpy as jnp
import numpy as np
import pytest
from planes import turned

from posenc_jax.encodings import PRoPE, RoPE, YaRN, convert_layout, rotate, vaswani_frequencies


def paper(x, position, base, r, layout):
    """R(position) x for one vector: each plane as a complex number times exp(i p base^(-2k/r))."""
    return turned(x, [position * base ** (-2 * k / r) for k in range(r // 2)], layout)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@pytest.mark.parametrize("rotary_dim", [None, 4, 0.75])
def test_rotation_is_the_papers(random, layout, rotary_dim):
    encoding = RoPE(base=100.0, layout=layout, rotary_dim=rotary_dim)
    r = {None: 8, 4: 4, 0.75: 6}[rotary_dim]
    x = random.normal(size=(2, 3, 4, 8))
    positions = np.array([[0, 1, 2, 3], [5, 4, 1000, -7]])
    want = [
        [[paper(x[b, h, s], positions[b, s], 100.0, r, layout) for s in range(4)] for h in range(3)] for b in range(2)
    ]
    with jax.enable_x64(True):

        def both(x, positions):
            encodes = (encoding.encode_queries, encoding.encode_keys)
            return tuple(encode({}, x, positions, np.array([4])) for encode in encodes)

        for encoded in (jax.jit(lambda x: both(x, positions))(x), jax.jit(both)(x, positions)):
            for got in encoded:
                assert got.dtype == jnp.float64
                np.testing.assert_allclose(got, want, atol=1e-12)


# The rounding of float32 is 1e-6 relative to norms of 8, and does not grow with the offset.
def test_offset_invariance_at_any_offset(random):
    q, k = random.normal(size=(2, 1, 1, 64, 64)).astype(np.float32)

    @jax.jit
    def logits(offset):
        p = np.arange(64, dtype=np.int32)[None] + offset
        q_r, k_r = RoPE().encode_queries({}, q, p, np.array([64])), RoPE().encode_keys({}, k, p, np.array([64]))
        return jnp.einsum("bhqd,bhkd->qk", q_r, k_r)

    for offset in (1000, 10**5, 10**7, 2**31 - 64):
        np.testing.assert_allclose(logits(jnp.int32(offset)), logits(jnp.int32(0)), atol=2e-5)


@pytest.mark.parametrize(
    ("rotary_dim", "scaling"), [(None, None), (6, None), (None, YaRN(8, 64)), (6, PRoPE(0.5)), (None, PRoPE(0.5))]
)
def test_converted_projections_give_the_same_logits(random, rotary_dim, scaling):
    x, w_q, w_k = random.normal(size=(5, 6)), random.normal(size=(6, 2 * 8)), random.normal(size=(6, 2 * 8))
    b_q = random.normal(size=2 * 8)
    p = np.arange(5)[None] * 3
    fields = {"rotary_dim": rotary_dim, "scaling": scaling}

    def logits(encoding, w_q, b_q, w_k):
        q, k = ((x @ w + b).reshape(1, 5, 2, 8).swapaxes(1, 2) for w, b in ((w_q, b_q), (w_k, 0)))
        encode = jax.jit(lambda q, k: (encoding.encode_queries({}, q, p, None), encoding.encode_keys({}, k, p, None)))
        return np.einsum("bhqd,bhkd->bhqk", *encode(q, k))

    with jax.enable_x64(True):
        here = logits(RoPE(**fields), w_q, b_q, w_k)
        converted = [convert_layout(w, 8, "half", rotary_dim) for w in (w_q, b_q, w_k)]
        there = logits(RoPE(layout="half", **fields), *converted)
        np.testing.assert_allclose(here, there, atol=1e-10)
        wrong = logits(RoPE(layout="half", **fields), w_q, b_q, w_k)
    assert np.abs(here - wrong).max() > 0.1
    for w, other in zip((w_q, b_q, w_k), converted):
        np.testing.assert_array_equal(convert_layout(other, 8, "interleaved", rotary_dim), w)
    heads = convert_layout(w_q.reshape(6, 2, 8), 8, "half", rotary_dim)
    np.testing.assert_array_equal(heads.reshape(6, 16), converted[0])
    with pytest.raises(ValueError, match=r"shape \(16, 6\) is no multiple of head_dim = 8: it must hold whole heads"):
        convert_layout(w_q.T, 8, "half")


def test_rotate_takes_any_leading_axes_and_fractional_or_learned_angles(random):
    x = random.normal(size=(3, 8)).astype(np.float32)
    frequencies = vaswani_frequencies(8)
    want = [paper(x[s], [0.5, 3.25, -2.0][s], 10000.0, 8, "interleaved") for s in range(3)]
    np.testing.assert_allclose(rotate(x, np.array([0.5, 3.25, -2.0]), frequencies), want, atol=1e-6)
    np.testing.assert_allclose(rotate(x, jnp.array([0.5, 3.25, -2.0]), jnp.asarray(frequencies)), want, atol=1e-6)
    np.testing.assert_allclose(rotate(x[0], np.array(0.5), frequencies), want[0], atol=1e-6)
    gradient = jax.grad(lambda w: rotate(x, jnp.arange(3), w).sum())(jnp.asarray(frequencies))
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).min() > 0
