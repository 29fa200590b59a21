"""Programs of resets and increments, run by a plain interpreter."""

import itertools

import numpy as np
from task_examples import assert_share, assert_uniform, rows

from posenc_jax.data.tasks import Counting

# Small weights and values, so that every rule is met often: the limit of the values, and that of the tokens.
TASK = Counting(max_length=24, num_variables=2, max_value=3, pass_weight=4, increment_weight=6, set_weight=6)
LENGTHS = (1, 2, 5, 24)


def statements(words):
    """The statements of a program, each as its words."""
    words, found = list(words), []
    while words:
        size = 1 if words[0] == "pass;" else 2 if words[1] == "++;" else 4
        found.append(tuple(words[:size]))
        words = words[size:]
    return found


def run(program, max_value):
    """Every state of the variables, by an interpreter."""
    values, states = {}, []
    for statement in program:
        states.append(dict(values))
        if statement[1:] == ("=", "0", ";"):
            values[statement[0]] = 0
        elif statement[1:] == ("++;",):
            values[statement[0]] += 1
            assert values[statement[0]] <= max_value
        else:
            assert statement == ("pass;",)
    return values, states


def programs(task, lengths, repeats):
    for n, tokens, asked, answers in rows(task, lengths, repeats):
        words = [task.token_names[token] for token in tokens]
        end = words.index("SEP")
        assert (words[0], words[end - 2]) == ("BOS", "print")
        program = statements(words[1 : end - 2])
        assert len(program) == n
        assert asked == [end, end + 1]
        assert words[end + 1 :] == [task.token_names[answers[0]]]
        assert task.token_names[answers[1]] == "EOS"
        yield n, program, words[end - 1], task.token_names[answers[0]]


def test_the_answer_is_the_value_at_the_end():
    asked = []
    for n, program, variable, answer in programs(TASK, LENGTHS, 800):
        values, _ = run(program, TASK.max_value)
        assert answer == str(values[variable])
        if n == 24 and len(values) == 2:
            asked.append("ab".index(variable))
    assert_uniform(asked, (0, 1))


def test_statements_have_their_weights():
    """At places without a limit, once both variables are set and below the largest value."""
    kinds, firsts = [], []
    for n, program, _, _ in programs(TASK, LENGTHS, 800):
        _, states = run(program, TASK.max_value)
        first = next(i for i, statement in enumerate(program) if len(statement) == 4)
        if n == 5:
            firsts.append(first)
        if n == 24:
            assert all(statement == ("pass;",) for statement in program[:first])
            # Ten resets leave room for the rest, so these are free.
            for statement, state in itertools.islice(zip(program, states), 10):
                if len(state) == 2 and max(state.values()) < TASK.max_value:
                    kinds.append(len(statement))
    kinds = np.array(kinds)
    assert len(kinds) > 1000
    for size, weight in ((4, 6), (2, 6), (1, 4)):
        assert_share(kinds == size, weight / 16)
    kept = 4 / 10  # before the first reset: pass with weight 4, reset with 6
    for place in range(5):
        assert_share(np.array(firsts) == place, kept**place * (1 - kept) / (1 - kept**5))


def test_a_program_has_no_more_than_its_room():
    """Here many a program would have more than 2 n + 8 tokens: its last statements are pass."""
    sizes = [sum(map(len, program)) for n, program, _, _ in programs(TASK, LENGTHS, 800) if n == 24]
    assert max(sizes) == 2 * 24 + 8
    assert np.mean(np.array(sizes) == max(sizes)) > 0.1
