"""Masks of dropout are those of `jax.random.bernoulli`, to the bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.models import randomness
from posenc_jax.models.randomness import bernoulli


def program(draw, key, p=0.9, shape=(5, 3)):
    return jax.jit(lambda key: draw(key, p, shape)).lower(key).as_text()


@pytest.mark.parametrize("shape", [(7,), (5, 3), (2, 3, 1, 65)], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.9, 1 - 1e-7, 1.0, 0.0])
def test_masks_are_those_of_jax(p, shape):
    keys = jax.random.split(jax.random.key(3, impl="threefry2x32"), 4)
    draw = lambda of: jax.jit(jax.vmap(lambda key: of(key, p, shape)))(keys)  # noqa: E731
    np.testing.assert_array_equal(draw(bernoulli), draw(jax.random.bernoulli))


def test_a_mask_at_the_threshold_is_that_of_jax():
    """Rates at and beside a number that is drawn."""
    key = jax.random.key(0, impl="threefry2x32")
    for drawn in np.asarray(jax.random.uniform(key, (3,))):
        for p in (drawn, np.nextafter(drawn, np.float32(0)), np.nextafter(drawn, np.float32(1))):
            np.testing.assert_array_equal(bernoulli(key, float(p), (3,)), jax.random.bernoulli(key, float(p), (3,)))


def test_no_loop_over_rounds_is_left():
    key = jax.random.key(0, impl="threefry2x32")
    assert "threefry2x32" in program(jax.random.bernoulli, key)
    assert "threefry2x32" not in program(bernoulli, key)


@pytest.mark.parametrize("which", ["other keys", "other device", "another order", "wide", "nothing"])
def test_all_else_is_drawn_by_jax(monkeypatch, which):
    key = jax.random.key(0, impl="rbg" if which == "other keys" else "threefry2x32")
    shape = (0, 3) if which == "nothing" else (5, 3)
    if which == "other device":
        monkeypatch.setattr(randomness, "backend", lambda: "gpu")
    with jax.threefry_partitionable(which != "another order"), jax.enable_x64(which == "wide"):
        assert program(bernoulli, key, shape=shape) == program(jax.random.bernoulli, key, shape=shape)
        assert bernoulli(key, 0.5, shape).dtype == jnp.bool_
