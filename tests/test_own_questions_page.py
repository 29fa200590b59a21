"""An own question as an example: its task by another way, and the page that says what its card says."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from experiments.own_questions.inflection import LETTERS, Inflection

FOLDER = Path(__file__).resolve().parent.parent / "experiments" / "own_questions"
CARDS = sorted(FOLDER.glob("*.json"))


def past(word):
    """English spelling, as rules for strings."""
    if word.endswith("e"):
        return f"{word}d"
    return f"{word[:-1]}ied" if word.endswith("y") and word[-2] not in "aeiouy" else f"{word}ed"


@pytest.mark.parametrize(
    ("word", "said"), [("bake", "baked"), ("try", "tried"), ("play", "played"), ("melt", "melted")]
)
def test_the_rule_is_that_of_english(word, said):
    assert past(word) == said


def test_words_are_inflected():
    task, endings = Inflection(), set()
    make = jax.jit(task.example, static_argnums=2)
    for seed in range(300):
        length = 2 + seed % 7
        words = task.describe(make(jax.random.key(seed), length, 8)).split()
        word, found = "".join(words[1 : 1 + length]), "".join(words[words.index("->") + 1 : -1])
        assert set(word) <= set(LETTERS)
        assert (len(word), found, words[-1]) == (length, past(word), "EOS")
        endings.add(found[len(word) - 1 :])
    assert "ied" in {ending[-3:] for ending in endings}


def test_an_example_is_the_same_at_every_padding():
    task = Inflection()
    length = task.min_length
    first, second = (task.example(jax.random.key(1), length, most) for most in (length, 2 * length))
    width = first.inputs.shape[0]
    for name in ("inputs", "weights", "segment_ids"):
        assert np.array_equal(getattr(first, name), getattr(second, name)[:width]), name
        assert not np.asarray(getattr(second, name))[width:].any()


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_the_page_has_the_card(path):
    """Its lines are those of the record: that they are current is tested with all generated texts."""
    card, page = json.loads(path.read_text()), (FOLDER / "README.md").read_text()
    (asked,) = card["tables"].values()
    assert asked["source"] == f"experiments/own_questions/{path.stem}.py"
    for finding in card["findings"]:
        assert f"| {finding['label']} | {finding['said']} |" in page
    assert f" --on {asked['source']}\n" in page
    assert f"{card['seconds'] / 60:.0f} minutes of runs" in page


def test_every_question_has_a_card():
    assert {path.stem for path in CARDS} == {path.stem for path in FOLDER.glob("[a-z]*.py")}
