import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import PoPE, attend
from posenc_jax.encodings.rotary.pope import clipped_phase


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_logits_are_the_papers(random, kv_heads):
    """Equation 6 with the phase clipped to [-2 pi, 0]; the scale is that of the D components before encoding."""
    d, delta = 6, random.uniform(-8, 2, (4, 6))
    assert delta.min() < -2 * math.pi < 0 < delta.max()
    q, k = random.normal(size=(1, 4, 3, d)), random.normal(size=(1, kv_heads, 3, d))
    v = np.eye(3)[None, None].repeat(kv_heads, axis=1)  # outputs are the weights
    positions = np.array([[0, 3, 1000]], np.int32)
    want = np.zeros((4, 3, 3))
    for h, i, j, c in np.ndindex(4, 3, 3, d):
        phase = min(max(delta[h, c], -2 * math.pi), 0)
        size = np.log1p(np.exp(q[0, h, i, c])) * np.log1p(np.exp(k[0, h * kv_heads // 4, j, c]))
        angle = (positions[0, j] - positions[0, i]) * 10000.0 ** (-c / d) + phase
        want[h, i, j] += size * math.cos(angle) / math.sqrt(d)
    want = np.exp(want - want.max(axis=-1, keepdims=True))
    want /= want.sum(axis=-1, keepdims=True)
    with jax.enable_x64(True):
        geometry = geometry_at(positions, positions, num_heads=4)
        # Values of three dimensions under queries of six: attention takes its scale from the queries.
        program = jax.jit(lambda p, *qkv: attend(*qkv, (PoPE(),), p, geometry))
        np.testing.assert_allclose(program(({"delta": delta},), q, k, v)[0], want, atol=1e-9)


def test_the_phase_learns_from_where_it_starts():
    """Zero is the end of the interval: a gradient of 0 or 1/2 there would be the clip's, not the model's."""
    phases = jnp.array([-7.0, -2 * math.pi, -1.0, 0.0, 0.1])
    np.testing.assert_allclose(clipped_phase(phases), [-2 * math.pi, -2 * math.pi, -1, 0, 0], rtol=1e-6)
    np.testing.assert_array_equal(jax.grad(lambda p: clipped_phase(p).sum())(phases), [0, 1, 1, 1, 0])
