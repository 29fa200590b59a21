"""The share of a kernel's side lobes in a curve: planted shares come back, and nothing else does."""

import numpy as np
import pytest

from experiments.periodicity.side_lobes import side_lobes
from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.encodings import vaswani_frequencies

N = 128
K = np.arange(N)
ASKED = np.where(K == 0, N, 2.0 * (N - K))


def kernel_of(d_model):
    return kernel(vaswani_frequencies(d_model), K)


def observer(values, share):
    """A curve whose side lobes count ``share`` of the main lobe: flat at the end of the main lobe where it is 0."""
    end = lobes(values).main_lobe
    flat = np.where(end > K, values, values[end - 1])
    return 5 * (flat + share * (values - flat))


@pytest.mark.parametrize("d_model", [8, 16, 32, 64, 128, 256, 512])
def test_a_curve_that_is_the_kernel_has_the_share_one(d_model):
    values = kernel_of(d_model)
    found = side_lobes(3 * values - 7 + 0.01 * K - 0.0001 * K**2, values, ASKED)
    assert found.slope == pytest.approx(3, rel=1e-6)
    assert found.peak >= lobes(values).main_lobe
    bent = side_lobes(3 * values - 7, values, ASKED)
    assert bent.share == pytest.approx(1, rel=1e-9)
    assert bent.error == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("d_model", [8, 64])
def test_the_slope_is_that_of_a_plain_weighted_regression(d_model):
    """The oracle: all four columns at once, by the normal equations."""
    values, rng = kernel_of(d_model), np.random.default_rng(0)
    curve = rng.normal(size=N)
    beyond = lobes(values).main_lobe <= K
    columns = np.stack([np.ones(N), K, K**2, np.log1p(K), values], 1)[beyond]
    weighted = columns * ASKED[beyond, None]
    coefficients = np.linalg.solve(weighted.T @ columns, weighted.T @ curve[beyond])
    found = side_lobes(curve, values, ASKED)
    assert found.slope == pytest.approx(coefficients[4], rel=1e-8)
    rest = curve[beyond] - columns @ coefficients
    covariance = np.linalg.inv(weighted.T @ columns) * (ASKED[beyond] @ rest**2) / (beyond.sum() - 5)
    assert found.error == pytest.approx(np.sqrt(covariance[4, 4]), rel=1e-8)
    within = (K >= 1) & ~beyond
    line = np.polyfit(values[within], curve[within], 1, w=np.sqrt(ASKED[within]))
    assert found.main_slope == pytest.approx(line[0], rel=1e-8)


@pytest.mark.parametrize("d_model", [8, 16, 32, 64, 128])
def test_an_observer_without_side_lobes_has_none(d_model):
    values = kernel_of(d_model)
    shares = [side_lobes(observer(values, share), values, ASKED).share for share in (0.0, 0.25, 0.5, 1.0)]
    assert shares[-1] == pytest.approx(1, rel=1e-9)
    assert np.allclose(shares, [0.0, 0.25, 0.5, 1.0], atol=1e-9)


def test_what_falls_smoothly_with_distance_is_no_side_lobe():
    values = kernel_of(8)
    for curve in (-0.05 * K, -1e-3 * K**2, -np.log1p(K)):
        assert side_lobes(curve, values, ASKED).slope == pytest.approx(0, abs=1e-9)
    for curve in (1 / (1 + K), -np.sqrt(K), np.exp(-K / 10)):  # near what the fit has, not in it
        assert abs(side_lobes(curve, values, ASKED).share) < 0.05


def test_places_that_were_never_asked_about_are_left_out():
    values = kernel_of(8)
    curve, asked = 2 * values, ASKED.copy()
    asked[[20, 40]] = 0
    curve[20], curve[40], curve[0] = np.nan, 99.0, np.nan
    assert side_lobes(curve, values, asked).slope == pytest.approx(2)


@pytest.mark.parametrize(
    ("curve", "values", "asked", "message"),
    [
        (np.zeros(4), np.zeros(5), np.zeros(5), "must be rows of one size"),
        (np.zeros(9), np.linspace(1, 0, 9), np.ones(9), "no side lobe to look for"),
        (np.zeros(7), np.array([1, 0, 0.5, 0, 0.5, 0, 0.5]), np.r_[1, 1, 1, 1, 1, 0, 0], "6 are needed"),
    ],
)
def test_refusals(curve, values, asked, message):
    with pytest.raises(ValueError, match=message):
        side_lobes(curve, values, asked)
