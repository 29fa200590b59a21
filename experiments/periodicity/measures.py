"""Numbers of one trained model, from its curves by offset: alias excess, a pair of positions, agreement with a kernel.

Curves are lists over the offsets ``-(n-1) .. n-1`` with None where nothing was asked, as in results of
`posenc_jax.data.tasks.position_probes`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Curve = Sequence[float | None]


def alias_excess(contrast: Curve, asked: Sequence[int], offset: int) -> float:
    """Confusion at ``+offset`` and ``-offset`` minus the mean of that at the two offsets beside each, from the curve of
    contrasts; the signs weigh as their numbers of questions. NaN where neither sign was asked.
    """
    return both_signs(contrast, asked, offset)


def both_signs(curve: Curve, asked: Sequence[int], offset: int) -> float:
    """The mean of a curve at ``+offset`` and ``-offset``, weighted by the number of questions."""
    zero = len(curve) // 2
    found = [(curve[at], asked[at]) for at in (zero + offset, zero - offset) if curve[at] is not None]
    total = sum(count for _, count in found)
    return sum(value * count for value, count in found) / total if total else float("nan")


def by_distance(curve: Curve, asked: Sequence[int]) -> np.ndarray:
    """``[n]``: `both_signs` at offsets 0 .. n-1."""
    return np.array([both_signs(curve, asked, offset) for offset in range(len(curve) // 2 + 1)])


def pair_excess(confusion: Sequence[Sequence[float]], a: int, b: int) -> tuple[float, float, float]:
    """For positions a < b, from the matrix of summed probabilities: the mean probability of b when asked about a and of
    a when asked about b; the same of the places beside (b - 1, b + 1 for a; a - 1, a + 1 for b); their difference.
    """
    matrix = np.asarray(confusion, np.float64)
    with np.errstate(invalid="ignore"):  # NaN where one of the two was never asked about
        given = matrix[[a, b]] / matrix[[a, b]].sum(axis=1, keepdims=True)
    here = (given[0, b] + given[1, a]) / 2
    beside = np.mean([given[0, b - 1], given[0, b + 1], given[1, a - 1], given[1, a + 1]])
    return float(here), float(beside), float(here - beside)


def rank_correlation(kernel: np.ndarray, confusion: np.ndarray) -> float:
    """Spearman's correlation over the offsets from 1 on at which something was asked; NaN if either is constant."""
    kernel, confusion = kernel[1:], confusion[1:]
    there = np.isfinite(confusion)
    ranks = [_ranks(values[there]) - (there.sum() + 1) / 2 for values in (kernel, confusion)]
    norm = np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum())
    return float((ranks[0] * ranks[1]).sum() / norm) if norm else float("nan")


def _ranks(values: np.ndarray) -> np.ndarray:
    """1 for the smallest; equal values share the mean of theirs."""
    _, number, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[number]
