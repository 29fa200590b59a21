"""Scores of texts and labels against numbers worked by hand and against the packages that others use."""

import math
import sys

import numpy as np
import pytest

from posenc_jax.data.metrics import bleu, chrf, macro_f1, rouge


def test_bleu_by_hand():
    # n-grams found / all, over both sentences: 4+4 of 5+4, 3+3 of 4+3, 2+2 of 3+2, 1+1 of 2+1; 9 tokens against 11.
    score = bleu(["a b c d e", "w x y z"], ["a b c d f g", "w x y z u"])
    product = 8 / 9 * 6 / 7 * 4 / 5 * 2 / 3
    assert score.value == pytest.approx(100 * math.exp(1 - 11 / 9) * product**0.25, abs=1e-9)
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_bleu_of_chinese_counts_characters():
    hypotheses, references = ["我很喜欢你们"], ["我很喜欢他们"]  # 5 of 6, 3 of 5, 2 of 4, 1 of 3
    score = bleu(hypotheses, references, language="zh")
    assert score.value == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, abs=1e-9)
    assert "|tok:zh|" in score.signature
    assert bleu(hypotheses, references, language="de").value == 0  # one word of 13a, and it is another


def test_bleu_without_the_language_s_tokenizer_points_to_chrf(monkeypatch):
    monkeypatch.setitem(sys.modules, "MeCab", None)
    with pytest.raises(ValueError, match=r"'ja' needs a tokenizer that is not installed: .*'sacrebleu\[ja\]'.*chrF"):
        bleu(["猫"], ["犬"], language="ja")


def test_chrf_by_hand():
    # "abcd" against "abc e f": characters 3 of 4 and 5, pairs 2 of 3 and 4, triples 1 of 2 and 3, 0 of 1 and 2; longer
    # n-grams are not in both texts.
    precision, recall = (3 / 4 + 2 / 3 + 1 / 2) / 4, (3 / 5 + 2 / 4 + 1 / 3) / 4
    score = chrf(["abcd"], ["abc e f"])
    assert score.value == pytest.approx(500 * precision * recall / (4 * precision + recall), abs=1e-9)
    assert score.signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_equal_texts_score_exactly_100_and_nothing_scores_0(metric):
    texts = ["Der Hund biss den Mann.", "Das war nicht unerwartet; nein.", "Er biss ihn zuerst."]
    assert metric(texts, texts).value == 100
    assert metric([""], ["a b c d e"]).value == 0


def test_rouge_equals_rouge_score():
    from rouge_score.rouge_scorer import RougeScorer

    rng = np.random.default_rng(0)
    words = np.array(["the", "The", "a", "cat.", "x-y_z", "2nd", "café", "Straße", "İ", "猫", "\n", "mat,the", "..."])
    texts = [" ".join(rng.choice(words, rng.integers(0, 25))) for _ in range(100)]
    hypotheses, references = ["", "", "a", "a", "猫", *texts[::2]], ["", "a", "", "a", "猫", *texts[1::2]]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    theirs = [scorer.score(r, h) for h, r in zip(hypotheses, references, strict=True)]
    for h, r, expected in zip(hypotheses, references, theirs, strict=True):
        found = rouge([h], [r])
        assert found.keys() == expected.keys()
        for name, value in found.items():
            assert value == pytest.approx(expected[name].fmeasure, abs=1e-12), (h, r)
    for name, value in rouge(hypotheses, references).items():
        assert value == pytest.approx(np.mean([score[name].fmeasure for score in theirs]), abs=1e-12)


def confusion_of(references, predictions, num_classes):
    confusion = np.zeros((num_classes, num_classes), np.int32)
    np.add.at(confusion, (references, predictions), 1)
    return confusion


def test_macro_f1_equals_that_of_scikit_learn():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(2)
    for num_classes in (2, 3, 9):
        for size in (1, 4, 40):  # few examples leave classes out on one side or on both
            references, predictions = rng.integers(0, num_classes, (2, size))
            confusion = confusion_of(references, predictions, num_classes)
            expected = f1_score(references, predictions, average="macro", zero_division=0)
            assert macro_f1(confusion) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", [bleu, chrf, rouge])
def test_texts_without_partners_are_refused(metric):
    with pytest.raises(ValueError, match=r"2 hypotheses and 1 references: .* exactly one reference"):
        metric(["a", "b"], ["a"])
    with pytest.raises(ValueError, match=r"no hypotheses: .* needs at least one"):
        metric([], [])
    with pytest.raises(ValueError, match=r"references = 'a b' is one text.*pass a list"):
        metric(["a", " ", "b"], "a b")
