"""Questions about long texts: their answers by another way, their sizes, their score."""

import collections
import re

import pytest

from posenc_jax.context.prompts import DEPTHS, NOISE, RULER, TASKS, PromptError, make, score


def words(text):
    return len(text.split())


@pytest.mark.parametrize("task", TASKS)
def test_as_long_as_fits(task):
    for length in (1500, 5000):
        prompt = make(task, 1, length, words)
        assert length - 100 < words(prompt.text) + prompt.new_tokens <= length
        assert make(task, 1, length, words) == prompt
        assert make(task, 2, length, words).answers != prompt.answers


@pytest.mark.parametrize("task", ["niah_single_1", "niah_multikey_2", "niah_multikey_3"])
def test_needles(task):
    prompt = make(task, 0, 2000, words)
    key = re.search(r"What is the special magic \w+ for (\S+) mentioned", prompt.text)[1]
    found = re.findall(rf"for {key} is: (\S+)\.$", prompt.text, re.MULTILINE)
    assert tuple(found) == prompt.answers
    others = len(re.findall(r"is: ", prompt.text)) - 1
    assert others == (0 if task == "niah_single_1" else prompt.text.count("\n") - 2)


def test_variable_tracking():
    prompt = make("vt", 3, 2000, words)
    example, _, asked = prompt.text.partition("\n\n\n\n")
    for text, letters in ((example, 3), (asked, 5)):
        value = re.search(r"assigned the value (\d+) in", text)[1]
        known = {value}
        for left, right in re.findall(r"VAR (\w+) = (?:VAR )?(\w+)", text):  # in the order of the text
            assert len(left) == letters
            if right in known:
                known.add(left)
        answers = known - {value}
        assert len(answers) == 5
        assert set(example.rpartition("they are: ")[2].split() if letters == 3 else prompt.answers) == answers


@pytest.mark.parametrize(("length", "often", "seldom"), [(2000, 6, 1), (5000, 30, 3)])
def test_common_words(length, often, seldom):
    prompt = make("cwe", 0, length, words)
    listed = prompt.text.rpartition("appear most often.\n")[2].partition("\nQuestion")[0]
    counted = collections.Counter(re.findall(r"\d+\. (\S+)", listed))
    assert set(counted.values()) == {often, seldom}
    assert {word for word, count in counted.items() if count == often} == set(prompt.answers)
    assert len(prompt.answers) == 10


def test_frequent_words():
    prompt = make("fwe", 0, 5000, words)
    coded = re.search(r"appeared coded words\. (.*)\nQuestion", prompt.text)[1].split()
    first, *common = (word for word, _ in collections.Counter(coded).most_common(4))
    assert first == "..."
    assert tuple(common) == prompt.answers
    counts = collections.Counter(coded)
    assert counts["..."] / counts[common[0]] == pytest.approx(4, rel=0.01)  # k^-2


def test_the_passkey_lies_at_its_depth():
    for index, depth in enumerate(DEPTHS):
        prompt = make("passkey", index, 2000, words)
        lines = prompt.text.split("\n")[1:-1]
        (place,) = (number for number, line in enumerate(lines) if line != NOISE)
        assert prompt.depth == depth
        assert place / (len(lines) - 1) == pytest.approx(depth, abs=0.01)
        assert lines[place].count(prompt.answers[0]) == 2


def test_the_share_of_answers_counts():
    assert score("one, TWO", ("two", "three")) == 0.5
    assert score("", ("a",)) == 0
    assert set(RULER) == set(TASKS) - {"passkey"}


def test_what_is_too_short_is_said():
    with pytest.raises(PromptError, match=r"niah_single_1 needs \d+ tokens, and here are 100: leave it out"):
        make("niah_single_1", 0, 100, words)
