import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import (
    NTK,
    Dims,
    DynamicNTK,
    Llama3,
    LongRoPE,
    PositionInterpolation,
    RoPE,
    YaRN,
    vaswani_frequencies,
)
from posenc_jax.encodings.shared.phase import fixed_point

DIMS = Dims(d_model=16, num_heads=2, num_kv_heads=2, head_dim=8, num_layers=1, max_len=16)
LONG = LongRoPE((1, 1.5, 2, 2.5), (1, 2, 4, 8), factor=4, original_length=10)
DYNAMIC = DynamicNTK(2, 10)


def rotary(base, dim):
    return np.array([base ** (-2 * k / dim) for k in range(dim // 2)])


def of_head(dim):
    return dataclasses.replace(DIMS, d_model=2 * dim, head_dim=dim)


def base_of(frequencies, dim):
    """The base with these frequencies, from the lowest."""
    return frequencies[-1] ** (-dim / (dim - 2))


def turned(x, positions, frequencies, m=1.0):
    """``x [B, H, S, D]``, plane by plane, with the frequencies of each row."""
    out = np.empty_like(x)
    for b, h, s in np.ndindex(x.shape[:3]):
        for k in range(x.shape[3] // 2):
            z = complex(*x[b, h, s, 2 * k : 2 * k + 2])
            z *= m * np.exp(1j * positions[b % len(positions)][s] * frequencies[b][k])
            out[b, h, s, 2 * k : 2 * k + 2] = z.real, z.imag
    return out


def test_frequencies_of_linear_and_ntk():
    plain = rotary(10000.0, 128)
    np.testing.assert_allclose(PositionInterpolation(4).frequencies(10000.0, 128), plain / 4, rtol=1e-14)
    found = NTK(4).frequencies(10000.0, 128)
    assert round(base_of(found, 128), 2) == 40889.94
    np.testing.assert_allclose(found, rotary(10000.0 * 4 ** (128 / 126), 128), rtol=1e-13)
    assert found[0] == 1
    np.testing.assert_allclose(found[-1], plain[-1] / 4, rtol=1e-13)


def test_dynamic_ntk_grows_with_the_length_beyond_the_original_one_only():
    scaling = DynamicNTK(2, 4096)
    for length, base in [(8192, 30527.74), (16384, 72195.86), (4096, 10000.0), (100, 10000.0)]:
        found = scaling.frequencies(10000.0, 128, length)
        assert round(base_of(found, 128), 2) == base
        assert found[0] == 1  # the highest frequency never changes
    np.testing.assert_array_equal(scaling.frequencies(10000.0, 128), vaswani_frequencies(128))


def test_llama3_keeps_blends_and_divides():
    ratio = Llama3().frequencies(5e5, 128) / vaswani_frequencies(128, 5e5)
    assert (ratio[:29] == 1).all()
    np.testing.assert_allclose(ratio[29:35], [0.82817, 0.64374, 0.49351, 0.37112, 0.27143, 0.19021], atol=5e-6)
    np.testing.assert_allclose(ratio[35:], 1 / 8, rtol=1e-14)
    assert len(ratio[35:]) == 29
    # The settings are read: Llama 3.2 has factor 32, and bounds move with them.
    np.testing.assert_allclose((Llama3(factor=32).frequencies(5e5, 128) / rotary(5e5, 128))[35:], 1 / 32, rtol=1e-14)
    for fields in ({"low_freq_factor": 2}, {"high_freq_factor": 8}, {"original_length": 4096}):
        assert (Llama3(**fields).frequencies(5e5, 128) != Llama3().frequencies(5e5, 128)).any()


def test_longrope_reads_long_factors_strictly_above_the_original_length():
    plain = rotary(10000.0, 8)
    for length, factors in [(None, LONG.short_factors), (10, LONG.short_factors), (11, LONG.long_factors)]:
        np.testing.assert_allclose(LONG.frequencies(10000.0, 8, length), plain / np.array(factors), rtol=1e-14)
    assert round(LongRoPE((1,), (1,), factor=32, original_length=4096).magnitude, 6) == 1.190238
    assert LongRoPE((1,), (1,), original_length=4096).magnitude == 1
    assert LongRoPE((1,), (1,), factor=32, original_length=4096, attention_factor=1.5).magnitude == 1.5


@pytest.mark.parametrize("scaling", [LONG, DYNAMIC], ids=["longrope", "dynamic_ntk"])
@pytest.mark.parametrize("x64", [True, False])
def test_every_row_has_the_frequencies_of_its_length(random, scaling, x64):
    x = random.normal(size=(2, 1, 4, 8))
    positions = np.array([[0, 1, 7, 10**6]])
    # In float32 a frequency traced from a length is right to 5e-7 only: compare it near the origin.
    near = np.s_[:, :, : 4 if x64 or isinstance(scaling, LongRoPE) else 3]

    def check(encode, lengths):
        if isinstance(scaling, LongRoPE):
            m = math.sqrt(1 + math.log(4) / math.log(10))
            sets = [scaling.long_factors if n > 10 else scaling.short_factors for n in lengths]
            frequencies = [rotary(10000.0, 8) / np.array(factors) for factors in sets]
        else:
            m = 1.0
            frequencies = [rotary(10000.0 * (2 * max(n, 10) / 10 - 1) ** (8 / 6), 8) for n in lengths]
        want = turned(x, positions, frequencies, m)
        got = encode(jnp.asarray(x, jnp.float64 if x64 else jnp.float32), np.array(lengths, np.int32))
        assert got.dtype == (jnp.float64 if x64 else jnp.float32)
        np.testing.assert_allclose(got[near], want[near], atol=1e-9 if x64 else 2e-5)

    encoding = RoPE(scaling=scaling)
    traced = jax.jit(lambda x, length, p: encoding.encode_keys({}, x, p, length))
    known = jax.jit(lambda x: encoding.encode_queries({}, x, positions, np.array([11])))
    with jax.enable_x64(x64):
        for lengths in ([9, 9], [10, 10], [11, 11], [10, 11], [300, 3]):  # both sides of the switch and the switch
            check(lambda x, length: traced(x, length, positions), lengths)
        check(lambda x, _: known(x), [11, 11])


def test_dynamic_ntk_in_float32_keeps_the_highest_frequency_to_the_bit_and_the_others_to_5e_8():
    scaling, lengths = DynamicNTK(2, 512), np.array([600, 3000, 50_000])
    found = jax.jit(lambda n: scaling.turns(1e4, 16, n, jnp.float32))(lengths)
    words = (np.asarray(found.high, np.uint64) << 32 | np.asarray(found.low))[:, 0]
    assert (words[:, 0] == fixed_point(np.array([1.0]))).all()
    want = np.stack([scaling.frequencies(1e4, 16, int(length)) for length in lengths])
    np.testing.assert_allclose(words * (math.tau / 2.0**64), want, rtol=0, atol=5e-8)
    np.testing.assert_allclose(found.frequencies[:, 0], want, rtol=0, atol=1e-7)


def test_dynamic_ntk_up_to_the_original_length_is_rope_to_the_bit(random):
    x = random.normal(size=(1, 2, 3, 8)).astype(np.float32)
    positions = jnp.array([[1, 10**5, 10**9]])

    def encoded(encoding):
        return jax.jit(lambda length: encoding.encode_queries({}, x, positions, length))

    for length in (1, 10):
        got = encoded(RoPE(scaling=DYNAMIC))(jnp.array([length]))
        np.testing.assert_array_equal(got, encoded(RoPE())(jnp.array([length])))


def test_the_magnitude_multiplies_cosine_and_sine(random):
    x = random.normal(size=(1, 1, 3, 8))
    scaling = YaRN(8, 64, attention_factor=1.7)
    positions = np.array([[0, 3, 50]])
    with jax.enable_x64(True):
        encoding = RoPE(scaling=scaling, rotary_dim=6)
        got = jax.jit(lambda x: encoding.encode_queries({}, x, positions, None))(x)
        np.testing.assert_allclose(got[..., :1, :6], 1.7 * x[..., :1, :6], atol=1e-12)  # at position 0
        want = turned(x[..., :6], positions, [scaling.frequencies(10000.0, 6)], 1.7)
        np.testing.assert_allclose(got[..., :6], want, atol=1e-12)
        np.testing.assert_array_equal(got[..., 6:], x[..., 6:])  # what is not rotated is not scaled


def test_a_rope_says_its_frequencies():
    for scaling in (None, PositionInterpolation(2), LONG, DYNAMIC):
        for length in (None, 5, 20):
            found = RoPE(base=100.0, scaling=scaling).frequencies_for(of_head(8), length)
            want = rotary(100.0, 8) if scaling is None else scaling.frequencies(100.0, 8, length)
            np.testing.assert_allclose(found, want, rtol=1e-14)
            assert found.dtype == np.float64
    # They are spread over the rotated dimensions.
    np.testing.assert_allclose(
        RoPE(rotary_dim=0.5, scaling=NTK(2)).frequencies_for(of_head(16))[-1], 10000.0 ** (-6 / 8) / 2
    )
