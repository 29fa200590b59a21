"""What `experiments.periodicity.inside` measures, on planted curves, and its page against its data."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.periodicity import inside
from experiments.periodicity.along import ARMS
from posenc_jax.encodings import Learned, RoPE, Sinusoidal
from posenc_jax.encodings.interface.base import Sequence

NOISE = np.random.default_rng(0)


def test_the_curve_of_planted_attention():
    """Whatever a query adds to all its logits."""
    size, back = 12, 3
    planted = NOISE.normal(size=size)
    q, k = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    logs = planted[np.abs(k - q + back) % size][None] + NOISE.normal(size=(2, size, 1))
    curve, asked = inside.attention_curve(logs, back)
    assert asked[0] == size - back
    assert asked[2] == (size - back - 2) + (size - back), "2 before the right key, and 2 behind it, before the query"
    there = asked > 0
    np.testing.assert_allclose(curve[there], (planted - planted[0])[there], atol=1e-12)
    assert np.isnan(curve[~there]).all()


def test_rope_without_a_plane():
    q, k = NOISE.normal(size=(2, 1, 1, 5, 8)).astype(np.float32)
    positions, length = np.arange(5)[None], np.array([5])

    def logits(element, q):
        turned = element.encode_queries({}, q, positions, length)
        return np.einsum("bhqd,bhkd->bhqk", turned, element.encode_keys({}, k, positions, length))

    for plane in range(4):
        (element,) = inside.without((RoPE(base=100.0),), plane)
        assert element.base == 100.0
        alone = np.where(np.arange(8) // 2 == plane, q, 0)
        np.testing.assert_allclose(
            logits(element, q), logits(RoPE(base=100.0), q) - logits(RoPE(base=100.0), alone), atol=1e-5
        )


def test_a_sinusoid_without_a_plane():
    x = jnp.asarray(NOISE.normal(size=(1, 5, 6)), jnp.float32)
    sequence = Sequence.of_length(5)
    (element,) = inside.without((Sinusoidal(),), 1)
    whole, cut = (np.asarray(e.embed({}, x, sequence)) for e in (Sinusoidal(), element))
    np.testing.assert_allclose(cut[..., 2:4], x[..., 2:4], atol=1e-7)
    np.testing.assert_allclose(np.delete(cut, [2, 3], -1), np.delete(whole, [2, 3], -1), atol=1e-6)
    assert inside.without((Learned(),), 0) is None


def test_its_arms_are_arms():
    assert {*inside.NAMES} <= {arm.name for arm in ARMS if arm.task == "token_back"}


@pytest.mark.skipif(not inside.FILE.exists(), reason="not run yet")
def test_the_page_is_of_the_data():
    found = json.loads(inside.FILE.read_text())
    assert inside.section(found) in inside.PAGE.read_text()
    assert {*found["arms"]} == {*inside.NAMES}


def test_the_page_says_at_which_distance_a_lift_is_and_which_seed_has_none():
    found = json.loads(inside.FILE.read_text())
    text = " ".join(inside.PAGE.read_text().split())
    peaks = {size: {*inside.values(found, f"rope, head {size}", "peak").values()} for size in (8, 16, 32)}
    assert peaks == {8: {63}, 16: {6}, 32: {6}}
    assert "distance 63 for a head of 8, distance 6 for heads of 16 and 32" in text
    lowest, *others = sorted((lift, seed) for seed, lift in inside.values(found, "rope, head 8", "lift").items())
    assert f"{others[0][0]:.1f} to {others[-1][0]:.1f} in eleven seeds, {lowest[0]:.1f} in seed {lowest[1]}" in text
    assert len(others) == 11
