"""Words and pairs of words that no training text has are counted and named."""

import functools

import pytest

from experiments.translation import generated
from posenc_jax.data.corpora import grammar
from posenc_jax.data.text import words

LOOKED = "training examples that were looked through"


def test_foreign_words_are_counted_and_named():
    file = {"examples": 1200, "words": ["cat", "matte", "the", "über"]}

    def said(*texts):
        return words.foreign({f"text {n}": text for n, text in enumerate(texts, 1)}, file)

    assert said("The CAT, the cat; Über 12.") == []
    (sentence,) = said("The dog and the dog.", "the cat", "and")
    assert sentence.startswith(f"4 of 8 words occur in none of the 1,200 {LOOKED} (dog, and; in text 1, text 3): ")
    (sentence,) = said("a b c d e f g")
    assert "(a, b, c, d, e, and 2 more): " in sentence
    assert said("猫がネズミを追いかけた") == []  # words of such scripts are not told apart


@functools.cache
def english():
    rows = grammar.translation()
    return {split: [row["en"] for row in own] for split, own in rows.items()}


@functools.cache
def kept():
    train = english()["train"]
    return {"examples": len(train), "words": sorted(set(words.words_of(train))), "pairs": words.few_pairs(train)}


def said_of(text):
    return words.foreign({"text 1": text}, kept())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The cat sat.", '"sat ."'),
        ("The old cat slept", '"slept" at its end'),
        ("the cat sat on the mat.", '"the" at its beginning'),
        ("Cat sat on mat.", '"Cat" at its beginning, "Cat sat", "on mat"'),
        ("The cat the mouse chased.", '"cat the", "chased ."'),
    ],
)
def test_sentences_that_a_grammar_lacks_are_said(text, named):
    (sentence,) = said_of(text)
    assert sentence.startswith(f"text 1: none of the 22,123 {LOOKED} has {named}: ")


def test_nothing_is_said_of_sentences_of_a_grammar():
    held_out = english()["validation"] + english()["test"]
    known = set(kept()["pairs"])
    assert [text for text in held_out if not known.issuperset(words.pairs_of(text))] == []
    page = (generated.HERE / "README.md").read_text()
    assert f"; of {len(held_out):,} held-out sentences none has such a pair." in page
    assert said_of("The mat sat on the cat.") == []
    assert len(said_of("The zebra sat on the mat.")) == 1  # the word alone


def test_pairs_are_kept_only_where_a_new_one_is_a_sign():
    assert words.few_pairs(["red sun"] * 999) is None
    assert words.few_pairs(["red sun"] * 1000) == [" red", "red sun", "sun "]
    assert words.few_pairs([f"a {n}" for n in range(2000)]) is None
    assert words.few_pairs(["red sun"] * 990 + ["sun red"] * 10) is not None
