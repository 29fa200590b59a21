import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial, shapes_of
from sides import geometry_at

from posenc_jax.encodings.additive.alibi import ALiBi, alibi_slopes
from posenc_jax.encodings.interface.base import Dims, Geometry


def test_slopes_are_the_official_ones():
    root = 2**-0.5
    published = {
        1: [2**-8],
        2: [2**-4, 2**-8],
        6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
        8: [2.0**-h for h in range(1, 9)],
        12: [2.0**-h for h in range(1, 9)] + [root, root / 2, root / 4, root / 8],
    }
    for num_heads, slopes in published.items():
        np.testing.assert_allclose(alibi_slopes(num_heads), slopes, rtol=1e-15)
    np.testing.assert_allclose(alibi_slopes(12)[8:], [0.707107, 0.353553, 0.176777, 0.0883883], atol=5e-7)
    for num_heads in range(1, 130):
        assert alibi_slopes(num_heads).shape == (num_heads,)
    # The authors' recursion, for the remainder: every second slope of twice the power.
    np.testing.assert_allclose(alibi_slopes(71)[64:], alibi_slopes(128)[:14:2], rtol=1e-15)
    with pytest.raises(ValueError, match="num_heads = 0 must be at least 1"):
        alibi_slopes(0)


@pytest.mark.parametrize("num_heads", [1, 2, 6, 8, 12])
def test_another_largest_exponent_is_that_of_llm_foundry(num_heads):
    """Its ``gen_slopes``: of the next power of two every second slope, then the others."""
    power = 1
    while power < num_heads:
        power *= 2
    series = [2.0 ** -(16 * h / power) for h in range(1, power + 1)]
    want = series if power == num_heads else (series[1::2] + series[::2])[:num_heads]
    np.testing.assert_allclose(alibi_slopes(num_heads, 16.0), want, rtol=1e-12)
    bias = ALiBi(largest_exponent=16).bias({}, Geometry.of_length(4, num_heads=num_heads))
    for h in range(num_heads):
        np.testing.assert_allclose(bias[0, h, 3], [-want[h] * distance for distance in (3, 2, 1, 0)], rtol=1e-6)
    logs = initial(ALiBi(learned=True, largest_exponent=16), Dims(48, num_heads, num_heads, 4, 1, 8))["log_slopes"]
    np.testing.assert_allclose(logs, np.log(want), rtol=1e-6)


@pytest.mark.parametrize("past_offset", [0.0, 0.5])
def test_bias_is_the_formula(past_offset):
    slopes = [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]
    q_positions = np.array([[3, 7], [0, 2_000_000_000]], np.int32)
    k_positions = np.array([[0, 3, 4], [0, 1, 1_999_999_999]], np.int32)
    want = np.zeros((2, 6, 2, 3))
    for b, h, i, j in np.ndindex(want.shape):
        distance = abs(int(q_positions[b, i]) - int(k_positions[b, j]))
        want[b, h, i, j] = -slopes[h] * (distance - past_offset * (k_positions[b, j] < q_positions[b, i]))
    encoding = ALiBi(past_offset)
    with jax.enable_x64(True):
        got = encoding.bias({}, geometry_at(q_positions, k_positions, num_heads=6))
        np.testing.assert_allclose(got, want, rtol=1e-15)
    traced = jax.jit(lambda q, k: encoding.bias({}, geometry_at(q, k, num_heads=6)))(q_positions, k_positions)
    np.testing.assert_allclose(traced, want, rtol=2e-7)


@pytest.mark.parametrize("num_heads", [1, 4, 5])
def test_half_of_the_heads_of_nape_see_no_positions(num_heads):
    """get_nape_slopes of the authors' code."""
    with jax.enable_x64(True):
        bias = np.asarray(ALiBi(slopes="nape").bias({}, Geometry.of_length(6, num_heads=num_heads)))[0]
    for h, i, j in np.ndindex(num_heads, 6, 6):
        slope = 1 / (h + 1) if h < num_heads // 2 else 0
        assert bias[h, i, j] == pytest.approx(-slope * abs(i - j), abs=1e-9)
    with pytest.raises(ValueError, match=r"ALiBi.slopes = 'nape' are 1/h and 0, which largest_exponent does not"):
        ALiBi(slopes="nape", learned=True)


def test_learned_slopes_start_as_the_fixed_ones_and_stay_positive():
    dims = Dims(d_model=16, num_heads=6, num_kv_heads=6, head_dim=4, num_layers=1, max_len=16)
    positions = np.array([[0, 3, 4]], np.int32)
    geometry, learned = geometry_at(positions, positions, num_heads=6), ALiBi(learned=True)
    params = initial(learned, dims)
    assert shapes_of(ALiBi(), dims) == {}
    np.testing.assert_allclose(learned.bias(params, geometry), ALiBi().bias({}, geometry), rtol=1e-6)
    # d/d(log slope) of -slope * distance is itself, and no step makes a slope negative.
    slopes = [0.5, 3.0, 1e-4, 0.25, 7.0, 1.0]
    with jax.enable_x64(True):
        params = {"log_slopes": jnp.log(jnp.array(slopes))}
        gradient = jax.grad(lambda params: learned.bias(params, geometry).sum())(params)["log_slopes"]
        np.testing.assert_allclose(gradient, [-slope * 2 * (3 + 4 + 1) for slope in slopes], rtol=1e-12)
        moved = learned.bias({"log_slopes": params["log_slopes"] - 100 * gradient}, geometry)
        assert (moved[:, :, 0, 1:] < 0).all()
