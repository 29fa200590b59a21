"""Words that no training text has are counted and named."""

from posenc_jax.data.text import words


def test_foreign_words_are_counted_and_named():
    file = {"examples": 1200, "words": ["cat", "matte", "the", "über"]}
    assert words.foreign(["The CAT, the cat; Über 12."], file) is None
    assert words.foreign(["The dog and the dog.", "the cat"], file).startswith(
        "3 of 7 words occur in none of the 1,200 training examples that were looked through (dog, and): "
    )
    assert "(a, b, c, d, e, and 2 more)" in words.foreign(["a b c d e f g"], file)
    assert words.foreign(["猫がネズミを追いかけた"], file) is None  # words of such scripts are not told apart
