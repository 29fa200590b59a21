"""BLEU and chrF of a corpus, through sacrebleu, whose signature makes two numbers comparable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from posenc_jax.data.metrics.pairs import check_pairs
from posenc_jax.extras import needed


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
      ValueError: see `check_pairs`; the tokenizer of the language is not installed.

    Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; Post 2018, arXiv:1804.08771.
    """
    check_pairs(hypotheses, references)
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
      ValueError: see `check_pairs`.

    Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation".
    """
    check_pairs(hypotheses, references)
    with needed("text", "chrF"):
        from sacrebleu.metrics import CHRF

    return _score(CHRF(), hypotheses, references)


def _score(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    # Equal texts come out at 100.00000000000004.
    return Score(min(value, 100.0), str(metric.get_signature()))  # known only after the references were seen
