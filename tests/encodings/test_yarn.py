import math

import numpy as np
import pytest

from posenc_jax.encodings import NTK, NTKByParts, YaRN, parse
from posenc_jax.encodings.rotary.yarn import index_ramp, plane_of_rotations


def rotary(base, dim):
    return np.array([base ** (-2 * k / dim) for k in range(dim // 2)])


@pytest.mark.parametrize(
    ("length", "base", "low", "high"), [(2048, 1e4, 16, 41), (4096, 1e4, 20, 46), (8192, 5e5, 18, 35)]
)
def test_ramps_of_the_authors_code(length, base, low, high):
    ramp = index_ramp(32, 1, base, 128, length)
    assert ramp[low] == 0 < ramp[low + 1]
    assert ramp[high - 1] < 1 == ramp[high]
    np.testing.assert_allclose(np.diff(ramp[low : high + 1]), 1 / (high - low))
    # Without rounding the ramp lies within these planes.
    inner = index_ramp(32, 1, base, 128, length, truncate=False)
    exact = [plane_of_rotations(r, base, 128, length) for r in (32, 1)]
    assert low <= exact[0] < low + 1
    assert high - 1 < exact[1] <= high
    want = [min(max((k - exact[0]) / (exact[1] - exact[0]), 0), 1) for k in range(64)]
    np.testing.assert_allclose(inner, want, atol=1e-14)


def test_frequencies_of_yarn():
    ratio = YaRN(8, 4096).frequencies(1e4, 128) / rotary(1e4, 128)
    want = [1, 0.899038, 0.764423, 0.629808, 0.495192, 0.360577, 0.225962, 0.125]
    np.testing.assert_allclose(ratio[19:48:4], want, atol=5e-7)
    # The length that counts is the original one; positions are not divided as well.
    assert (YaRN(8, 8192).frequencies(1e4, 128) != YaRN(8, 4096).frequencies(1e4, 128)).any()
    assert ratio.max() == 1
    assert math.isclose(ratio.min(), 1 / 8)
    other = YaRN(8, 4096, beta_fast=16, beta_slow=2).frequencies(1e4, 128)
    low, high = (plane_of_rotations(r, 1e4, 128, 4096) for r in (16, 2))
    want = [min(max((k - math.floor(low)) / (math.ceil(high) - math.floor(low)), 0), 1) for k in range(64)]
    np.testing.assert_allclose(other / rotary(1e4, 128), 1 - np.array(want) * 7 / 8, atol=1e-12)
    assert (YaRN(8, 4096, truncate=False).frequencies(1e4, 128) != YaRN(8, 4096).frequencies(1e4, 128)).any()


def test_the_papers_ramp_is_linear_in_rotations():
    plain = rotary(1e4, 128)
    want = []
    for theta in plain:
        rotations = 4096 * theta / (2 * math.pi)
        kept = 0 if rotations < 1 else 1 if rotations > 32 else (rotations - 1) / 31
        want.append((1 - kept) * theta / 8 + kept * theta)
    found = YaRN(8, 4096, ramp_space="rotations").frequencies(1e4, 128)
    np.testing.assert_allclose(found, want, rtol=1e-13)
    np.testing.assert_allclose(NTKByParts(8, 4096).frequencies(1e4, 128), want, rtol=1e-13)
    assert NTKByParts(8, 4096).magnitude == 1
    code = YaRN(8, 4096).frequencies(1e4, 128)
    assert round(np.abs(found / code - 1).max(), 2) == 0.57


def test_frequencies_mixed_in_logarithms():
    """yarn_log of Grok1ScalingRotaryEmbedding in vLLM, which multiplies nothing by its magnitude."""
    plain, want = rotary(1e4, 128), []
    low, high = (plane_of_rotations(r, 1e4, 128, 4096) for r in (32, 1))
    for k, theta in enumerate(plain):
        kept = 1 - min(max((k - math.floor(low)) / (math.ceil(high) - math.floor(low)), 0), 1)
        want.append(math.exp(kept * math.log(theta) + (1 - kept) * math.log(theta / 8)))
    np.testing.assert_allclose(YaRN(8, 4096, mix="log").frequencies(1e4, 128), want, rtol=1e-12)
    rows = {method.name: parse(method.spec)[0].scaling for method in YaRN.methods}
    assert rows["YaRN in logarithms (Grok)"].mix == "log"
    assert rows["YaRN in logarithms (Grok)"].magnitude == 1
    # TeleChat3RoPEScaledRotaryEmbedding.
    assert rows["YaRN with a smaller magnitude (TeleChat3)"].magnitude == 0.07 * math.log(4) + 1


def test_magnitudes():
    assert [round(YaRN(s, 4096).magnitude, 6) for s in (4, 8, 16, 32)] == [1.138629, 1.207944, 1.277259, 1.346574]
    assert YaRN(1, 4096).magnitude == 1
    assert YaRN(8, 4096, attention_factor=1.5).magnitude == 1.5
    assert YaRN(40, 4096, mscale=1, mscale_all_dim=1).magnitude == 1  # DeepSeek-V3
    found = YaRN(40, 4096, mscale=0.707, mscale_all_dim=0.5).magnitude
    np.testing.assert_allclose(found, (0.0707 * math.log(40) + 1) / (0.05 * math.log(40) + 1), rtol=1e-14)
    assert YaRN(8, 4096, mscale=1, mscale_all_dim=0).magnitude == YaRN(8, 4096).magnitude


def test_by_parts_in_the_authors_code():
    d, base, length, s = 128, 1e4, 4096, 8
    plain, middle = rotary(base, d), rotary(base * s ** (d / (d - 2)), d)

    def ramp(k, fast, slow):
        place = [d * math.log(length / (2 * math.pi * r)) / (2 * math.log(base)) for r in (fast, slow)]
        low, high = max(math.floor(place[0]), 0), min(math.ceil(place[1]), d - 1)
        return min(max((k - low) / (high - low), 0), 1)

    want = []
    for k in range(d // 2):
        slow = ramp(k, 1.25, 0.75) * plain[k] / s + (1 - ramp(k, 1.25, 0.75)) * middle[k]
        want.append(ramp(k, 16, 2) * slow + (1 - ramp(k, 16, 2)) * plain[k])
    found = NTKByParts(s, length, form="code").frequencies(base, d)
    np.testing.assert_allclose(found, want, rtol=1e-13)
    np.testing.assert_allclose(found[[0, -1]], [1, plain[-1] / 8])
    assert not np.allclose(found, NTK(s).frequencies(base, d))


def authors_ramp(fast, slow, base, dim, length, truncate=True):
    """`_yarn_find_correction_range` and `_yarn_linear_ramp_mask` of the authors, in plain Python."""
    low, high = (dim * math.log(length / (r * 2 * math.pi)) / (2 * math.log(base)) for r in (fast, slow))
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    return [min(max((k - low) / (high - low), 0), 1) for k in range(dim // 2)]


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("base", [1e4, 2.0])
@pytest.mark.parametrize("length", [2, 8, 30, 200, 4096, 10**6])
@pytest.mark.parametrize(("fast", "slow"), [(32, 1), (32, 2), (4, 2)])
def test_the_ramp_is_the_authors_wherever_its_ends_lie(fast, slow, length, base, truncate):
    want = authors_ramp(fast, slow, base, 64, length, truncate)
    np.testing.assert_allclose(index_ramp(fast, slow, base, 64, length, truncate), want, atol=1e-12)


def test_ends_of_the_ramp_that_cross_turn_the_papers_rule_round():
    fields = {"factor": 4, "original_length": 8, "beta_fast": 32, "beta_slow": 2}
    plain = rotary(1e4, 64)
    np.testing.assert_allclose(YaRN(**fields).frequencies(1e4, 64), plain, rtol=1e-14)
    np.testing.assert_allclose(YaRN(**fields, ramp_space="rotations").frequencies(1e4, 64), plain / 4, rtol=1e-14)
    np.testing.assert_allclose(YaRN(4, 10**6).frequencies(2.0, 64), rotary(2.0, 64) / 4, rtol=1e-14)
