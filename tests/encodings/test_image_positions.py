import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import ImagePositions, Sequence

CELLS = np.array([[[0, 0], [0, 3], [2, 1], [3, 5]]], np.int32)
TOKENS = Sequence(CELLS, np.array([4]))


def mapped(encoding, tokens=TOKENS, key=None, train=False):
    return np.asarray(encoding.map_positions(tokens, key=key, train=train))


@pytest.mark.parametrize(
    ("to", "rule"),
    [
        ("centres", lambda p, n, other: 2 * (p + 0.5) / n - 1),
        ("corners", lambda p, n, other: np.linspace(-1, 1, n)[p]),
        ("aspect", lambda p, n, other: np.linspace(-math.sqrt(n / other), math.sqrt(n / other), n)[p]),
        ("unit", lambda p, n, other: np.linspace(0, 1, n)[p]),
        ("turn", lambda p, n, other: (p + 1) / (n + 1e-6) * 2 * math.pi),
    ],
)
def test_each_scale(to, rule):
    want = [[[rule(y, 4, 6), rule(x, 6, 4)] for y, x in CELLS[0]]]
    encoding = ImagePositions((4, 6), to)
    np.testing.assert_allclose(mapped(encoding), want, rtol=1e-12)
    traced = jax.jit(lambda p: encoding.map_positions(Sequence(p, np.array([4])), key=None, train=False))(CELLS)
    assert traced.dtype == np.float32
    np.testing.assert_allclose(traced, want, rtol=2e-6, atol=1e-6)
    assert np.max(want) < encoding.mapped_max_len(6) <= 11


def test_training_shifts_and_scales_all_cells_alike():
    plain = mapped(ImagePositions((4, 6)))
    key = jax.random.key(0)
    moved = mapped(ImagePositions((4, 6), shift=0.2), key=key, train=True) - plain
    np.testing.assert_allclose(moved, np.broadcast_to(moved[:, :1], moved.shape), atol=1e-6)
    assert (abs(moved) <= 0.2).all()
    assert moved[0, 0, 0] != moved[0, 0, 1]
    scaled = mapped(ImagePositions((4, 6), rescale=2), key=key, train=True) / plain
    np.testing.assert_allclose(scaled, scaled[0, 0, 0], rtol=1e-5)
    assert 0.5 <= scaled[0, 0, 0] <= 2
    by_axis = mapped(ImagePositions((4, 6), jitter=3), key=key, train=True) / plain
    np.testing.assert_allclose(by_axis, np.broadcast_to(by_axis[:, :1], by_axis.shape), rtol=1e-5)
    assert (by_axis >= 1 / 3).all()
    assert (by_axis <= 3).all()
    assert abs(by_axis[0, 0, 0] - by_axis[0, 0, 1]) > 1e-3
    together = mapped(ImagePositions((4, 6), shift=0.2, jitter=3, rescale=2), key=key, train=True)
    np.testing.assert_allclose(together, (plain + moved) * by_axis * scaled[0, 0, 0], rtol=1e-5)


def test_training_stays_below_the_length_that_it_says():
    """Shifted first and scaled then, as the paper has it."""
    encoding = ImagePositions((4, 6), shift=2, jitter=3, rescale=2)
    largest = max(mapped(encoding, key=jax.random.key(seed), train=True).max() for seed in range(300))
    assert 9 < largest < encoding.mapped_max_len(6) == 24  # of cell 5 of 4: (1.75 + 2) 6, rounded up, and one


def test_evaluation_draws_nothing():
    np.testing.assert_array_equal(mapped(ImagePositions((4, 6), rescale=2)), mapped(ImagePositions((4, 6))))
    assert ImagePositions((4, 6), rescale=2).random
    assert not ImagePositions((4, 6)).random
