"""Flip-flop sequences against a memory of one bit in plain Python, and the three errors against loops."""

import jax
import numpy as np
import pytest
from task_examples import assert_share, assert_uniform, drawn, rows

from posenc_jax.data.tasks import FlipFlop

TASK = FlipFlop(length=32)
LENGTHS = (4, 6, 20, 32)


def read_bits(tokens):
    """The answer at each ``r``, by going through the sequence with one bit of memory."""
    memory, answers = None, []
    for place in range(0, len(tokens), 2):
        instruction = TASK.token_names[tokens[place]]
        if instruction == "r":
            answers.append((place, memory))
        elif instruction == "w":
            memory = tokens[place + 1]
        else:
            assert instruction == "i"
    return answers


def test_reads_are_answered_by_the_last_write():
    for n, tokens, asked, answers in rows(TASK, LENGTHS, 600):
        assert len(tokens) == n - 1
        assert TASK.token_names[tokens[0]] == "w"
        assert TASK.token_names[tokens[-1]] == "r"
        assert set(tokens[1::2]) <= {0, 1}
        assert list(zip(asked, answers)) == read_bits(tokens)
        for place, answer in zip(asked[:-1], answers):
            assert tokens[place + 1] == answer  # the bit after a read is the one that it reads


def test_instructions_have_their_shares_and_bits_are_fair():
    example, lengths = drawn(TASK, LENGTHS, 600)
    assert example.group.tolist() == [i % 3 for i in range(len(lengths))]
    for group, ignore in enumerate((0.8, 0.98, 0.1)):
        tokens = example.inputs[(example.group == group) & (lengths == 32)]
        between = tokens[:, 2:-1:2]
        assert_share(between == 4, ignore)
        assert_share(between[between != 4] == 2, 0.5)
        bits = tokens[:, 1::2]
        assert_uniform(bits[tokens[:, :-1:2] != 3], (0, 1))
    train = jax.jit(jax.vmap(lambda key: TASK.example(key, 32, 32, "train")))(jax.random.split(jax.random.key(0), 512))
    assert not np.asarray(train.group).any()
    assert_share(np.asarray(train.inputs)[:, 2:-1:2] == 4, 0.8)


def test_errors_are_those_of_loops():
    example, _ = drawn(TASK, LENGTHS, 600)
    logits = np.random.default_rng(0).normal(size=(*example.inputs.shape, 2)).astype(np.float32)
    found = TASK.results(jax.tree.map(np.asarray, {"accuracy": 0.5, **jax.jit(TASK.extra_sums)(logits, example)}))
    assert found.keys() == {"accuracy", "read_error", "sparse_read_error", "dense_read_error"}
    for group, name in enumerate(("read_error", "sparse_read_error", "dense_read_error")):
        wrong = [
            logits[row, place].argmax() != example.targets[row, place]
            for row in range(len(logits))
            if example.group[row] == group
            for place in np.flatnonzero(example.weights[row])
        ]
        assert found[name] == pytest.approx(np.mean(wrong), rel=1e-6)
        assert abs(found[name] - TASK.chance) < 0.1
    sums = TASK.extra_sums(np.full_like(logits, np.nan), example)
    assert np.array_equal(sums["wrong_bits"], sums["reads"]), "a logit that is NaN is never right"
    nothing = TASK.results({"wrong_bits": np.zeros(3), "reads": np.array([1.0, 0.0, 2.0])})
    assert nothing == {"read_error": 0.0, "sparse_read_error": None, "dense_read_error": 0.0}
