"""Products of permutations, composed by hand."""

import itertools

import numpy as np
import pytest
from task_examples import assert_uniform, rows

from posenc_jax.data.tasks import WordProblem
from posenc_jax.data.tasks.word_problem import elements, products

ORDERS = {"s2": 2, "s3": 6, "s5": 120, "a5": 60, "z60": 60}
LENGTHS = (1, 2, 7, 12)


def compose(p, q):
    return tuple(p[i] for i in q)


@pytest.mark.parametrize("group", ORDERS)
def test_tables_are_those_of_groups(group):
    members, table = elements(group), products(group)
    assert len(members) == len(set(members)) == ORDERS[group]
    assert members[0] == tuple(range(len(members[0])))
    if len(members) <= 60:
        for (i, p), (j, q) in itertools.product(enumerate(members), repeat=2):
            assert members[table[i, j]] == compose(p, q)
    assert (np.sort(table, axis=0) == np.arange(len(members))[:, None]).all()
    assert (np.sort(table, axis=1) == np.arange(len(members))).all()
    assert (table == table.T).all() == (group in ("s2", "z60"))


@pytest.mark.parametrize("group", ["s2", "s5"])
def test_answers_are_the_products_so_far(group):
    task, members, drawn = WordProblem(group=group), elements(group), []
    for n, tokens, asked, answers in rows(task, LENGTHS, 500):
        assert tokens[0] == len(members)
        assert asked == list(range(1, n + 1))
        state = members[0]
        for token, answer in zip(tokens[1:], answers, strict=True):
            state = compose(state, members[token])
            assert members[answer] == state
            drawn.append(token)
    assert_uniform(drawn, range(len(members)))
