"""Random streams: no two of them, no two seeds and no two steps share a key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.training.streams import STREAMS, at_step, stream


def test_no_two_streams_of_a_thousand_seeds_share_a_key():
    seeds = jnp.arange(1000)
    keys = [jax.random.key_data(jax.vmap(lambda s, n=name: stream(s, n))(seeds)) for name in STREAMS]
    keys += [jax.random.key_data(jax.vmap(lambda s, n=name: at_step(s, n, 7))(seeds)) for name in STREAMS]
    assert len(np.unique(np.concatenate(keys), axis=0)) == 2 * len(STREAMS) * 1000


def test_no_two_steps_share_a_key():
    keys = jax.random.key_data(jax.vmap(lambda t: at_step(3, "dropout", t))(jnp.arange(10_000)))
    assert len(np.unique(keys, axis=0)) == 10_000


def test_streams_are_threefry_and_stay_what_they_are():
    """Every result depends on these numbers."""
    key = at_step(0, "data", 5)
    assert jax.random.key_impl(key) == "threefry2x32"
    with jax.default_prng_impl("rbg"):
        assert jax.random.key_impl(stream(0, "data")) == "threefry2x32"
    expected = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), 2), 5)
    np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(expected))
    assert " ".join(STREAMS[:8]) == ("model posenc data dropout positions validation evaluation evaluation_positions")
