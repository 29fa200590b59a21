import itertools
import re

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, PairLinear, PairTable, Sequence, geometries, map_slot, parse
from posenc_jax.encodings.graphs import edge_paths, random_walks, shortest_paths

# Two ways from 0 to 3, by 1 or by 2 and 4; an edge from 5 to 4 alone.
ADJACENCY = np.zeros((6, 6))
for start, end in ((0, 1), (1, 3), (0, 2), (2, 4), (4, 3), (3, 0), (5, 4)):
    ADJACENCY[start, end] = 1
PATHS = {(0, 3): (0, 1, 3), (0, 4): (0, 2, 4), (3, 4): (3, 0, 2, 4), (5, 1): (5, 4, 3, 0, 1)}  # some


def geometry(pairs, heads=2):
    tokens = Sequence.of_length(pairs.shape[1], pairs=pairs, segment_ids=np.ones(pairs.shape[:2], np.int32))
    return Geometry.between(tokens, tokens, num_heads=heads)


def test_a_table_of_the_shortest_paths(random):
    """Graphormer's b[phi(i, j)]: the number of edges, or 9 without a path."""
    pairs, table = shortest_paths(ADJACENCY, unreachable=9)[None], random.normal(size=(2, 10))
    with jax.enable_x64(True):
        got = PairTable(10).bias({"table": table}, geometry(pairs))
    for i, j in np.ndindex(6, 6):
        if i == j or (i, j) in PATHS or j == 5:
            edges = 0 if i == j else 9 if j == 5 else len(PATHS[i, j]) - 1
            np.testing.assert_allclose(got[0, :, i, j], table[:, edges], atol=1e-12)


def test_a_bias_of_the_edges_on_the_way(random):
    """Graphormer's c_ij: the mean over the edges of their features times the weights of their place."""
    features, weight = random.normal(size=(6, 6, 2)), random.normal(size=(2, 6))
    pairs = edge_paths(ADJACENCY, features, most=3)[None]
    pairs = np.concatenate([np.zeros((1, 6, 6, 1)), pairs], axis=-1)
    with jax.enable_x64(True):
        got = PairLinear(6, first=1).bias({"weight": weight}, geometry(pairs))
    for (i, j), path in PATHS.items():
        edges = list(itertools.pairwise(path))[:3]
        for h in range(2):
            want = sum(features[edge] @ weight[h, 2 * n : 2 * n + 2] for n, edge in enumerate(edges)) / len(edges)
            np.testing.assert_allclose(got[0, h, i, j], want, atol=1e-9)
    np.testing.assert_array_equal(got[0, :, 0, 5], 0)


def test_probabilities_of_walks(random):
    """RRWP: the weight of all walks of so many steps from i to j, each step to any neighbour alike."""
    weight = random.normal(size=(2, 4))
    with jax.enable_x64(True):
        got = PairLinear(4).bias({"weight": weight}, geometry(random_walks(ADJACENCY, 4)[None]))

    def probability(i, j, steps):
        if steps == 0:
            return float(i == j)
        onwards = [n for n in range(6) if ADJACENCY[i, n]]
        return sum(probability(n, j, steps - 1) for n in onwards) / len(onwards)

    for h, i, j in np.ndindex(2, 6, 6):
        want = sum(weight[h, steps] * probability(i, j, steps) for steps in range(4))
        np.testing.assert_allclose(got[0, h, i, j], want, atol=1e-9)


def test_what_pairs_are_refused():
    pairs, ones = np.zeros((1, 4, 4, 1)), np.ones((1, 4), np.int32)
    for fields, message in (
        ({"pairs": pairs}, "pairs are given without segment_ids, and rows of pairs are padded to one size: say which"),
        ({"pairs": pairs[:, :, :3], "segment_ids": ones}, "pairs has 3 keys (axis 2 of its shape [1, 4, 3, 1]), and "),
        ({"pairs": pairs[..., 0], "segment_ids": ones}, "pairs are [rows or 1, tokens, keys, numbers]"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            map_slot(parse("pair_table"), Sequence.of_length(4, **fields))


def test_another_side_has_none_of_its_pairs():
    queries = Sequence.of_length(4, pairs=np.zeros((1, 4, 4, 1)), segment_ids=np.ones((1, 4), np.int32))
    other = Sequence.of_length(4, segment_ids=np.ones((1, 4), np.int32))
    assert geometries((), queries, queries, num_heads=1).pairs is queries.pairs
    assert geometries((), queries, other, num_heads=1).pairs is None
