import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Dims, Grid, ImagePositions, Sequence, SinusoidalAxes, map_slot, sinusoidal_axes


def dims(d_model):
    return Dims(d_model, num_heads=1, num_kv_heads=1, head_dim=d_model, num_layers=1, max_len=64)


def oracle(position, dim):
    axes = len(position)
    channels = math.ceil(dim / (2 * axes)) * 2
    row = []
    for p in position:
        for k in range(channels // 2):
            angle = p * 10000.0 ** (-2 * k / channels)
            row += [math.sin(angle), math.cos(angle)]
    return row[:dim]


@pytest.mark.parametrize(("axes", "dim"), [(2, 8), (2, 7), (3, 11), (3, 32)])
def test_agrees_with_the_formula(axes, dim):
    positions = np.random.default_rng(0).integers(-5, 1000, (2, 3, axes))
    want = np.array([[oracle(p, dim) for p in row] for row in positions])
    np.testing.assert_allclose(sinusoidal_axes(positions, dim, dtype=np.float64), want, atol=1e-9)
    with jax.enable_x64(True):
        got = jax.jit(lambda p: sinusoidal_axes(p, dim, dtype=jnp.float64))(positions)
        np.testing.assert_allclose(got, want, atol=1e-9)
    traced = jax.jit(lambda p: sinusoidal_axes(p, dim))(positions.astype(np.int32))
    assert traced.dtype == jnp.float32
    np.testing.assert_allclose(traced, want, atol=1e-6)


def mae(y, x, dim):
    """Of MAE's code: the grid's first array has the columns; base^(-k/(dim/4)), all sines, then all cosines."""
    omega = 1.0 / 10000 ** (np.arange(dim // 4) / (dim / 4.0))
    return np.concatenate([f(p * omega) for p in (x, y) for f in (np.sin, np.cos)])


def simple_vit(y, x, dim):
    """Of Big Vision's ``posemb_sincos_2d``."""
    omega = 1.0 / 10000 ** (np.arange(dim // 4) / (dim // 4 - 1))
    return np.concatenate([np.sin(x * omega), np.cos(x * omega), np.sin(y * omega), np.cos(y * omega)])


@pytest.mark.parametrize(("frequencies", "rule"), [("vaswani", mae), ("tensor2tensor", simple_vit)])
def test_forms_of_vision_libraries(frequencies, rule):
    encoding = SinusoidalAxes(frequencies=frequencies, layout="half", last_first=True)
    _, seen = map_slot((Grid(width=4), encoding), Sequence.of_length(12))
    with jax.enable_x64(True):
        got = np.asarray(encoding.embed({}, np.zeros((1, 12, 16)), seen))
    want = [rule(t // 4, t % 4, 16) for t in range(12)]
    np.testing.assert_allclose(got[0], want, atol=1e-9)
    assert len(encoding.frequencies_for(dims(16))) == 8


def test_detr_spans_a_turn():
    """Its code: cumulative sums from 1, divided by the last one and 1e-6, times 2 pi; rows, then columns."""
    slot = (Grid(width=4), ImagePositions((3, 4), "turn"), SinusoidalAxes())
    *_, seen = map_slot(slot, Sequence.of_length(12))
    with jax.enable_x64(True):
        got = np.asarray(SinusoidalAxes().embed({}, np.zeros((1, 12, 16)), seen))
    for t in range(12):
        want = []
        for p, n in ((t // 4, 3), (t % 4, 4)):
            embedded = (p + 1) / (n + 1e-6) * 2 * np.pi / 10000 ** (2 * (np.arange(8) // 2) / 8)
            want += np.stack([np.sin(embedded[0::2]), np.cos(embedded[1::2])], axis=1).ravel().tolist()
        np.testing.assert_allclose(got[0, t], want, atol=1e-9)
