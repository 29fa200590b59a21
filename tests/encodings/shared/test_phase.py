"""Phases against exact decimal arithmetic, with pi from its published digits."""

import decimal
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings.shared.phase import (
    fixed_point,
    sincos,
    sincos_of_turns,
    tensor2tensor_frequencies,
    turns,
    vaswani_frequencies,
)

PI = "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
FREQUENCIES = np.concatenate([vaswani_frequencies(32), [-0.3, 7.5, 123456.789, -1e15, 2 * math.pi, 1e-30, 0.0]])
EDGES = [0, 1, -1, 2**31 - 1, -(2**31), -(2**31) + 1, 2**30, 65535, 65536, -65536, -65537]
POSITIONS = np.concatenate([EDGES, np.random.default_rng(0).integers(-(2**31), 2**31, 200)]).astype(np.int32)


def exact(positions, frequencies=FREQUENCIES):
    """Sine and cosine of the exactly reduced angle, float64."""
    with decimal.localcontext(prec=150) as context:
        tau = 2 * decimal.Decimal(PI)
        angles = [
            [float(context.remainder(decimal.Decimal(p) * decimal.Decimal(w), tau)) for w in frequencies.tolist()]
            for p in np.asarray(positions).tolist()
        ]
    return np.sin(angles), np.cos(angles)


def worst(got, positions, frequencies=FREQUENCIES):
    return max(np.abs(np.asarray(g, np.float64) - e).max() for g, e in zip(got, exact(positions, frequencies)))


def test_integer_positions_are_exact_on_the_host():
    sin, cos = sincos(POSITIONS, FREQUENCIES, np.float64)
    assert isinstance(sin, np.ndarray)
    assert sin.dtype == np.float64
    assert worst((sin, cos), POSITIONS) < 1e-9
    small = np.arange(-4096, 4096, 7)
    assert worst(sincos(small, FREQUENCIES, np.float64), small) < 3e-15
    assert sincos(POSITIONS, FREQUENCIES, jnp.bfloat16)[0].dtype == jnp.bfloat16


def test_traced_integer_positions_are_right_at_every_int32_position():
    got = jax.jit(lambda p: sincos(p, FREQUENCIES))(jnp.asarray(POSITIONS))
    assert got[0].dtype == jnp.float32
    assert worst(got, POSITIONS) < 2e-7
    with jax.enable_x64(True):
        got = jax.jit(lambda p: sincos(p, FREQUENCIES, jnp.float64))(jnp.asarray(POSITIONS))
        assert got[0].dtype == jnp.float64
        assert worst(got, POSITIONS) < 1e-9


def test_every_integer_type_and_shape():
    traced = jax.jit(lambda p: sincos(p, FREQUENCIES))
    for dtype, positions in [(np.int8, [-128, 0, 127]), (np.uint8, [255, 3]), (np.uint32, [2**32 - 1, 2**31, 5])]:
        got = traced(np.array(positions, dtype))
        assert worst(got, positions) < 2e-7
    with jax.enable_x64(True):
        far = np.array([2**35 + 1, -(2**36), 2**31], np.int64)
        assert worst(traced(far), far) < 2e-7
        assert worst(jax.jit(lambda p: sincos(p, FREQUENCIES, jnp.float64))(far), far) < 2e-8
    assert worst(sincos(np.array([2**35 + 1]), FREQUENCIES, np.float64), [2**35 + 1]) < 2e-8
    for p in (np.int32(-7), jnp.int32(-7)):
        assert worst([s[None] for s in sincos(p, FREQUENCIES)], [-7]) < 2e-7
    grid = np.arange(6).reshape(1, 2, 3)
    assert jax.eval_shape(traced, grid)[0].shape == (1, 2, 3, len(FREQUENCIES))


def test_fractional_positions():
    frequencies = vaswani_frequencies(32)
    positions = np.array([0.25, -0.25, 1000.5, -7777.125, 1e6 + 0.125, -(2.0**22) - 0.5, 3.0], np.float32)
    bound = 2.0**-65 * 2**22 * math.tau + 1e-14  # of the fixed point at the largest position here
    assert worst(sincos(positions, frequencies, np.float64), positions, frequencies) < bound
    assert worst(jax.jit(lambda p: sincos(p, frequencies))(jnp.asarray(positions)), positions, frequencies) < 3e-7
    with jax.enable_x64(True):
        got = jax.jit(lambda p: sincos(p, frequencies, jnp.float64))(positions.astype(np.float64))
        assert worst(got, positions, frequencies) < bound
    half = jnp.asarray([200.5], jnp.bfloat16)  # the position itself is rounded to 200; angles are not
    assert worst(jax.jit(lambda p: sincos(p, frequencies))(half), np.asarray(half, np.float64), frequencies) < 3e-7
    slope = jax.jit(jax.grad(lambda p: sincos(p, frequencies)[0][3]))(1e6 + 0.125)
    np.testing.assert_allclose(slope, frequencies[3] * exact([1e6 + 0.125], frequencies)[1][0, 3], rtol=1e-5)
    assert np.isnan(sincos(np.array([np.nan]), frequencies)[0]).all()


def test_angles_are_never_computed_in_bfloat16():
    positions = np.arange(3000, 4000)
    in_bfloat16 = functools.partial(sincos, frequencies=FREQUENCIES, dtype=jnp.bfloat16)
    for sin, cos in (in_bfloat16(positions), jax.jit(in_bfloat16)(positions)):
        assert sin.dtype == cos.dtype == jnp.bfloat16
        assert worst((sin, cos), positions) < 2**-8  # one rounding of a value up to 1


def test_learned_frequencies_are_a_plain_product_with_gradients():
    w = jnp.asarray([0.5, 2.0])
    positions = jnp.arange(3)[None]
    assert sincos(positions, w, jnp.bfloat16)[0].dtype == jnp.bfloat16
    sin, _ = sincos(np.arange(3)[None], w)
    np.testing.assert_allclose(sin[0], np.sin(np.outer(np.arange(3), [0.5, 2.0])), atol=1e-6)
    gradient = jax.grad(lambda w: sincos(positions, w)[1].sum())(w)
    np.testing.assert_allclose(gradient, [-sum(p * math.sin(p * f) for p in range(3)) for f in (0.5, 2.0)], rtol=1e-5)


@pytest.mark.parametrize("x64", [False, True])
def test_frequencies_made_while_the_program_runs_have_exact_phases(x64):
    frequencies = np.concatenate([vaswani_frequencies(16), [0.0, 7.5]])
    positions = np.array([[0, 1, -1, 2**31 - 1], [5, -(2**31), 65537, 10**9]], np.int32)
    by_row = np.stack([frequencies, frequencies / 3])

    @jax.jit
    def traced(p, w):
        made = turns(w[:, None])  # one set of frequencies for each row
        return made, sincos_of_turns(p, made, w.dtype)

    with jax.enable_x64(x64):
        (high, low, _), (sin, cos) = traced(positions, by_row.astype(np.float64 if x64 else np.float32))
        assert sin.dtype == cos.dtype == (jnp.float64 if x64 else jnp.float32)
    words = [[int(h) << 32 | int(w) for h, w in zip(*pair)] for pair in zip(high[:, 0], low[:, 0])]
    want = [[w % 2**64 for w in row] for row in [fixed_point(row).tolist() for row in by_row]]
    np.testing.assert_allclose(np.array(words) / 2.0**64, np.array(want) / 2.0**64, rtol=1e-15 if x64 else 2.5e-7)
    for row, place in np.ndindex(positions.shape):
        turned = [int(positions[row, place]) * w % 2**64 / 2**64 for w in words[row]]
        np.testing.assert_allclose(sin[row, place], np.sin(2 * np.pi * np.array(turned)), atol=1e-9 if x64 else 3e-7)
        np.testing.assert_allclose(cos[row, place], np.cos(2 * np.pi * np.array(turned)), atol=1e-9 if x64 else 3e-7)


def test_fixed_point_rounds_to_the_nearest_and_wraps():
    with decimal.localcontext(prec=150):
        turn = decimal.Decimal(2**64) / (2 * decimal.Decimal(PI))
        want = [int((decimal.Decimal(w) * turn).to_integral_value()) % 2**64 for w in FREQUENCIES.tolist()]
    assert fixed_point(FREQUENCIES).tolist() == want
    with pytest.raises(ValueError, match=r"inf.*must be finite: use 0 for a component that does not turn"):
        fixed_point(np.array([1.0, np.inf]))


def test_frequencies():
    np.testing.assert_allclose(vaswani_frequencies(6, 64.0), [1, 1 / 4, 1 / 16], rtol=1e-15)
    np.testing.assert_allclose(vaswani_frequencies(3, 8.0), [1, 8 ** (-2 / 3)], rtol=1e-15)
    np.testing.assert_allclose(tensor2tensor_frequencies(6, 1.0, 100.0), [1, 0.1, 0.01], rtol=1e-15)
    # A minimum timescale divides (tensor2tensor multiplies by it): the wavelengths run from 2 pi min to 2 pi max.
    np.testing.assert_allclose(tensor2tensor_frequencies(6, 4.0, 400.0), [1 / 4, 1 / 40, 1 / 400], rtol=1e-15)
    for dim in (2, 3):  # a single frequency, where others divide by zero
        assert tensor2tensor_frequencies(dim).tolist() == [1.0]
    assert vaswani_frequencies(0).size == tensor2tensor_frequencies(0).size == 0
