"""Binary numbers against Python's integers."""

import math

import pytest
from task_examples import assert_uniform, rows

from posenc_jax.data.tasks import BinaryAddition, BinaryMultiplication, SquareRoot

TASKS = (BinaryAddition(), BinaryMultiplication(), SquareRoot())
LENGTHS = (1, 2, 3, 4, 5, 8, 15, 40)
LONG = 80


def value(bits):
    """Of bits with the units first."""
    return sum(bit << place for place, bit in enumerate(bits))


def bits_of(whole):
    return [int(bit) for bit in reversed(f"{whole:b}")]


def result(task, symbols):
    """By the authors' rules, with integers."""
    if isinstance(task, SquareRoot):
        whole = value(symbols[::-1])
        assert whole > 0
        return [int(bit) for bit in f"{math.isqrt(whole):b}".zfill(math.ceil(len(symbols) / 2))]
    adds = isinstance(task, BinaryAddition)
    if len(symbols) <= 2:
        assert value(symbols) < 2 ** len(symbols) - 1
        return [*(bits_of(value(symbols)) if adds else [0] * (len(symbols) - 1)), 2]
    middle = symbols.index(2)
    first, second = value(symbols[:middle]), value(symbols[middle + 1 :])
    assert first > 0
    assert second > 0
    return [*bits_of(first + second if adds else first * second), 2]


def test_the_oracle_agrees_with_the_authors_own_examples():
    digits = lambda text: [int(digit) for digit in text]  # noqa: E731
    assert result(TASKS[0], digits("001201101")) == digits("010112")
    assert result(TASKS[0], digits("10012000001")) == digits("1001012")
    assert result(TASKS[1], digits("001201101")) == digits("00011012")
    assert result(TASKS[1], digits("10012000001")) == digits("0000010012")
    assert result(TASKS[2], digits("100101")) == digits("110")
    assert result(TASKS[2], digits("111")) == digits("10")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_results_are_right(task):
    sizes, bits, small = [], [], []
    for n, tokens, asked, answers in rows(task, (*LENGTHS, LONG), 250):
        symbols, outputs = tokens[:n], task.output_length(n)
        assert tokens[n:] == [task.num_tokens] * outputs
        assert asked == list(range(n, n + len(answers)))
        assert answers == result(task, symbols)
        if n == 40:
            bits += [symbol for symbol in symbols if symbol < 2]
            sizes += [symbols.index(2)] if 2 in symbols else []
        if n == 2:
            small.append(value(symbols))
    assert_uniform(bits, (0, 1))
    if isinstance(task, SquareRoot):
        assert_uniform(small, (1, 2, 3))
    else:
        assert_uniform(sizes, range(1, 39))
        assert_uniform(small, (0, 1, 2))
