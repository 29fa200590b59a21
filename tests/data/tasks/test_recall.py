"""Associative recall against dictionaries and lists in plain Python."""

import collections
import itertools

import numpy as np
from task_examples import assert_share, assert_uniform, rows

from posenc_jax.data.tasks import AssociativeRecall, RepeatedRecall

ONCE = AssociativeRecall(min_length=12, max_length=12, vocabulary=20, num_pairs=2, power=0.5)
AGAIN = RepeatedRecall(min_length=16, max_length=24, vocabulary=20, num_pairs=3, back=2)


def test_each_key_is_asked_for_once_and_answered_by_its_value():
    first_places = collections.Counter()
    fillers = []
    for n, tokens, asked, answers in rows(ONCE, (8, 12, 16), 800):
        assert len(tokens) == n
        pairs = dict(zip(tokens[0:4:2], tokens[1:4:2]))
        assert len(pairs) == len(set(pairs.values())) == 2
        assert all(1 <= k < 10 <= v < 20 for k, v in pairs.items())
        assert all(place >= 4 and place % 2 == 0 for place in asked)
        assert sorted(tokens[place] for place in asked) == sorted(pairs)
        assert [pairs[tokens[place]] for place in asked] == answers
        fillers += [tokens[place] for place in range(4, n) if place not in asked]
        if n == 12:
            # The first pair's key draws its place first, the second one's among those that are left.
            first_places[tuple((place - 4) // 2 for place in sorted(asked, key=lambda p: tokens[p] != tokens[0]))] += 1
    assert_uniform(fillers, range(20))
    weights = {place: (place + 1) ** (0.5 - 1) for place in range(4)}
    for one, two in itertools.permutations(weights, 2):
        total = sum(weights.values())
        share = weights[one] / total * weights[two] / (total - weights[one])
        hits = first_places[one, two]
        assert_share(np.arange(800) < hits, share)


def test_the_value_so_many_assignments_back():
    turns, values = [], []
    for n, tokens, asked, answers in rows(AGAIN, (14, 16, 24), 800):
        assert len(tokens) == n
        history, expected = collections.defaultdict(list), []
        for place in range(0, n, 2):
            key, value = tokens[place], tokens[place + 1]
            if len(history[key]) >= 2:
                expected.append((place, history[key][-2]))
            history[key].append(value)
            assert 1 <= key < 10 <= value < 20
        assert len(history) <= 3
        assert list(zip(asked, answers)) == expected
        assert expected
        turns.append(tokens[0] == tokens[2])
        values.append(tokens[1])
    assert_share(turns, 1 / 3)
    assert_uniform(values, range(10, 20))
