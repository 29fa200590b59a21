import math
import re

import jax
import numpy as np
import pytest
from initial import initial, shapes_of

from posenc_jax.encodings import Dims, LinearPositions, RandomSigns, Sequence
from posenc_jax.encodings.graphs import edge_paths, laplacian_eigenvectors, random_walks, shortest_paths, tree_paths

DIMS = Dims(d_model=6, num_heads=1, num_kv_heads=1, head_dim=4, num_layers=1, max_len=64)
CYCLE = np.roll(np.eye(7), 1, axis=1) + np.roll(np.eye(7), -1, axis=1)
PATH = np.eye(5, k=1) + np.eye(5, k=-1)


def test_eigenvectors_of_a_path():
    """Of the normalised Laplacian of a path: D^1/2 cos(pi k j / (N - 1)), of norm 1, with eigenvalue 1 - cos(...)."""
    got = laplacian_eigenvectors(PATH, 6, size=8)
    assert got.shape == (8, 6)
    for k in range(1, 5):
        want = np.array([math.sqrt(min(2, 1 + (0 < j < 4))) * math.cos(math.pi * k * j / 4) for j in range(5)])
        want /= np.linalg.norm(want)
        np.testing.assert_allclose(got[:5, k - 1] * np.sign(got[0, k - 1] * want[0]), want, atol=1e-9)
    np.testing.assert_array_equal(got[5:], 0)
    np.testing.assert_array_equal(got[:, 4:], 0)


def test_returns_to_a_node_of_a_cycle():
    """In 2 m < 7 steps by as many steps in each direction: binomial(2 m, m) / 4^m, and never in an odd number."""
    diagonal = np.einsum("iik->ik", random_walks(CYCLE, 7, size=9))
    want = [math.comb(steps, steps // 2) / 2**steps if steps % 2 == 0 else 0 for steps in range(7)]
    np.testing.assert_allclose(diagonal[:7], np.tile(want, (7, 1)), atol=1e-12)
    np.testing.assert_array_equal(diagonal[7:], 0)


def test_a_linear_map_of_eigenvectors(random):
    vectors, x = random.normal(size=(2, 4, 3)), random.normal(size=(2, 4, 6))
    params = {"weight": random.normal(size=(3, 6)), "offset": random.normal(size=6)}
    with jax.enable_x64(True):
        got = LinearPositions(3).embed(params, x, Sequence(vectors, np.array([4])))
    for b, t, m in np.ndindex(2, 4, 6):
        want = x[b, t, m] + sum(params["weight"][a, m] * vectors[b, t, a] for a in range(3)) + params["offset"][m]
        np.testing.assert_allclose(got[b, t, m], want, atol=1e-9)
    assert shapes_of(LinearPositions(3, offset=False), DIMS).keys() == {"weight"}
    start = initial(LinearPositions(3), DIMS)
    assert start["weight"].shape == (3, 6)
    assert 0.3 < np.abs(start["weight"]).max() <= math.sqrt(6 / 9)
    assert not start["offset"].any()


def test_signs_are_one_for_each_example_and_eigenvector(random):
    tokens = Sequence.of_length(5, tokens=np.ones((64, 5), np.int32))
    vectors = random.normal(size=(64, 5, 8))
    sequence = Sequence(vectors, tokens.length, tokens.tokens)
    signs = RandomSigns().map_positions(sequence, key=jax.random.key(0), train=True) / vectors
    np.testing.assert_allclose(np.abs(signs), 1, atol=1e-6)
    assert (np.ptp(signs, axis=1) < 1e-5).all()
    assert 0.35 < (signs[:, 0] > 0).mean() < 0.65
    assert len(np.unique(np.round(signs[:, 0]), axis=0)) > 50
    assert RandomSigns().map_positions(sequence, key=None, train=False) is vectors
    with pytest.raises(ValueError, match=r"^RandomSigns draws random positions: pass key="):
        RandomSigns().map_positions(sequence, key=None, train=True)


def test_far_nodes_and_those_without_a_way_are_told_apart():
    apart = np.zeros((6, 6))
    apart[:5, :5] = PATH
    assert shortest_paths(apart, unreachable=3)[0, :, 0].tolist() == [0, 1, 2, 2, 2, 3]


def test_branches_from_the_leaf_to_the_root():
    parents = [-1, 0, 0, 0, 3, 4]
    assert tree_paths(parents, depth=2, size=7).tolist() == [[0, 0], [1, 0], [2, 0], [3, 0], [1, 3], [1, 1], [0, 0]]


def test_what_does_not_fit_is_refused():
    for call, message in (
        (lambda: laplacian_eigenvectors(PATH, 2, size=4), "adjacency has 5 nodes, and size = 4 tokens is what rows"),
        (lambda: laplacian_eigenvectors(np.triu(PATH), 2), "adjacency is not symmetric, and a Laplacian here is that"),
        (lambda: edge_paths(PATH, np.zeros((5, 4, 2)), 3), "features has the shape [5, 4, 2], and of 5 nodes edges"),
        (lambda: tree_paths([-1, 2, 0], 3), "parents[1] = 2 must come before 1, or be -1 for the root"),
        (lambda: random_walks(PATH, 0), "steps = 0 must be a whole number from 1 on: the first is no step"),
        (lambda: random_walks(-PATH, 2), "adjacency[0, 1] = -1.0 is no weight of an edge: give numbers above 0"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
