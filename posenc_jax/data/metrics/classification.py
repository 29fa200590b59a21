"""Accuracy and macro F1 from a confusion matrix, which adds up over batches and devices."""

from __future__ import annotations

import numpy as np

from posenc_jax.encodings.base import Array


def accuracy(confusion: Array) -> float:
    """The share of right predictions, from ``confusion [C, C]``: row = reference, column = prediction.

    Raises:
      ValueError: not a square matrix of counts with at least one example.
    """
    counts = _counts(confusion)
    return float(np.trace(counts) / counts.sum())


def macro_f1(confusion: Array) -> float:
    """The mean over classes of ``F1 = 2 right / (predicted + references)``, from ``confusion [C, C]`` as in `accuracy`.

    The classes are those that occur among the references or the predictions (scikit-learn's default). One in neither
    has the F1 0/0; any number for it would make the mean depend on classes that the texts know nothing of. One that is
    only predicted counts with its F1 of 0: leaving it out would forgive predictions of absent classes.

    Raises:
      ValueError: as `accuracy`.
    """
    counts = _counts(confusion)
    occurrences = counts.sum(0) + counts.sum(1)
    occurring = occurrences > 0
    return float(np.mean(2 * np.diag(counts)[occurring] / occurrences[occurring]))


def _counts(confusion: Array) -> np.ndarray:
    counts = np.asarray(confusion, np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
        raise ValueError(f"confusion of shape {counts.shape} is not square: pass [C, C], references by predictions")
    if not np.all(np.isfinite(counts)) or np.any(counts < 0):
        raise ValueError(f"confusion {counts.tolist()} holds something that is no count: pass numbers of examples")
    if not counts.sum():
        raise ValueError("confusion is all zeros: a score is a ratio of counts and needs at least one example")
    return counts
