import itertools
import math

import frequency_designs as designs
import numpy as np
import pytest

from posenc_jax.encodings.frequency_designs import BEST_BASE, LENGTHS, MINIMAX


def kernel(frequencies, offset):
    return math.fsum(math.cos(offset * w) for w in frequencies) / len(frequencies)


def plain(d_model, base=10000.0):
    return [base ** (-2 * j / d_model) for j in range(d_model // 2)]


def level(frequencies, first, length):
    return max(kernel(frequencies, k) for k in range(first, length))


@pytest.mark.parametrize(("d_model", "main_lobe"), [(8, 4), (16, 4), (32, 5), (64, 6), (128, 12), (256, 25), (512, 44)])
def test_resolution_of_the_papers_frequencies(d_model, main_lobe):
    values = [kernel(plain(d_model), k) for k in range(main_lobe + 1)]
    found = designs.resolution(d_model)
    assert found.main_lobe == main_lobe
    assert found.neighbours == pytest.approx(values[1], abs=1e-14)
    assert values[main_lobe] > values[main_lobe - 1]
    assert all(a > b for a, b in itertools.pairwise(values[:main_lobe]))


def test_level_is_the_largest_value_beyond_the_main_lobe():
    frequencies = [0.3, 0.77, 1.1]
    assert designs.side_lobe_level(frequencies, 40, 5) == pytest.approx(level(frequencies, 5, 40), abs=1e-14)
    turning = [2 * math.pi / 12]  # falls until 6
    assert designs.side_lobe_level(turning, 12, 3) == pytest.approx(math.cos(math.pi / 6), abs=1e-14)
    assert designs.side_lobe_level(turning, 18, 15) == pytest.approx(0, abs=1e-14)


def test_best_base_has_no_better_one():
    stored = BEST_BASE[128, 8]
    assert designs.best_base(8, 128) == stored
    best = level(plain(8, stored), 4, 128)
    others = [level(plain(8, base), 4, 128) for base in [*range(2, 200), *range(200, 10001, 199)] if base != stored]
    assert min(others) > best


@pytest.mark.slow
def test_of_equally_good_bases_the_largest():
    chosen = designs.best_base(64, 12)
    assert level(plain(64, chosen), 6, 12) <= designs.ENOUGH < level(plain(64, chosen + 1), 6, 12)


def test_search_keeps_the_resolution_and_beats_random_sets():
    found = np.array(designs.minimax(8, 16))
    neighbours = kernel(plain(8), 1)
    assert 0 <= neighbours - kernel(found, 1) < 1e-4
    np.testing.assert_array_equal(found, np.round(found * 1e5) / 1e5)
    assert (np.diff(found) > 0.04).all()  # a quarter of sqrt(6 (1 - K(1))) / 4
    random = np.random.default_rng(1).uniform(0, 1.2, (20000, 4))
    random = random[np.cos(random).mean(axis=1) <= neighbours]
    levels = np.cos(np.arange(4, 16)[:, None, None] * random).mean(axis=2).max(axis=0)
    assert len(levels) > 5000
    assert level(found, 4, 16) < levels.min() + 1e-3


def test_search_makes_the_stored_numbers():
    units = [round(w * 1e5) for w in designs.minimax(128, 128)]
    assert np.abs(np.array(units) - [int(u) for u in MINIMAX[128, 128].split()]).max() <= 1


def test_fejer_sums_are_no_smaller_than_the_bound_takes_them():
    random = np.random.default_rng(0)
    for count, length in [(2, 9), (4, 30)]:
        frequencies = random.uniform(0, math.pi, count)
        grid = np.stack(np.meshgrid(*[2 * np.pi * np.arange(16) / 16] * count)).reshape(count, -1)
        torus = np.cos(grid).mean(axis=0)  # 16 points a turn: exact for powers below 16
        moments = designs.torus_moments(count, 8)
        for n in range(9):
            values = [(1 - abs(k) / length) * kernel(frequencies, k) ** n for k in range(1 - length, length)]
            assert moments[n] == pytest.approx((torus**n).mean(), abs=1e-14)
            assert math.fsum(values) >= length * moments[n] - 1e-12


@pytest.mark.parametrize("d_models", [(8, 16), pytest.param((64, 512), marks=pytest.mark.slow)])
def test_no_design_is_below_the_bound(d_models):
    for length in LENGTHS:
        for d_model in d_models:
            frequencies = [int(u) * 1e-5 for u in MINIMAX[length, d_model].split()]
            first = designs.resolution(d_model).main_lobe
            assert designs.lower_bound(d_model, length) < designs.side_lobe_level(frequencies, length, first)
    assert designs.lower_bound(8, 512) == pytest.approx(0.3562, abs=1e-3)
    assert designs.lower_bound(8, 128) == pytest.approx(0.1112, abs=1e-3)


def test_designs_that_cannot_be():
    for search in (designs.minimax, designs.best_base, designs.lower_bound):
        with pytest.raises(ValueError, match="d_model = 7 must be even and at least 4: a design has two"):
            search(7, 128)
        with pytest.raises(
            ValueError, match="length = 4 ends within the main lobe: for d_model = 8 it must be above 4"
        ):
            search(8, 4)
