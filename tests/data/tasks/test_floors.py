"""What answers get that do not look at the input, or not at what is asked."""

import collections
import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.tables.__main__ import config_of
from experiments.tables.folders import ROOT, folders, read_folder
from posenc_jax.cli import main
from posenc_jax.config.guessing import chance_of
from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.tasks import TASKS
from posenc_jax.data.tasks.addition import Addition
from posenc_jax.data.tasks.chomsky import BucketSort, EvenPairs
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.data.tasks.flip_flop import FlipFlop
from posenc_jax.data.tasks.floors import floors, majority_score
from posenc_jax.data.tasks.needles import Needles, PhoneBook
from posenc_jax.data.tasks.position_probes import PositionOf
from posenc_jax.data.tasks.recall import RepeatedRecall
from posenc_jax.data.tasks.word_problem import WordProblem
from posenc_jax.data.text import TEXT_TASKS, Classification, Data
from posenc_jax.verdict.tables import tables

pytestmark = pytest.mark.usefixtures("measured_floors")
COUNT = 16_384


def drawn(task, length, count):
    """Batches of drawn examples."""
    padded = task.padded_length(length)
    make = jax.jit(lambda n: task.test_batch(None, jax.random.key(77), jnp.int32(length), n, padded))
    chunk = min(count, 1024)
    return [make(first + np.arange(chunk)) for first in range(0, count, chunk)]


def by_counting(task, length, count):
    """The score of the best fixed answer among drawn examples, and what can be seen of it: of the most frequent target
    of each turn, and of the most frequent whole answer.
    """
    rows = collections.Counter()
    for example in drawn(task, length, count):
        asked, targets = np.asarray(example.weights) > 0, np.asarray(example.targets)
        rows.update(tuple(own[there].tolist()) for own, there in zip(targets, asked) if there.any())
    turns = collections.defaultdict(collections.Counter)
    for row, often in rows.items():
        for place, target in enumerate(row):
            turns[place][target] += often
    in_turn = [turns[place].most_common(1)[0][0] for place in range(len(turns))]
    ((whole, most),) = rows.most_common(1)
    if task.metric == "exact_match":
        right = sum(often for row, often in rows.items() if list(row) == in_turn[: len(row)])
        return max(right, most) / rows.total()
    answers = in_turn, [*whole, *in_turn[len(whole) :]]
    right = [sum(turns[place][target] for place, target in enumerate(own)) for own in answers]
    return max(right) / sum(own.total() for own in turns.values())


def test_a_sorted_string_tells_much_by_place_and_length():
    task, published = BucketSort(max_length=10), {12: 0.616, 15: 0.655, 20: 0.694, 30: 0.745, 40: 0.778}
    assert {n: round(task.chance_at(n), 3) for n in published} == published
    assert task.chance == task.chance_at(10) == pytest.approx(0.598, abs=5e-4)
    by_strings = {n: _of_all_strings(n) for n in (1, 2, 3, 5)}
    assert {n: task.chance_at(n) for n in by_strings} == pytest.approx(by_strings)
    measured, count = majority_score(task, 12, 12, COUNT)
    assert (measured, count) == (pytest.approx(task.chance_at(12), abs=0.004), 16_384)
    assert floors(task, (12,)) == {12: task.chance_at(12)}, "the exact one, which the measured one is no better than"


def test_of_labelled_texts_it_is_the_most_frequent_label_of_the_test_split(tmp_path, monkeypatch):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    task = Classification(labels=("a", "b", "c"), data=Data(name="own/mail"))
    assert floors(task, (64,)) == {64: 1 / 3}, "without the corpus that of a guess"
    for label, count in {"a": 40, "b": 30, "c": 230}.items():
        (tmp_path / "mail" / label).mkdir(parents=True)
        for number in range(count):
            (tmp_path / "mail" / label / f"{number}.txt").write_text(f"{label} letter {number}")
    assert main(["data", "add", "mail", "--folder", str(tmp_path / "mail")]) == 0
    labels = [row["label"] for row in load_split("own/mail", "test")]
    share = labels.count("c") / len(labels)
    assert floors(task, (64, 128)) == {64: share, 128: share}
    assert share > 0.5
    assert chance_of(task) == 1 / 3


def _of_all_strings(length):
    strings = np.sort(np.array([*itertools.product(range(5), repeat=length)]), axis=1)
    return np.mean([np.bincount(place).max() / len(strings) for place in strings.T])


def test_a_constant_answer_is_chance_where_answers_are_alike():
    assert floors(EvenPairs(max_length=8), (8,)) == {8: 0.5}
    one_of_a_hundred = majority_score(Copying(max_length=4), 3, 4, COUNT)
    assert one_of_a_hundred == (pytest.approx(0.01), 100), "there are a hundred examples"
    assert majority_score(PositionOf(length=16), 16, 16, COUNT)[0] == pytest.approx(1 / 16, abs=0.01), "a place"
    assert majority_score(FlipFlop(length=16), 16, 16, COUNT)[0] == pytest.approx(0.5, abs=0.02), "errors"
    assert floors(Addition(max_length=2), (1,))[1] == pytest.approx(0.0975, abs=0.01), "9 or 10"


def test_of_texts_and_of_losses_there_is_none():
    for cls in TEXT_TASKS.values():
        assert cls.test_batch is not BucketSort.test_batch
    loss = type("Loss", (EvenPairs,), {"metric": "loss"})
    assert majority_score(dataclasses.dataclass(frozen=True)(loss)(max_length=4), 4, 4, COUNT) is None


def test_shortcuts_by_drawn_examples():
    """What each answer gets that reads everything but what is asked."""
    flip, book, keys = FlipFlop(length=32), PhoneBook(max_length=4), Needles(min_length=40, max_length=60)
    wrong, reads = 0, 0
    for example in drawn(flip, 32, 12_288):
        tokens, asked = np.asarray(example.inputs), np.asarray(example.weights) > 0
        asked[np.asarray(example.group) != 1] = False  # the sparse set
        row, place = np.nonzero(asked)
        reads, wrong = (
            reads + len(row),
            wrong + np.sum(tokens[row, place - 1] != np.asarray(example.targets)[row, place]),
        )
    assert wrong / reads == pytest.approx(flip.shortcut_score((32,)), abs=0.02)
    assert book.shortcut_score((2, 4)) == (1 / 2 + 1 / 4) / 2
    assert (keys.shortcut, keys.shortcut_score((40,))) == ("the value of any key", 1 / 4)
    assert Needles(min_length=40, max_length=60, num_values=2).shortcut == ""
    assert Copying().shortcut_score((9, 10, 11, 12)) == 1 / 4
    assert (Copying(kind="cmc").shortcut, Copying(kind="cmc").shortcut_score((9,))) == ("", None)
    group = WordProblem(group="s3", max_length=6)
    right = [np.asarray(e.inputs)[:, 1:7] == np.asarray(e.targets)[:, 1:7] for e in drawn(group, 6, 8192)]
    assert np.mean(right) == pytest.approx(group.shortcut_score((6,)), abs=0.01)
    recall = RepeatedRecall(min_length=32, max_length=32, vocabulary=64, num_pairs=4)
    shares = []
    for example in drawn(recall, 32, 2048):
        for tokens, asked in zip(np.asarray(example.inputs), np.asarray(example.weights) > 0):
            earlier = [sum(tokens[:at:2] == tokens[at]) for at in np.flatnonzero(asked)]
            shares += [1 / own for own in earlier]
    assert np.mean(shares) == pytest.approx(recall.shortcut_score((32,)), rel=0.05)


@pytest.mark.parametrize("length", [2, 3, 7, 12])
def test_what_the_numbers_of_zeros_and_ones_tell_of_a_string(length):
    """By all strings: of their ends, and of every symbol of a copy."""
    strings = [*itertools.product((0, 1), repeat=length)]
    equal = collections.Counter((sum(own), own[0] == own[-1]) for own in strings)
    ends = sum(max(equal[ones, True], equal[ones, False]) for ones in range(length + 1)) / len(strings)
    most = np.mean([max(sum(own), length - sum(own)) / length for own in strings])
    assert EvenPairs().shortcut_score((length,)) == pytest.approx(ends, abs=0.005)
    for name in ("reverse_string", "duplicate_string", "odds_first"):
        assert TASKS[name]().shortcut_score((length,)) == pytest.approx(most, abs=0.005)
        assert TASKS[name]().shortcut == "the most frequent symbol of the string"
    both = EvenPairs().shortcut_score((length, 40))
    assert both == pytest.approx((ends + EvenPairs().shortcut_score((40,))) / 2, abs=0.005)


def test_the_most_frequent_arrow_of_a_grid():
    task = TASKS["arrow_grid"](size=5, num_arrows=4, num_letters=2)
    tokens = np.concatenate([example.inputs for example in drawn(task, 5, 4096)])
    most = [np.bincount(row[(row > 0) & (row < 5)], minlength=5).max() / 4 for row in tokens]
    assert np.mean(most) == pytest.approx(task.shortcut_score((5,)), abs=0.02)


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.slow
def test_floors_are_those_of_100_000_drawn_examples(name):
    _check(TASKS[name](), TASKS[name]().train_lengths[-1])


@pytest.mark.parametrize("name", tables())
@pytest.mark.slow
def test_floors_of_tables_are_those_of_100_000_drawn_examples(name):
    run = tables()[name].run
    for length in run.evaluation.lengths[:: len(run.evaluation.lengths) - 1 or 1]:
        _check(run.task, length)


@pytest.mark.parametrize("folder", folders(ROOT))
@pytest.mark.slow
def test_floors_of_published_tables_are_those_of_100_000_drawn_examples(folder):
    asked = {run.table: run for run in config_of(read_folder(ROOT / folder)).runs}
    for run in asked.values():
        if type(run.task) in TASKS.values():
            _check(run.task, run.evaluation.lengths[-1])


def _check(task, length):
    score, count = majority_score(task, length, length, COUNT)
    if task.metric not in ("accuracy", "exact_match"):
        assert score == pytest.approx(task.chance, abs=0.02), "errors of guessed bits, and whole sentences"
        return
    again = by_counting(task, length, 102_400 if task.width(length) < 2048 else 10_240)
    assert score == pytest.approx(again, abs=4 * (again * (1 - again) / count) ** 0.5 + 5e-4)
