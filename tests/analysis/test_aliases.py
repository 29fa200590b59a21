"""The search for aliases, against scans of all offsets in plain loops."""

import math

import numpy as np
import pytest

from posenc_jax.analysis import aliases
from posenc_jax.analysis.aliases import first_alias, near_aliases, returns
from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.encodings import Resonance, tensor2tensor_frequencies, vaswani_frequencies


def _scan(frequencies, max_offset):
    """All local maxima: offset and similarity."""
    cos, count = math.cos, len(frequencies)
    values = [sum([cos(k * w) for w in frequencies]) / count for k in range(max_offset + 3)]
    tops = []
    for k in range(1, max_offset + 1):
        if values[k] - values[k - 1] > 1e-10:
            ahead = values[k + 1] if abs(values[k + 1] - values[k]) > 1e-10 else values[k + 2]
            if ahead < values[k]:
                tops.append((k, values[k]))
    return tops


@pytest.mark.parametrize(
    ("frequencies", "max_offset", "levels"),
    [
        pytest.param(vaswani_frequencies(4), 200000, (0.999, 0.9, 0.3), marks=pytest.mark.slow),
        (vaswani_frequencies(8), 200000, (0.99, 0.95, 0.6)),
        pytest.param(vaswani_frequencies(8, 100.0), 200000, (0.99, 0.8), marks=pytest.mark.slow),
        pytest.param(vaswani_frequencies(8, 1e6), 200000, (0.99, 0.8), marks=pytest.mark.slow),
        pytest.param(vaswani_frequencies(16), 200000, (0.9, 0.7), marks=pytest.mark.slow),
        pytest.param(vaswani_frequencies(32, 1e5), 100000, (0.8, 0.5, -1.0), marks=pytest.mark.slow),
        pytest.param(tensor2tensor_frequencies(8), 200000, (0.99, 0.8), marks=pytest.mark.slow),
        (Resonance().frequencies(10000.0, 4), 200000, (1.0, 0.99, 0.2)),
        (np.array([math.pi, 0.0, 2 * math.pi / 12]), 2000, (1.0, 0.5)),
        pytest.param(np.array([1.0, (1 + 5**0.5) / 2, 2**0.5, 3.5]), 200000, (0.95, 0.5), marks=pytest.mark.slow),
    ],
    ids=lambda value: f"{len(value)} frequencies" if isinstance(value, np.ndarray) else str(value),
)
def test_the_search_finds_what_a_scan_finds(frequencies, max_offset, levels):
    tops = _scan(frequencies.tolist(), max_offset)
    for level in levels:
        found = near_aliases(frequencies, max_offset, level)
        expected = [(k, v) for k, v in tops if v >= level - 1e-10]
        assert [k for k, _ in found] == [k for k, _ in expected]
        np.testing.assert_allclose([v for _, v in found], [v for _, v in expected], rtol=0, atol=1e-9)
        assert first_alias(frequencies, max_offset, level) == (found[0] if found else None)
    assert len(found) > 5
    assert near_aliases(frequencies, max_offset, -1.0)[0].offset >= lobes(kernel(frequencies, np.arange(999))).main_lobe


def test_pieces_that_do_not_fit_at_once_lose_nothing(monkeypatch):
    frequencies = vaswani_frequencies(8)
    expected = near_aliases(frequencies, 10**5, 0.9)
    monkeypatch.setattr(aliases, "_AT_ONCE", 7)
    assert near_aliases(frequencies, 10**5, 0.9) == expected


def test_a_thousand_million_offsets_without_looking_at_them():
    found = near_aliases(vaswani_frequencies(16), 10**9, 0.99)
    assert [k for k, _ in found][:2] == [144111138, 199943523]
    assert len(found) == 8
    for k, similarity in found:  # whatever was found is one
        around = kernel(vaswani_frequencies(16), np.array([k - 1, k, k + 1]))
        assert similarity == around[1] == around.max() >= 0.99
    # An exact alias of Resonance is the least common multiple of the wavelengths 6, 63, 628 and 6283.
    first = first_alias(Resonance().frequencies(10000.0, 8), 10**9, 1.0)
    assert first == (math.lcm(6, 63, 628, 6283), pytest.approx(1.0, abs=1e-15))


@pytest.mark.parametrize("frequency", [1.0, 0.1, 0.01, 5.9, math.pi, 2 * math.pi / 6, 7.5, 0.0])
def test_returns_are_the_offsets_that_come_nearest(frequency):
    expected, best = [], math.inf
    for k in range(1, 3001):
        turns = round(k * frequency / math.tau)
        miss = k * frequency - turns * math.tau
        if abs(miss) < best - 1e-9:
            expected.append((k, turns, miss))
            best = abs(miss)
    found = returns(frequency, 3000)
    assert [r[:2] for r in found][: len(expected)] == [e[:2] for e in expected]
    assert all(abs(r.miss) < 1e-9 for r in found[len(expected) :])  # of what float64 leaves of whole wavelengths
    np.testing.assert_allclose([r.miss for r in found][: len(expected)], [e[2] for e in expected], rtol=0, atol=1e-9)


def test_why_63():
    assert [r.offset for r in returns(0.1, 100)] == [1, 62, 63]
    assert returns(0.1, 100)[-1].miss == pytest.approx(6.3 - 2 * math.pi)
    assert 63 - 20 * math.pi == pytest.approx(10 * returns(0.1, 100)[-1].miss)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((vaswani_frequencies(8), 0, 0.9), "max_offset = 0 must lie in 1 .. "),
        ((vaswani_frequencies(8), 2**41, 0.9), "must lie in 1 .. 1099511627776"),
        ((vaswani_frequencies(8), 100, 1.5), "level = 1.5 must be at most 1.*0.9 finds close ones"),
        ((vaswani_frequencies(8), 100, math.nan), "level = nan must be at most 1"),
        ((np.array([]), 100, 0.9), "one row of finite numbers"),
        ((vaswani_frequencies(8), 10**12, 0.1), "more than 2e.08 steps: raise the level or lower the offset"),
    ],
)
def test_what_cannot_be_searched(arguments, message):
    with pytest.raises(ValueError, match=message):
        near_aliases(*arguments)
