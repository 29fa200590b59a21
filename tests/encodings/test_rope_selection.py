import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import ClippedRoPE, HoPE, LongRoPE, PRoPE, Resonance, RoPE, YaRN, vaswani_frequencies


def test_p_rope_keeps_the_highest_frequencies_of_the_full_dimension():
    plain = vaswani_frequencies(256)
    for fraction, kept in [(0.75, 96), (0.25, 32), (1.0, 128), (0.0, 0), (0.3, 38)]:
        found = PRoPE(fraction).frequencies(10000.0, 256)
        np.testing.assert_array_equal(found[:kept], plain[:kept])
        assert (found[kept:] == 0).all()
        assert len(found) == 128
    assert (PRoPE(0.75).frequencies(10000.0, 6) > 0).sum() == 2  # rounded down


def test_p_rope_without_frequencies_is_nope():
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 8)).astype(np.float32)
    got = RoPE(scaling=PRoPE(0)).encode_keys({}, x, np.array([[3, 10**6, -5]]), None)
    np.testing.assert_array_equal(got, x)


def test_hope_keeps_what_completes_a_turn_in_the_training_length():
    plain = vaswani_frequencies(64)
    for length in (8, 512, 4096, 10**6):
        want = [w if 2 * math.pi / w <= length else 0 for w in plain]
        np.testing.assert_array_equal(HoPE(length).frequencies(10000.0, 64), want)
    assert (HoPE(512).frequencies(10000.0, 64) > 0).sum() == 16


@pytest.mark.parametrize("dim", [128, 64, 40, 8])
@pytest.mark.parametrize("planes", [2, 3, 20])
@pytest.mark.parametrize("window", ["cosine", "none"])
def test_the_lowest_frequencies_are_clipped(dim, planes, window):
    """The authors' code: its ``linspace`` over 0 .. pi, written out."""
    count = min(planes, dim // 2)
    want = list(vaswani_frequencies(dim, 5e5))
    for step in range(count):
        cosine = (1 + math.cos(math.pi * step / (count - 1))) / 2
        want[dim // 2 - count + step] *= cosine if window == "cosine" else 0
    found = ClippedRoPE(planes, window).frequencies(5e5, dim)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-20)
    assert found[-1] == 0


def test_resonance_has_whole_wavelengths():
    plain = vaswani_frequencies(64)
    found = Resonance().frequencies(10000.0, 64)
    want = [2 * math.pi / round(2 * math.pi / w) for w in plain]
    np.testing.assert_allclose(found, want, rtol=1e-15)
    assert np.abs(found / plain - 1).max() < 0.05


def test_resonance_comes_after_its_inner_scaling():
    yarn = YaRN(8, 64)
    scaling = Resonance(yarn)
    want = [2 * math.pi / round(2 * math.pi / w) for w in yarn.frequencies(10000.0, 64)]
    np.testing.assert_allclose(scaling.frequencies(10000.0, 64), want, rtol=1e-15)
    assert scaling.magnitude == yarn.magnitude > 1
    zeros = Resonance(PRoPE(0.5)).frequencies(10000.0, 8)
    np.testing.assert_allclose(zeros, [2 * math.pi / 6, 2 * math.pi / 63, 0, 0], rtol=1e-15)
    long = LongRoPE((1, 1), (1.6, 2), factor=2, original_length=10)
    for length in (10, 11):
        inner = long.frequencies(10000.0, 4, length)
        want = [2 * math.pi / round(2 * math.pi / w) for w in inner]
        np.testing.assert_allclose(Resonance(long).frequencies(10000.0, 4, length), want, rtol=1e-15)
    x = np.ones((1, 1, 1, 4), np.float32)
    got = jax.jit(lambda n: RoPE(scaling=Resonance(long)).encode_keys({}, x, np.array([[5]]), n))
    first = [math.cos(5 * 2 * math.pi / w) - math.sin(5 * 2 * math.pi / w) for w in (6, 10)]
    m = long.magnitude
    for length, want in ((10, first[0]), (11, first[1])):
        np.testing.assert_allclose(got(np.array([length]))[0, 0, 0, 0], m * want, atol=1e-6)


def test_resonance_repeats_itself_at_any_position():
    """Wavelengths 6, 63, 628 and 6283: at multiples of all of them every vector is back where it was."""
    x = np.random.default_rng(0).normal(size=(1, 1, 3, 8)).astype(np.float32)
    encode = jax.jit(lambda p: RoPE(scaling=Resonance()).encode_queries({}, x, p, None))
    near = encode(np.array([[0, 1, 5]], np.int32))
    for period, planes in ((6, 1), (126, 2), (39564, 3), (39564 * 6283 * 8, 4)):
        far = encode(np.array([[0, 1, 5]], np.int32) + np.int32(period))
        np.testing.assert_allclose(far[..., : 2 * planes], near[..., : 2 * planes], atol=2e-6)
        assert np.abs(far - near).max() > 0.001 or planes == 4
    plain = jax.jit(lambda p: RoPE().encode_queries({}, x, p, None))
    moved = np.array([[126, 127, 131]], np.int32)
    assert np.abs(plain(moved) - plain(moved - 126))[..., :4].max() > 0.1
