"""Attributes of graphs and trees, made on the host: arrays of one size for `Sequence.attributes` and `Sequence.pairs`.

A graph of N nodes is its adjacency ``[N, N]``, whose number i, j is the weight of the edge from i to j, 0 without one.
All functions take ``size``, the number of tokens that a row is padded to: nodes are the first N tokens, and the numbers
of all others are 0. Segment ids say which tokens are nodes. Refused (ValueError) are weights below 0, and less than one
step, path or vector.
"""

import itertools
from collections import deque
from collections.abc import Sequence

import numpy as np

from posenc_jax.encodings.interface.arrays import check_kind, check_size


def laplacian_eigenvectors(adjacency: np.ndarray, count: int, size: int | None = None) -> np.ndarray:
    """``[size, count]`` float64: eigenvectors of the Laplacian ``I - D^-1/2 A D^-1/2``, of the smallest eigenvalues but
    the first, each of norm 1, as columns; 0 where a graph has fewer (Dwivedi et al. 2020, arXiv:2003.00982).

    Their signs are arbitrary, see `RandomSigns`. D has the degrees; nodes without edges count as of degree 1.

    Raises:
      ValueError: for a graph with directions, or one that does not fit ``size``.

    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> np.abs(laplacian_eigenvectors(path, 3, size=4)).round(3).tolist()
    [[0.707, 0.5, 0.0], [0.0, 0.707, 0.0], [0.707, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    adjacency, size = _graph(adjacency, size)
    check_size("count", count)
    if (adjacency != adjacency.T).any():
        raise ValueError("adjacency is not symmetric, and a Laplacian here is that of a graph without directions")
    degrees = adjacency.sum(axis=1)
    scale = 1 / np.sqrt(np.where(degrees, degrees, 1))
    laplacian = np.eye(len(adjacency)) - scale[:, None] * adjacency * scale[None]
    vectors = np.linalg.eigh(laplacian)[1][:, 1 : count + 1]
    found = np.zeros((size, count))
    found[: len(vectors), : vectors.shape[1]] = vectors
    return found


def random_walks(adjacency: np.ndarray, steps: int, size: int | None = None) -> np.ndarray:
    """``[size, size, steps]`` float64: the probabilities of being at j after 0, 1, ..., steps - 1 steps from i (RRWP,
    Ma et al. 2023, arXiv:2305.17589): the powers of ``D^-1 A``, beginning with the identity.

    Those of i and i, without that of no step, are the attributes of a node of Dwivedi et al. 2021 (RWSE): the diagonal
    ``np.einsum("iik->ik", walks)[:, 1:]``. A node without edges is left by no step and found after none.

    Raises:
      ValueError: for a graph that does not fit ``size``.

    >>> triangle = 1 - np.eye(3)
    >>> np.einsum("iik->ik", random_walks(triangle, 4))[0].tolist()
    [1.0, 0.0, 0.5, 0.25]
    """
    adjacency, size = _graph(adjacency, size)
    check_size("steps", steps, because=": the first is no step")
    step = adjacency / np.where(total := adjacency.sum(axis=1, keepdims=True), total, 1)
    powers = [np.eye(len(adjacency))]
    for _ in range(steps - 1):
        powers.append(powers[-1] @ step)
    return _padded(np.stack(powers, axis=-1), size)


def shortest_paths(adjacency: np.ndarray, unreachable: int, size: int | None = None) -> np.ndarray:
    """``[size, size, 1]`` int32: the number of edges on the shortest path from i to j, ``unreachable`` without any; as
    many or more count as one less. For a `PairTable` of ``unreachable + 1`` rows at least (Graphormer: 510).

    Raises:
      ValueError: for a graph that does not fit ``size``.

    >>> path = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    >>> shortest_paths(path, unreachable=9)[0, :, 0].tolist()
    [0, 1, 2, 9]
    """
    adjacency, size = _graph(adjacency, size)
    check_size("unreachable", unreachable, because=": longer paths than it count as one less")
    lengths = np.full(adjacency.shape, unreachable, np.int32)
    for start in range(len(adjacency)):
        for end, path in _paths(adjacency, start).items():
            lengths[start, end] = min(len(path) - 1, unreachable - 1)
    return _padded(lengths[..., None], size)


def edge_paths(adjacency: np.ndarray, features: np.ndarray, most: int, size: int | None = None) -> np.ndarray:
    """``[size, size, most * F]`` float64: the features of the edges on a shortest path from i to j, those of the first
    edge first, divided by their number, of a path of more than ``most`` edges of its first ones; 0 beyond its end and
    where there is no path (Ying et al. 2021, Graphormer, equation 7, for `PairLinear`).

    Args:
      features: ``[N, N, F]`` of the edge from i to j, read where there is one. Of several shortest paths the one counts
        that a search in breadth finds first, nodes in their order.

    Raises:
      ValueError: for a graph that does not fit ``size``, or features of another one.
    """
    adjacency, size = _graph(adjacency, size)
    check_size("most", most)
    features = _real("features", features)
    if features.shape[:2] != adjacency.shape or features.ndim != 3:
        raise ValueError(
            f"features has the shape {list(features.shape)}, and of {len(adjacency)} nodes edges have features "
            f"[{len(adjacency)}, {len(adjacency)}, numbers]"
        )
    width = features.shape[2]
    found = np.zeros((*adjacency.shape, most, width))
    for start in range(len(adjacency)):
        for end, path in _paths(adjacency, start).items():
            edges = list(itertools.pairwise(path))[:most]
            for hop, edge in enumerate(edges):
                found[start, end, hop] = features[edge] / len(edges)
    return _padded(found.reshape(*adjacency.shape, most * width), size)


def tree_paths(parents: Sequence[int], depth: int, size: int | None = None) -> np.ndarray:
    """``[size, depth]`` int32: the branches from each node up to the root, its own first: 1 for a first child, 2 for a
    second, ..., 0 above the root (for `TreePositions`). Of deeper nodes the lowest ``depth`` branches are kept.

    Args:
      parents: of each node the index of its parent, which comes before it; -1 for the root. Siblings are in order.

    Raises:
      ValueError: for a parent that does not come before its child, or a tree that does not fit ``size``.

    >>> tree_paths([-1, 0, 0, 2], depth=2).tolist()
    [[0, 0], [1, 0], [2, 0], [1, 2]]
    """
    size = _fitting(len(parents), size, "parents")
    check_size("depth", depth)
    found = np.zeros((size, depth), np.int32)
    children = [0] * len(parents)
    for node, parent in enumerate(parents):
        check_size(f"parents[{node}]", parent, -1)
        if not -1 <= parent < node:
            raise ValueError(f"parents[{node}] = {parent} must come before {node}, or be -1 for the root")
        if parent >= 0:
            children[parent] += 1
            found[node] = [children[parent], *found[parent][:-1]][:depth]
    return found


def _real(name: str, numbers: np.ndarray) -> np.ndarray:
    numbers = np.asanyarray(numbers) * 1  # True is an edge of weight 1
    check_kind(name, numbers, "weights and features", "integers or floats")
    return numbers.astype(np.float64)


def _graph(adjacency: np.ndarray, size: int | None) -> tuple[np.ndarray, int]:
    adjacency = _real("adjacency", adjacency)
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ValueError(f"adjacency has the shape {list(adjacency.shape)}, and that of N nodes is [N, N]: one graph")
    if not (adjacency >= 0).all() or np.isinf(adjacency).any():
        i, j = np.argwhere(~(adjacency >= 0) | np.isinf(adjacency))[0]
        raise ValueError(
            f"adjacency[{i}, {j}] = {adjacency[i, j]} is no weight of an edge: give numbers above 0, and 0 without one"
        )
    return adjacency, _fitting(len(adjacency), size, "adjacency")


def _fitting(nodes: int, size: int | None, name: str) -> int:
    if size is None:
        return nodes
    check_size("size", size)
    if nodes > size:
        raise ValueError(
            f"{name} has {nodes} nodes, and size = {size} tokens is what rows are padded to: make it {nodes}, or leave "
            "this graph out"
        )
    return size


def _padded(pairs: np.ndarray, size: int) -> np.ndarray:
    rest = size - len(pairs)
    return np.pad(pairs, ((0, rest), (0, rest), (0, 0)))


def _paths(adjacency: np.ndarray, start: int) -> dict[int, list[int]]:
    """A shortest path from ``start`` to every node that it reaches, as nodes."""
    found, waiting = {start: [start]}, deque([start])
    while waiting:
        node = waiting.popleft()
        for other in np.flatnonzero(adjacency[node]).tolist():
            if other not in found:
                found[other] = [*found[node], other]
                waiting.append(other)
    return found
