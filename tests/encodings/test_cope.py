import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.interface.base import Geometry
from posenc_jax.encodings.relative.cope import CoPE


def paper(encoding, table, q, k, visible, slots):
    """One head of one sequence, pair by pair; ``slots`` order the keys."""
    root = math.sqrt(q.shape[1])
    out = np.full((len(q), len(k)), np.nan)
    for i in range(len(q)):
        for j in range(len(k)):
            if not visible[i][j]:
                continue
            position = 0.0
            for t in range(len(k)):
                if visible[i][t] and slots[t] >= slots[j]:
                    logit = q[i] @ k[t] / (root if encoding.scaled_gates else 1)
                    position += 1 / (1 + math.exp(-logit))
            position = min(position, len(table) - 1)
            low, high = table[math.floor(position)], table[math.ceil(position)]
            embedding = (position % 1) * high + (1 - position % 1) * low
            out[i, j] = q[i] @ embedding / (root if encoding.scaled_positions else 1)
    return out


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "encoding", [CoPE(3), CoPE(9, scaled_gates=False), CoPE(4, scaled_positions=False)], ids=["", "gates", "positions"]
)
def test_logits_are_the_papers(random, encoding, known):
    """Queries are the last 3 of 7 tokens; the second row packs two sequences and ends with padding, and where slots are
    traced the keys are stored out of order.
    """
    order = np.arange(7) if known else np.array([3, 0, 6, 1, 5, 2, 4])
    segments = np.array([[1] * 7, [1, 1, 2, 2, 2, 2, 0]])
    table, q, k = (
        random.normal(size=(encoding.num_positions, 4)),
        random.normal(size=(2, 2, 3, 4)),
        random.normal(size=(2, 2, 7, 4)),
    )
    with jax.enable_x64(True):
        places = np.arange(4, 7)[None], order[None] if known else jnp.asarray(order)[None]
        in_segments = segments[:, 4:], segments[:, order]
        zeros = np.zeros((2, 3)), np.zeros((2, 7))
        geometry = geometry_at(*zeros, places=places, segments=in_segments, num_heads=2, causal=True)
        program = jax.jit(lambda table, q, k: encoding.content_bias({"table": table}, q, k, geometry, None))
        got = program(table, q, k[:, :, order])
        assert got.dtype == jnp.float64
        visible = np.asarray(geometry.mask)[:, 0]
    counted = 0
    for b, h in np.ndindex(2, 2):
        want = paper(encoding, table, q[b, h], k[b, h, order], visible[b], order)
        counted += np.isfinite(want).sum()
        np.testing.assert_allclose(np.where(visible[b], np.asarray(got)[b, h], np.nan), want, atol=1e-12)
    assert counted == 2 * (5 + 6 + 7 + 3 + 4)


def test_gradients_are_those_of_the_formula(random):
    """Central differences in the table, the queries and the keys: gates, blend and products."""
    geometry = Geometry.of_length(5, num_heads=2, causal=True)
    encoding = CoPE(4)
    with jax.enable_x64(True):
        arguments = tuple(random.normal(size=s) for s in ((4, 3), (1, 2, 5, 3), (1, 2, 5, 3)))
        directions = tuple(random.normal(size=a.shape) for a in arguments)
        functional = np.tril(random.normal(size=(1, 2, 5, 5)))

        @jax.jit
        def loss(table, q, k):
            return (encoding.content_bias({"table": table}, q, k, geometry, None) * functional).sum()

        along = sum(
            (g * d).sum() for g, d in zip(jax.jit(jax.grad(loss, (0, 1, 2)))(*arguments), directions, strict=True)
        )
        ahead, behind = (loss(*(a + s * d for a, d in zip(arguments, directions, strict=True))) for s in (1e-6, -1e-6))
        assert float(along) == pytest.approx(float(ahead - behind) / 2e-6, rel=1e-7)
