import collections
import functools
import hashlib

import jax
import numpy as np
import pytest

from posenc_jax.data.tasks import Scan
from posenc_jax.data.tasks.scan import CUTOFFS, commands, phrases, table

# Commands per number of actions, counted in the authors' files (tasks_train_length.txt, tasks_test_length.txt).
TRAIN = {1: 6, 2: 88, 3: 398, 4: 860, 5: 1184, 6: 1178, 7: 1104, 8: 1450, 9: 1256, 10: 1696, 11: 1072, 12: 1578}
TRAIN |= {13: 432, 14: 848, 15: 688, 16: 304, 17: 512, 18: 784, 19: 448, 20: 464, 21: 64, 22: 576}
TEST = {24: 336, 25: 448, 26: 512, 27: 448, 28: 448, 30: 576, 32: 448, 33: 256, 36: 64, 40: 256, 48: 128}
LENGTHS = sorted(TRAIN | TEST)
SPLITS = [Scan(split="simple"), Scan(split="length"), *(Scan(cutoff=cutoff) for cutoff in CUTOFFS)]


def interpret(words):
    """A reader of commands: the last "and" or "after" first, then "twice" and "thrice", then manner and direction."""
    for connective in ("and", "after"):
        if connective in words:
            place = words.index(connective)
            left, right = interpret(words[:place]), interpret(words[place + 1 :])
            return left + right if connective == "and" else right + left
    if words[-1] in ("twice", "thrice"):
        return interpret(words[:-1]) * {"twice": 2, "thrice": 3}[words[-1]]
    verb, *rest = words
    act = [] if verb == "turn" else ["I_" + verb.upper()]
    if not rest:
        return act
    turn = ["I_TURN_" + rest[-1].upper()]
    if rest[0] == "around":
        return (turn + act) + (turn + act) + (turn + act) + (turn + act)
    return turn + turn + act if rest[0] == "opposite" else turn + act


def test_the_data_set_is_the_published_one():
    every = commands()
    assert (len(phrases()), len(every)) == (102, 20_910)
    lines = sorted(f"IN: {command} OUT: {actions}" for command, actions in every.items())
    # The SHA-256 of the sorted lines of tasks.txt in the authors' repository.
    published = "345bff3c25864652f326ba1960aa515d156b63f45067ea57268f71d7362a2440"
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == published


def test_actions_are_those_of_the_interpretation():
    every = commands()
    for command, actions in every.items():
        assert actions.split() == interpret(command.split())
    assert every["jump opposite left and walk thrice"] == "I_TURN_LEFT I_TURN_LEFT I_JUMP I_WALK I_WALK I_WALK"
    assert every["jump opposite left after walk around left"] == (
        "I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK I_TURN_LEFT I_WALK I_TURN_LEFT I_TURN_LEFT I_JUMP"
    )
    assert len({word for command in every for word in command.split()}) == 13
    assert len({action for actions in every.values() for action in actions.split()}) == 6


def members(task, side):
    return task.part(side).order


@pytest.mark.parametrize("task", SPLITS, ids=lambda task: f"{task.split}-{task.cutoff}")
def test_splits(task):
    data = table()
    train, test = members(task, "train"), members(task, "test")
    limit = {"simple": 48, "length": 22, "length_cutoff": task.cutoff}[task.split]
    train_counts = collections.Counter(data.num_actions[train].tolist())
    test_counts = collections.Counter(data.num_actions[test].tolist())
    assert task.train_lengths == tuple(n for n in LENGTHS if n <= limit)
    for n in LENGTHS:
        total = (TRAIN | TEST)[n]
        share = {"simple": 5, "length_cutoff": 10}.get(task.split)
        held_out = -(-total // share) if share else 0  # rounded up
        expected = (total - held_out, held_out if share else total) if n <= limit else (0, total)
        assert (train_counts[n], test_counts[n]) == expected
        assert task.part("test").counts[n] == expected[1]
        task.check_length(n)
    if task.split == "length":
        assert (len(train), test_counts.total() - len(train)) == (16_990, 3_920)
        assert set(train) <= set(test)  # nothing is held out in range
    else:
        assert sorted([*train, *test]) == list(range(20_910))


@functools.cache
def drawer(task):
    return jax.jit(jax.vmap(lambda i, n: task.test_example(jax.random.key(0), i, n, 48)))


def sentences(task, batch):
    """``(command, actions)`` of every row, with the layout checked."""
    names = np.array(task.token_names)
    batch = jax.tree.map(np.asarray, batch)
    for row in range(len(batch.length)):
        inputs = names[batch.inputs[row, : batch.length[row]]].tolist()
        targets = names[batch.targets[row, batch.weights[row] == 1]].tolist()
        assert inputs[0] == "BOS"
        assert targets.pop() == "EOS"
        if task.model == "decoder_only":
            separator = inputs.index("SEP")
            read = inputs[separator + 1 :]
            command = inputs[1:separator]
        else:
            start, *read = names[batch.decoder_inputs[row, : batch.decoder_length[row]]].tolist()
            assert start == "BOS"
            assert inputs.pop() == "EOS"
            command = inputs[1:]
        assert read == targets
        yield " ".join(command), targets


@pytest.mark.parametrize(
    "task", [Scan(model="encoder_decoder"), Scan(split="simple")], ids=["encoder_decoder", "decoder_only"]
)
def test_every_test_example_comes_once(task):
    counts = [task.part("test").counts[n] for n in LENGTHS]
    lengths, indices = np.repeat(LENGTHS, counts).astype(np.int32), np.concatenate([*map(np.arange, counts)])
    batch = drawer(task)(indices, lengths)
    assert batch.inputs.shape[1] == task.width(48)
    if task.model == "encoder_decoder":
        assert batch.decoder_inputs.shape[1] == batch.targets.shape[1] == task.decoder_width(48)
    seen = list(sentences(task, batch))
    for (command, actions), n in zip(seen, lengths, strict=True):
        assert len(actions) == n
        assert actions == interpret(command.split())
    every = list(commands())
    assert sorted(command for command, _ in seen) == sorted(every[i] for i in members(task, "test"))


def test_there_is_nothing_beyond_the_last_example():
    task = Scan(split="simple")
    count = task.part("test").counts[21]
    weights = np.asarray(drawer(task)(np.arange(count - 1, count + 40), np.full(41, 21)).weights).sum(axis=1)
    assert weights.tolist() == [22] + [0] * 40
    drawn = jax.jit(jax.vmap(lambda n: task.example(jax.random.key(0), n, 48)))
    absent = drawn(np.array([23, 48]))
    assert absent.weights.sum(axis=1).tolist() == [0, 49]


def test_training_draws_uniformly_from_the_training_commands():
    task = Scan(cutoff=25)
    size, draws = len(members(task, "train")), 60_000

    @jax.jit
    @jax.vmap
    def draw(key):
        length_key, example_key = jax.random.split(key)
        length = task.sample_lengths(length_key, ())
        return length, task.example(example_key, length, 25, "train")

    lengths, batch = jax.tree.map(np.asarray, draw(jax.random.split(jax.random.key(4), draws)))
    rows = collections.Counter(row.tobytes() for row in batch.inputs[:, :11].astype(np.uint8))
    counts = np.array([*rows.values(), *[0] * (size - len(rows))])
    assert batch.weights.any(axis=1).all()
    # All of the data but a share exp(-draws / size) shows up, and nothing else.
    assert len(rows) <= size
    assert abs(len(rows) / size - (1 - np.exp(-draws / size))) < 0.01
    # Poisson counts: the variance is the mean, within five standard deviations of such a ratio.
    assert abs(np.var(counts) / np.mean(counts) - 1) < 5 * np.sqrt(2 / size)
    trained = {" ".join(np.array(task.token_names)[row[(row >= 4) & (row < 17)]]) for row in batch.inputs[:2000]}
    every = list(commands())
    assert trained <= {every[i] for i in members(task, "train")}
    assert set(lengths.tolist()) <= set(task.train_lengths)
