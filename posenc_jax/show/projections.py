"""Vectors of positions in the plane: principal components and t-SNE, the same for the same vectors."""

import numpy as np

from posenc_jax.extras import needed


def principal_components(vectors: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """``[P, 2]`` coordinates of ``vectors [P, M]`` on the two directions of most variance, and their shares of it.

    The sign of a direction is chosen so that its coordinate of largest size is positive.
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)[None]
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    left, values = (np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, max(2 - a.shape[-1], 0))]) for a in (left, values))
    points = left[:, :2] * values[None, :2]
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    total = float((values**2).sum()) or 1.0
    return points * np.where(signs == 0, 1.0, signs)[None], (values[0] ** 2 / total, values[1] ** 2 / total)


def nearest_offsets(points: np.ndarray, count: int) -> dict[int, int]:
    """The distances in rows of the ``count`` nearest neighbours of each of ``points [P, 2]``, with their counts, the
    most frequent offset first.
    """
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    near = apart.argsort(axis=1, kind="stable")[:, :count]
    offsets, found = np.unique(np.abs(near - np.arange(len(points))[:, None]), return_counts=True)
    return {int(offsets[i]): int(found[i]) for i in np.argsort(-found, kind="stable")}


def t_sne(vectors: np.ndarray, perplexity: float) -> np.ndarray:
    """``[P, 2]`` by t-SNE (van der Maaten and Hinton 2008), started from the principal components, in one thread, so
    that the same vectors give the same points on one machine. Needs scikit-learn.
    """
    with needed("report", "t-SNE"):
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    # The usual start, the principal components at a standard deviation of 1e-4; those of sklearn are drawn by chance.
    start = principal_components(vectors)[0]
    start = start / (start[:, 0].std() or 1.0) * 1e-4
    # Exact gradients do not depend on an approximation's tree; beyond 500 points they take too long.
    method = "exact" if len(vectors) <= 500 else "barnes_hut"
    with threadpool_limits(1):
        run = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=0, method=method, n_jobs=1)
        return run.fit_transform(vectors.astype(np.float64)).astype(np.float64)
