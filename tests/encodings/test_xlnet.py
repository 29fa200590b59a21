import dataclasses
import functools

import jax
import numpy as np
import pytest
from initial import shapes_of

from posenc_jax.encodings.interface.base import Dims, Geometry, Sequence
from posenc_jax.encodings.relative.transformer_xl import XLNet

DIMS = Dims(d_model=6, num_heads=2, num_kv_heads=2, head_dim=4, num_layers=1, max_len=16)


def paper(encoding, params, q, k, q_positions, k_positions, q_types, k_types):
    """All terms but q . k, over sqrt(D): pair by pair."""
    B, H, Q, D = q.shape
    d_model = params["projection"].shape[-1]
    out = np.zeros((B, H, Q, k.shape[2]))
    for b, h, i, j in np.ndindex(out.shape):
        distance = float(q_positions[b, i]) - float(k_positions[b, j])
        if encoding.clamp_len is not None:
            distance = max(-encoding.clamp_len, min(encoding.clamp_len, distance))
        angles = [distance / 10000 ** (2 * m / d_model) for m in range(d_model // 2)]
        relative = params["projection"][h] @ np.concatenate([np.sin(angles), np.cos(angles)])
        score = params["u"][h] @ k[b, h, j] + (q[b, h, i] + params["v"][h]) @ relative
        if q_types is not None:
            other = int(q_types[b][i] != k_types[b][j])
            score += (q[b, h, i] + params["w"][h]) @ params["segments"][other, h]
        out[b, h, i, j] = score / np.sqrt(D)
    return out


@pytest.mark.parametrize("clamp_len", [None, 3])
@pytest.mark.parametrize("typed", [True, False])
def test_logits_are_the_papers(random, clamp_len, typed):
    """More keys than queries, a row with gaps; three types, of which only equality counts; known and traced."""
    encoding = XLNet(clamp_len)
    params = {name: random.normal(size=p.shape) for name, p in shapes_of(encoding, DIMS).items()}
    q, k = random.normal(size=(2, 2, 3, 4)), random.normal(size=(2, 2, 7, 4))
    positions = np.array([np.arange(7), [3, 4, 9, 40, 41, 900, 901]], np.int32)
    types = np.array([[0, 0, 0, 1, 1, 2, 0], [5, 1, 1, 1, 5, 5, 0]]) if typed else None
    want = paper(encoding, params, q, k, positions[:, 4:], positions, types[:, 4:] if typed else None, types)

    def terms(params, q, k, positions):
        keys = Sequence(positions, np.array([7, 7]), token_types=types)
        queries = dataclasses.replace(keys, positions=positions[:, 4:], token_types=types[:, 4:] if typed else None)
        return encoding.content_bias(params, q, k, Geometry.between(queries, keys, num_heads=2), None)

    with jax.enable_x64(True):
        known = jax.jit(functools.partial(terms, positions=positions))
        for got in (known(params, q, k), jax.jit(terms)(params, q, k, positions)):
            np.testing.assert_allclose(got, want, atol=1e-9)
