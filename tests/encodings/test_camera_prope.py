"""prope_dot_product_attention of the authors, token by token, with the numbers of cameras as positions."""

import jax
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings import CameraPRoPE, Dims
from posenc_jax.encodings.interface.attention import attend

RNG = np.random.default_rng(0)
HEAD, TOKENS, CAMERAS = 16, 6, 2
Q, K, V = (RNG.normal(size=(1, heads, TOKENS, HEAD)) for heads in (4, 2, 2))
PLACES = np.array([[0, 0], [1, 0], [2, 1]] * CAMERAS)  # column, row


def cameras():
    """4 x 4 projections: intrinsics beside a rotation and a shift."""
    made = []
    for _ in range(CAMERAS):
        world = np.eye(4)
        world[:3, :3] = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
        world[:3, 3] = RNG.normal(size=3)
        lifted = np.eye(4)
        lifted[:3, :3] = [[1.2, 0, 0.1], [0, 0.9, -0.05], [0, 0, 1]]
        made.append(lifted @ world)
    return np.repeat(made, TOKENS // CAMERAS, axis=0)


def turned(x, places, sign):
    """A quarter of a head for column and row each: the halves of the quarter make planes."""
    out = x.copy()
    for axis in range(2):
        for k in range(2):
            first, second = HEAD // 2 + 4 * axis + k, HEAD // 2 + 4 * axis + 2 + k
            angle = sign * places[axis] * 100 ** (-k / 2)
            out[first] = np.cos(angle) * x[first] + np.sin(angle) * x[second]
            out[second] = -np.sin(angle) * x[first] + np.cos(angle) * x[second]
    return out


def through(x, matrix, places, sign=1):
    out = turned(x, places, sign)
    for group in range(0, HEAD // 2, 4):
        out[group : group + 4] = matrix @ x[group : group + 4]
    return out


def attention(projections, causal):
    positions = np.concatenate([projections[:, :3].reshape(TOKENS, 12), PLACES], axis=1)[None]
    geometry = geometry_at(positions, positions, num_heads=4, causal=causal)
    return np.asarray(attend(Q, K, V, (CameraPRoPE(),), ({},), geometry))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_that_of_the_authors_code(causal):
    projections = cameras()
    with jax.enable_x64(True):
        got = attention(projections, causal)
    for h, i in np.ndindex(4, TOKENS):
        q = through(Q[0, h, i], projections[i].T, PLACES[i])
        keys = range(i + 1 if causal else TOKENS)
        back = {j: np.linalg.inv(projections[j]) for j in keys}
        logits = np.array([q @ through(K[0, h // 2, j], back[j], PLACES[j]) for j in keys]) / np.sqrt(HEAD)
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        total = sum(w * through(V[0, h // 2, j], back[j], PLACES[j]) for w, j in zip(weights, keys))
        np.testing.assert_allclose(got[0, h, i], through(total, projections[i], PLACES[i], -1), atol=1e-9)


def test_coordinates_of_the_world_count_for_nothing():
    projections, world = cameras(), np.eye(4)
    world[:3] = RNG.normal(size=(3, 4))
    with jax.enable_x64(True):
        np.testing.assert_allclose(attention(projections @ world, True), attention(projections, True), atol=1e-9)


def test_padding_without_a_camera_is_finite():
    with jax.enable_x64(True):
        assert np.isfinite(attention(np.zeros((TOKENS, 4, 4)), False)).all()
    with pytest.raises(ValueError, match="head_dim = 12 must be a multiple of 8"):
        CameraPRoPE().check(Dims(24, 2, 2, 12, 1, 8))
