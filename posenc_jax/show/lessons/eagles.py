"""Two words before and after positions are added: pairs of random embeddings and their cosines."""

from collections.abc import Sequence

import numpy as np

from posenc_jax.encodings import sinusoidal


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosine of vectors along the last axis."""
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def with_cosine(d_model: int, c: float, rng: np.random.Generator, draws: int) -> np.ndarray:
    """``[2, draws, d_model]``: Gaussian embeddings and others of the same norms, at cosine c to them exactly."""
    a, other = rng.normal(size=(2, draws, d_model))
    norm = np.linalg.norm(a, axis=-1, keepdims=True)
    other -= a * (a * other).sum(-1, keepdims=True) / norm**2
    return np.stack([a, c * a + np.sqrt(1 - c**2) * norm * other / np.linalg.norm(other, axis=-1, keepdims=True)])


def before_and_after(a: np.ndarray, b: np.ndarray, positions: Sequence[int] = (1, 6)) -> tuple[float, float, float]:
    """Mean cosine of pairs ``[draws, d_model]`` before and after positions are added, and the share that fell."""
    p, q = sinusoidal(np.array(positions), a.shape[-1], dtype=np.float64)
    before, after = cosine(a, b), cosine(a + p, b + q)
    return float(before.mean()), float(after.mean()), float((after < before).mean())
