"""Own questions as examples: their tasks by another way, and the page that says what their cards say."""

from pathlib import Path

import jax
import numpy as np
import pytest

from experiments.own_questions.inflection import LETTERS, Inflection
from experiments.own_questions.melody import DURATIONS, PITCHES, Melody
from experiments.own_questions.season import Season

FOLDER = Path(__file__).resolve().parent.parent / "experiments" / "own_questions"
CARDS = sorted(FOLDER.glob("*.json"))


def past(word):
    """English spelling, as rules for strings."""
    if word.endswith("e"):
        return f"{word}d"
    return f"{word[:-1]}ied" if word.endswith("y") and word[-2] not in "aeiouy" else f"{word}ed"


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


def test_melodies_repeat_and_move():
    task, moves = Melody(), set()
    make = jax.jit(task.example, static_argnums=2)
    for seed in range(100):
        length = 9 + seed % 12
        example = make(jax.random.key(seed), length, 20)
        inputs, targets, weights = (np.asarray(part) for part in (example.inputs, example.targets, example.weights))
        tokens = [*inputs[: 2 * length - 1], targets[2 * length - 2]]
        durations, pitches = tokens[::2], tokens[1::2]
        assert set(durations) <= set(range(len(DURATIONS)))
        asked = np.flatnonzero(weights) + 1
        motif = asked[0] // 4
        assert motif in (2, 3, 4)
        assert asked.tolist() == list(range(4 * motif, 2 * length)), "all from the third time on"
        assert all(durations[e] == durations[e - motif] for e in range(motif, length))
        moved = {(pitches[e] - pitches[e - motif]) % len(PITCHES) for e in range(motif, length)}
        assert len(moved) == 1
        assert targets[asked - 1].tolist() == [tokens[place] for place in asked]
        moves |= moved
    assert moves == {0, 2, len(PITCHES) - 2}


def test_a_year_tells_the_next():
    task, missed, months = Season(), 0, 0
    make = jax.jit(task.example, static_argnums=2)
    for seed in range(50):
        length = 24 + seed % 25
        example = make(jax.random.key(seed), length, 48)
        inputs, targets, weights = (np.asarray(part) for part in (example.inputs, example.targets, example.weights))
        names = [task.token_names[token] for token in inputs[: length - 1]]
        year = {t % 12: name for t, name in enumerate(names) if name != "?"}
        assert all(name == "?" or name == year[t % 12] for t, name in enumerate(names)), "every year is the same"
        for t in range(1, length):
            told = [names[t - back] for back in (12, 24) if t >= back and names[t - back] != "?"]
            assert weights[t - 1] == bool(told)
            assert not told or str(targets[t - 1]) == told[0]
        assert not weights[length - 1 :].any()
        missed, months = missed + names.count("?"), months + len(names)
    assert missed / months == pytest.approx(1 / 6, abs=0.03)  # of 1,800 months; three standard errors are 0.026


@pytest.mark.parametrize("task", [Inflection(), Melody(), Season()])
def test_an_example_is_the_same_at_every_padding(task):
    length = task.min_length
    first, second = (task.example(jax.random.key(1), length, most) for most in (length, 2 * length))
    width = first.inputs.shape[0]
    for name in ("inputs", "targets", "weights", "segment_ids"):
        assert np.array_equal(getattr(first, name), getattr(second, name)[:width]), name
        assert not np.asarray(getattr(second, name))[width:].any()


def test_every_question_is_asked_on_the_page():
    page = (FOLDER / "README.md").read_text()
    for path in FOLDER.glob("[a-z]*.py"):
        section = page.partition(f" --on experiments/own_questions/{path.name}\n")[2].partition("\n## ")[0]
        assert f"<!-- card: {path.stem}.json -->" in section or "It has not been run." in section, path.name
        assert path.read_text().partition("\n\n")[2].startswith("    posenc verdict "), "the command of the page"
