"""Scores of whole sets of texts and labels, computed on the host after decoding.

Scores that are sums over tokens, and so add up over batches and devices, are in `posenc_jax.data.scoring`. BLEU and
chrF are sacrebleu's, whose signature makes two numbers comparable.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc_jax.encodings.interface.base import Array
from posenc_jax.extras import needed


def macro_f1(confusion: Array) -> float:
    """The mean over classes of ``F1 = 2 right / (predicted + references)``, from counts ``confusion [C, C]``: row =
    reference, column = prediction; of at least one example.

    The classes are those that occur among the references or the predictions (scikit-learn's default). One in neither
    has the F1 0/0; any number for it would make the mean depend on classes that the texts know nothing of. One that is
    only predicted counts with its F1 of 0: leaving it out would forgive predictions of absent classes.
    """
    counts = np.asarray(confusion, np.float64)
    occurrences = counts.sum(0) + counts.sum(1)
    occurring = occurrences > 0
    return float(np.mean(2 * np.diag(counts)[occurring] / occurrences[occurring]))


def rouge(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """``{"rouge1", "rouge2", "rougeL"}``: F-measures from 0 to 1, means over the texts, one reference each.

    ``m`` is the number of common n-grams (each as often as in the text with fewer); for ROUGE-L it is the length of
    the longest common subsequence of the whole texts. With ``h``, ``r`` the numbers of n-grams (tokens) of each::

        P = m / h    R = m / r    F = 2 P R / (P + R) = 2 m / (h + r)

    ``m = 0`` gives 0, an empty text against an empty reference too. Tokens are runs of ``[a-z0-9]`` in lower case, not
    stemmed, as in the package rouge-score: letters outside ASCII are dropped ("café" is "caf"), and a text of other
    scripts has no tokens and scores 0. Compare such languages by chrF.

    Raises:
      ValueError: texts without a reference each.

    Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", sections 2 and 3 (with beta = 1).
    """
    _check_pairs(hypotheses, references)
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


@dataclasses.dataclass(frozen=True)
class Score:
    """``value``, from 0 to 100, and the ``signature`` of how it was computed: numbers with equal ones compare."""

    value: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[str], language: str | None = None) -> Score:
    """Corpus BLEU of detokenised texts, one reference each.

    With ``p_n`` the share of the n-grams of all hypotheses that their references contain (each as often as there), and
    ``h``, ``r`` the numbers of tokens on both sides::

        BLEU = 100 min(1, exp(1 - r/h)) (p_1 p_2 p_3 p_4)^(1/4)

    Sums come before ratios, so it is no mean over sentences; zero counts are smoothed (exponentially), if any is not 0.

    Args:
      language: code of the references' language, which chooses the tokenizer: characters for "zh", MeCab for "ja" and
        "ko" (packages of their own), else 13a, which splits at spaces and punctuation.

    Raises:
      ValueError: texts without a reference each; the tokenizer of the language is not installed.

    Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; Post 2018, arXiv:1804.08771.
    """
    _check_pairs(hypotheses, references)
    with needed("text", "BLEU"):
        from sacrebleu.metrics import BLEU

    try:
        metric = BLEU(trg_lang=language or "")
    except RuntimeError as problem:
        raise ValueError(
            f"BLEU of language {language!r} needs a tokenizer that is not installed: pip install "
            f"'sacrebleu[{language}]', or score with chrF, which needs none"
        ) from problem
    return _score(metric, hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2: F-score of character n-grams up to 6, recall weighted twice, spaces left out; for any language.

    With ``P``, ``R`` the means over n of the n-grams' precision and recall (counted over the corpus)::

        chrF = 100 (1 + 2^2) P R / (2^2 P + R)

    Raises:
      ValueError: texts without a reference each.

    Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation".
    """
    _check_pairs(hypotheses, references)
    with needed("text", "chrF"):
        from sacrebleu.metrics import CHRF

    return _score(CHRF(), hypotheses, references)


def _score(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    # Equal texts come out at 100.00000000000004.
    return Score(min(value, 100.0), str(metric.get_signature()))  # known only after the references were seen


def _check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuses what is not one reference for every hypothesis, of which there is at least one.

    Raises:
      ValueError: lists of different lengths, empty lists, a single text in place of a list.
    """
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise ValueError(f"{name} = {texts!r} is one text, whose characters would be scored: pass a list, [text]")
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses and {len(references)} references: every hypothesis needs exactly one "
            "reference, in the same order"
        )
    if not hypotheses:
        raise ValueError("no hypotheses: a score is a mean or a ratio over texts and needs at least one")
