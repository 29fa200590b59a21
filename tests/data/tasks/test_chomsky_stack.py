"""Stacks and bracketed expressions against a Python list and Python's own arithmetic."""

import re

import numpy as np
import pytest
from task_examples import assert_uniform, drawn, rows

from posenc_jax.data.tasks import ModularArithmeticBrackets, SolveEquation, StackManipulation

STACK, WITH, WITHOUT, EQUATION = (
    StackManipulation(),
    ModularArithmeticBrackets(),
    ModularArithmeticBrackets(mult=False),
    SolveEquation(),
)
LENGTHS = (1, 2, 3, 4, 5, 6, 9, 12, 27, 40)


def strings(task, repeats=250):
    """Length, the string's words, and the answers."""
    for n, tokens, asked, answers in rows(task, LENGTHS, repeats):
        outputs = task.output_length(n)
        assert tokens[n:] == [task.num_tokens] * outputs
        assert asked == list(range(n, n + len(answers)))
        yield n, [task.token_names[token] for token in tokens[:n]], answers


def stack_after(symbols):
    """The authors' rules on a list; and how many symbols are the stack."""
    size = next((i for i, symbol in enumerate(symbols) if symbol > 1), len(symbols))
    stack = list(symbols[:size])
    for symbol in symbols[size:]:
        if symbol == 2:
            stack = stack[:-1]
        else:
            stack.append(symbol - 3)
    return stack[::-1], size


def test_the_stack_oracle_agrees_with_the_authors_own_examples():
    assert stack_after([0, 1, 1, 0, 4, 2, 2])[0] == [1, 1, 0]
    assert stack_after([1, 1, 0, 2, 2, 2])[0] == []


def test_what_is_left_on_the_stack():
    sizes, bits, actions = [], [], []
    for n, words, answers in strings(STACK):
        symbols = [int(word) for word in words]
        stack, size = stack_after(symbols)
        assert answers == [*stack, 2]
        assert len(stack) <= n
        assert size >= 1
        assert set(symbols[size:]) <= {2, 3, 4}
        sizes += [size] if n == 12 else []
        bits += symbols[:size]
        actions += symbols[size:]
    assert_uniform(sizes, range(1, 12))
    assert_uniform(bits, (0, 1))
    assert_uniform(actions, (2, 3, 4))


def test_zeros_behind_the_end_are_there_but_not_counted():
    example, lengths = drawn(STACK, LENGTHS, 250)
    assert (example.length == 2 * lengths + 1).all()
    behind = np.cumsum((example.targets == 2) & (example.weights > 0), axis=1) - (example.targets == 2) > 0
    assert behind.any()
    assert not example.targets[behind].any()
    assert not example.weights[behind].any()


def grammatical(text):
    """Whether an expression is one of the grammar, by taking away its innermost parts."""
    if re.fullmatch(r"-?\d|\(-?\d\)", text):
        return True
    while (shorter := re.sub(r"\((?:-?\d|\(-?\d\)|E)[-+*](?:-?\d|\(-?\d\)|E)\)", "E", text)) != text:
        text = shorter
    return text == "E"


@pytest.mark.parametrize("task", [WITH, pytest.param(WITHOUT, marks=pytest.mark.slow)], ids=["with", "without"])
def test_expressions_have_their_value(task):
    operators, digits, lefts = [], [], []
    for n, words, answers in strings(task):
        text = "".join(words)
        assert len(text) == n
        assert grammatical(text), text
        assert answers == [eval(text) % 5]
        digits += [int(d) for d in re.findall(r"\d", text)]
        if n >= 5:
            depth, place = 0, 1
            while True:  # to the operator of the outermost bracket
                depth += {"(": 1, ")": -1}.get(text[place], 0)
                if depth == 0 and text[place] in "+-*" and (place > 1):
                    break
                place += 1
            operators.append(text[place])
            lefts += [place - 1] if n == 12 else []
    assert_uniform(operators, "+-*" if task.mult else "+-")
    assert_uniform(digits, range(5))
    assert_uniform(lefts, range(1, 9))


def test_equations_are_solved():
    hidden = []
    for n, words, answers in strings(EQUATION):
        if n < 3:
            assert words == ["0"] * n
            assert answers == [0]
            continue
        left, right = "".join(words).split("=")
        assert left.count("x") == 1
        assert len(right) == 1
        solutions = [x for x in range(5) if eval(left.replace("x", str(x))) % 5 == int(right)]
        assert solutions == answers
        assert grammatical(left.replace("x", "0"))
        assert "*" not in left
        hidden.append(answers[0])
    assert_uniform(hidden, range(5))
