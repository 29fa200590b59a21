"""ROUGE-1, ROUGE-2 and ROUGE-L of summaries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from posenc_jax.data.metrics.pairs import check_pairs


def rouge(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """``{"rouge1", "rouge2", "rougeL"}``: F-measures from 0 to 1, means over the texts, one reference each.

    ``m`` is the number of common n-grams (each as often as in the text with fewer); for ROUGE-L it is the length of
    the longest common subsequence of the whole texts. With ``h``, ``r`` the numbers of n-grams (tokens) of each::

        P = m / h    R = m / r    F = 2 P R / (P + R) = 2 m / (h + r)

    ``m = 0`` gives 0, an empty text against an empty reference too. Tokens are runs of ``[a-z0-9]`` in lower case, not
    stemmed, as in the package rouge-score: letters outside ASCII are dropped ("café" is "caf"), and a text of other
    scripts has no tokens and scores 0. Compare such languages by chrF.

    Raises:
      ValueError: see `check_pairs`.

    Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", sections 2 and 3 (with beta = 1).
    """
    check_pairs(hypotheses, references)
    scores = [_scores(_tokens(h), _tokens(r)) for h, r in zip(hypotheses, references)]
    return {name: sum(score[name] for score in scores) / len(scores) for name in scores[0]}


def _scores(hypothesis: list[str], reference: list[str]) -> dict[str, float]:
    both = len(hypothesis) + len(reference)
    return {
        "rouge1": _f_measure(_shared(hypothesis, reference, 1), both),
        "rouge2": _f_measure(_shared(hypothesis, reference, 2), both - 2),
        "rougeL": _f_measure(longest_common_subsequence(hypothesis, reference), both),
    }


def _f_measure(matches: int, both: int) -> float:
    return 2 * matches / both if matches else 0.0


def _tokens(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def _shared(a: list[str], b: list[str], n: int) -> int:
    """Number of n-grams in both, each as often as in the one with fewer."""
    counts = [Counter(zip(*(tokens[i:] for i in range(n)))) for tokens in (a, b)]
    return (counts[0] & counts[1]).total()


def longest_common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest sequence that ``a`` and ``b`` both contain in order, with gaps.

    ``L[i, j]`` of the first i and j tokens is the largest of ``L[i-1, j]``, ``L[i, j-1]`` and, if tokens i and j are
    equal, ``L[i-1, j-1] + 1``: a row at a time, the step along the row being a running maximum.
    """
    number = {token: i for i, token in enumerate(dict.fromkeys([*a, *b]))}
    columns = np.array([number[token] for token in b], np.int64)
    row = np.zeros(len(b) + 1, np.int64)
    for token in a:
        row[1:] = np.maximum.accumulate(np.maximum(row[1:], row[:-1] + (columns == number[token])))
    return int(row[-1])
