"""Matrices between sinusoidal vectors: the one that shifts them, and random ones in a logit."""

import numpy as np

from posenc_jax.encodings import sinusoidal, vaswani_frequencies


def rotation(d_model: int, offset: int) -> np.ndarray:
    """``[d, d]``: turns each pair of dimensions by offset times its frequency."""
    matrix = np.zeros((d_model, d_model))
    for k, angle in enumerate(offset * vaswani_frequencies(d_model)):
        sin, cos = np.sin(angle), np.cos(angle)
        matrix[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[cos, sin], [-sin, cos]]
    return matrix


def offset_share(matrix: np.ndarray) -> float:
    """The share of the variance of ``matrix [P, P]`` over all pairs of positions that their signed offset explains."""
    length = len(matrix)
    offset = np.subtract.outer(np.arange(length), np.arange(length)) + length - 1
    means = np.bincount(offset.ravel(), matrix.ravel()) / np.bincount(offset.ravel())
    return float(1 - ((matrix - means[offset]) ** 2).mean() / matrix.var())


def logits_share(d_model: int, length: int, draws: int, *, rotating: bool) -> float:
    """The mean of `offset_share` over random projections ``A = W_q^T W_k`` of ``PE(p)^T A PE(q)``.

    ``rotating``: A has a multiple of a rotation for each pair of dimensions, and nothing else.
    """
    vectors = np.asarray(sinusoidal(np.arange(length), d_model, dtype=np.float64))
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        if rotating:
            product = np.zeros((d_model, d_model))
            for k, (x, y) in enumerate(rng.normal(size=(d_model // 2, 2))):
                product[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[x, y], [-y, x]]
        else:
            query, key = rng.normal(size=(2, d_model, d_model))
            product = query.T @ key
        found.append(offset_share(vectors @ product @ vectors.T))
    return float(np.mean(found))
