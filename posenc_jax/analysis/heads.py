"""Views of positions by one attention head, which projects their vectors to fewer dimensions than they have.

Two positions that look alike as keys get the same logits from every query; alike as queries, they attend alike.
"""

from typing import NamedTuple

import numpy as np

from posenc_jax.analysis.kernels import Lobes, checked, kernel, lobes
from posenc_jax.encodings.base import Array


class Projected(NamedTuple):
    """The result of `random_heads`, for one position against all others.

    Attributes:
      mean, spread: ``[P]`` mean and standard deviation over heads of the cosine with each position.
      nearest: ``[P]`` the part of the heads in which each position is the nearest to the one asked for.
    """

    mean: np.ndarray
    spread: np.ndarray
    nearest: np.ndarray


class Band(NamedTuple):
    """Some neighbouring frequencies ``first .. last`` (counted from 0), their kernel ``values [L]`` by offset, and its
    lobes.
    """

    first: int
    last: int
    values: np.ndarray
    lobes: Lobes


def random_heads(vectors: Array, position: int, head_dim: int, *, heads: int = 1000, seed: int = 0) -> Projected:
    """Similarity of ``vectors[position]`` and each of ``vectors [P, M]`` to heads at initialisation.

    A head projects with ``W [M, D]`` of independent normal numbers. The mean product of projections is that of the
    vectors, so that a head sees the similarity K of the vectors and chance on top: for large D the cosine has standard
    deviation ``(1 - K^2) / sqrt(D)`` over heads. (A normal distribution cut off at two sigma, as in our models, has the
    same first two moments.) Seeded: the same numbers at every call.

    Raises:
      ValueError: a position that is not among the vectors, or no dimensions.
    """
    vectors = np.asarray(vectors, np.float64)
    count, width = vectors.shape
    if not 0 <= position < count:
        raise ValueError(f"position = {position} must lie in 0 .. {count - 1}: there are {count} vectors")
    if head_dim < 1 or heads < 1:
        raise ValueError(f"head_dim = {head_dim} and heads = {heads} must be at least 1")
    draws = np.random.default_rng(seed)
    seen = np.empty((heads, count))
    for head in range(heads):
        projected = vectors @ draws.normal(size=(width, head_dim))
        norms = np.linalg.norm(projected, axis=1)
        seen[head] = projected @ projected[position] / (norms * norms[position])
    others = np.where(np.arange(count) == position, -np.inf, seen)
    nearest = np.bincount(others.argmax(axis=1), minlength=count) / heads
    return Projected(seen.mean(axis=0), seen.std(axis=0), nearest)


def bands(frequencies: Array, size: int, length: int) -> tuple[Band, ...]:
    """The kernels over offsets 0 .. ``length - 1`` of heads that see ``size`` neighbouring ``frequencies [F]`` only.

    The bands lie side by side in the order of the frequencies; the last one ends with the last frequency, and so
    overlaps the one before it where ``size`` does not divide F. A head of dimension D holds the sines and cosines of
    D / 2 frequencies.

    Raises:
      ValueError: a size that is not in 1 .. F.
    """
    frequencies = checked(frequencies)
    _check_size(size, len(frequencies))
    firsts = [min(first, len(frequencies) - size) for first in range(0, len(frequencies), size)]
    found = []
    for first in firsts:
        values = kernel(frequencies[first : first + size], np.arange(length))
        found.append(Band(first, first + size - 1, values, lobes(values)))
    return tuple(found)


def subset_range(frequencies: Array, size: int, offsets: Array) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest similarity that heads seeing any ``size`` of the ``frequencies [F]`` have, each in the
    shape of ``offsets``: the means of the least and of the greatest cosines.

    Raises:
      ValueError: a size that is not in 1 .. F.
    """
    frequencies = checked(frequencies)
    _check_size(size, len(frequencies))
    ordered = np.sort(np.stack([kernel(w[None], offsets) for w in frequencies]), axis=0)
    return ordered[:size].mean(axis=0), ordered[-size:].mean(axis=0)


def _check_size(size: int, count: int) -> None:
    if not 1 <= size <= count:
        raise ValueError(f"size = {size} must lie in 1 .. {count}: that many frequencies there are")
