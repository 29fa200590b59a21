import jax.numpy as jnp
import numpy as np
import pytest
from rows_of_tokens import KEYS, ROWS, SEGMENTS, SHUFFLED, noise, sequence_of

from posenc_jax.encodings.interface.base import Geometry, Sequence
from posenc_jax.encodings.shared.token_order import TokenOrder, at_queries


def of_rows(order, queries):
    keys = Sequence(order[None], np.full((1,), KEYS), segment_ids=SEGMENTS[:, order], places=order[None])
    return Geometry.between(Sequence(queries[None], keys.length, places=queries[None]), keys, num_heads=1, causal=True)


@pytest.mark.parametrize("order", [np.arange(KEYS), SHUFFLED], ids=["in order", "shuffled"])
def test_sums_and_convolutions_run_along_segments(order):
    """Padding holds what would drown any sum."""
    x, kernel = noise(ROWS, KEYS, 2), noise(3, 2)
    x = np.where((SEGMENTS == 0)[..., None], 1e30, x).astype(np.float32)
    geometry = of_rows(order, order)
    of_keys = TokenOrder.of_keys(geometry)
    arranged = of_keys.arrange(jnp.asarray(x[:, order]))
    sums = np.asarray(of_keys.restore(of_keys.sums(arranged)))
    convolved = np.asarray(of_keys.restore(of_keys.convolve(arranged, kernel.astype(np.float32))))
    for b, i in np.argwhere(SEGMENTS):
        tokens, place = sequence_of(b, i), np.flatnonzero(order == i)[0]
        for n, j in enumerate(tokens):
            between = x[b, tokens[n + 1 :]].sum(axis=0)
            at_j = np.flatnonzero(order == j)[0]
            np.testing.assert_allclose(sums[b, place] - sums[b, at_j], between, atol=1e-5)
        want = sum(kernel[s] * x[b, tokens[-1 - s]] for s in range(min(3, len(tokens))))
        np.testing.assert_allclose(convolved[b, place], want, atol=1e-5)


@pytest.mark.parametrize("known", [True, False])
def test_queries_find_their_own_tokens(known):
    queries = np.array([7, 2, 3])
    geometry = of_rows(SHUFFLED, queries if known else jnp.asarray(queries))
    x = noise(ROWS, KEYS, 2)
    np.testing.assert_array_equal(at_queries(x[:, SHUFFLED], geometry), x[:, queries].astype(np.float32))
    places = TokenOrder.of_keys(geometry).of_queries(geometry)
    for b, n in np.ndindex(ROWS, len(queries)):
        i = queries[n]
        before = [t for t in range(KEYS) if (SEGMENTS[b, t], t) < (SEGMENTS[b, i], i)]
        assert places[b, n] == len(before)


def test_whole_rows_in_order_are_left_as_they_are():
    geometry = Geometry.of_length(5, num_heads=1, causal=True)
    x = noise(1, 5)
    assert TokenOrder.of_keys(geometry).arrange(x) is x
    assert at_queries(x, geometry) is x
