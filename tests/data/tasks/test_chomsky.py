import functools
import itertools

import jax
import numpy as np
import pytest

from posenc_jax.data.tasks import TASKS
from posenc_jax.data.tasks.chomsky import StringTask

LENGTHS = [*range(1, 25), 39, 40]
REPEATS = 40


def modular_arithmetic(x):
    """By Python's own precedence."""
    return [eval("".join("01234+-*"[symbol] for symbol in x)) % 5]


def missing_duplicate_string(x):
    if len(x) == 1:
        return [1]
    half = len(x) // 2
    assert x[2 * half :] == [3] * (len(x) % 2)
    (place,) = (i for i, symbol in enumerate(x) if symbol == 2)
    first, second = x[:half], x[half : 2 * half]
    other = second[place] if place < half else first[place - half]
    assert [s if s != 2 else other for s in first] == [s if s != 2 else other for s in second]
    return [other]


ORACLES = {
    "even_pairs": lambda x: [sum(a != b for a, b in itertools.pairwise(x)) % 2],
    "modular_arithmetic": modular_arithmetic,
    "parity_check": lambda x: [x.count(1) % 2],
    "cycle_navigation": lambda x: [sum({0: -1, 1: 0, 2: 1}[move] for move in x) % 5],
    "reverse_string": lambda x: x[::-1],
    "duplicate_string": lambda x: x + x,
    "missing_duplicate_string": missing_duplicate_string,
    "odds_first": lambda x: x[1::2] + x[0::2],
    "bucket_sort": sorted,
}
NAMES = list(ORACLES)
SYMBOLS = dict(zip(ORACLES, (2, 9, 2, 3, 2, 2, 4, 2, 5)))
OUTPUTS = dict(zip(ORACLES, (2, 5, 2, 5, 2, 2, 2, 2, 5)))
OUTPUT_LENGTHS = {name: lambda n: 1 for name in ORACLES} | {
    "reverse_string": lambda n: n,
    "duplicate_string": lambda n: 2 * n,
    "odds_first": lambda n: n,
    "bucket_sort": lambda n: n,
}


@functools.cache
def examples(name, max_length=40):
    """``REPEATS`` examples of every length, as NumPy, and the length of each row."""
    task = TASKS[name]()
    lengths = np.repeat([n for n in LENGTHS if n <= max_length], REPEATS).astype(np.int32)
    keys = jax.random.split(jax.random.key(7), len(LENGTHS) * REPEATS)[: len(lengths)]
    draw = jax.jit(jax.vmap(lambda key, n: task.example(key, n, max_length)))
    return jax.tree.map(np.asarray, draw(keys, lengths)), lengths


def strings(name):
    example, lengths = examples(name)
    for row, n in enumerate(lengths.tolist()):
        read = n - 1 if name == "modular_arithmetic" and n % 2 == 0 else n
        yield row, n, example.inputs[row, :read].tolist()


def test_all_fifteen_are_there():
    others = {"stack_manipulation", "modular_arithmetic_brackets", "solve_equation"}
    others |= {"binary_addition", "binary_multiplication", "square_root"}
    assert {name for name, task in TASKS.items() if issubclass(task, StringTask)} == set(NAMES) | others
    assert len(set(NAMES) | others) == 15


def test_the_oracles_agree_with_the_authors_own_examples():
    cases = [
        ("even_pairs", "001110", "0"),
        ("even_pairs", "0101001", "1"),
        ("parity_check", "1010100", "1"),
        ("parity_check", "01111", "0"),
        ("cycle_navigation", "20100", "3"),
        ("cycle_navigation", "2220", "2"),
        ("reverse_string", "011010", "010110"),
        ("duplicate_string", "101", "101101"),
        ("missing_duplicate_string", "01100210", "1"),
        ("missing_duplicate_string", "1011213", "0"),
        ("odds_first", "00110101", "01110100"),
        ("bucket_sort", "10204112", "00111224"),
    ]
    for name, x, y in cases:
        assert ORACLES[name]([int(symbol) for symbol in x]) == [int(symbol) for symbol in y], name
    for expression, value in (("1+2*3", 2), ("1-1-1", 4), ("0*1+4*3-2", 0)):
        assert modular_arithmetic(["01234+-*".index(symbol) for symbol in expression]) == [value]


@pytest.mark.parametrize("name", NAMES)
def test_targets_are_those_of_the_definition(name):
    example, _ = examples(name)
    task = TASKS[name]()
    assert (task.vocab_size, task.num_classes) == (SYMBOLS[name] + 1, OUTPUTS[name])
    for row, n, x in strings(name):
        y = ORACLES[name](x)
        assert len(y) == OUTPUT_LENGTHS[name](n)
        total, width = len(x) + len(y), example.inputs.shape[1]
        rest = [0] * (width - total)
        assert example.inputs[row].tolist() == x + [SYMBOLS[name]] * len(y) + rest
        assert example.targets[row].tolist() == [0] * len(x) + [int(v) for v in y] + rest
        assert example.weights[row].tolist() == [0] * len(x) + [1] * len(y) + rest
        assert example.segment_ids[row].tolist() == [1] * total + rest
        assert example.length[row] == total
    assert width == task.width(40) == max(len(ORACLES[name](x)) + len(x) for _, _, x in strings(name))


@pytest.mark.parametrize("name", NAMES)
def test_symbols_are_uniform(name):
    """Every symbol of the string within five standard deviations of its expected count."""
    seen = np.concatenate([x for _, n, x in strings(name) if n > 1])
    if name == "modular_arithmetic":
        groups = [(seen[seen < 5], range(5)), (seen[seen >= 5], (5, 6, 7))]
    elif name == "missing_duplicate_string":
        groups = [(seen[seen < 2], range(2))]
    else:
        groups = [(seen, range(SYMBOLS[name]))]
    for values, symbols in groups:
        assert set(values) == set(symbols)
        share = 1 / len(symbols)
        for symbol in symbols:
            # The two halves of a duplicated string are equal: only half of its symbols are independent.
            count = len(values) / (2 if name == "missing_duplicate_string" else 1)
            deviation = abs(np.mean(values == symbol) - share)
            assert deviation < 5 * np.sqrt(share * (1 - share) / count)


def test_modular_arithmetic_survives_long_products():
    """250 operators, where products of the factors themselves overflow."""
    task = TASKS["modular_arithmetic"]()
    keys = jax.random.split(jax.random.key(0), 200)
    example = jax.jit(jax.vmap(lambda key: task.example(key, 501, 501)))(keys)
    for row in range(200):
        assert example.targets[row, 501] == modular_arithmetic(np.asarray(example.inputs[row, :501]).tolist())[0]


def test_the_missing_symbol_may_be_anywhere():
    places = {n: set() for n in LENGTHS}
    for _, n, x in strings("missing_duplicate_string"):
        places[n] |= {i for i, symbol in enumerate(x) if symbol == 2}
    for n in range(2, 8):
        assert places[n] == set(range(2 * (n // 2)))


# A class, a string, and the two whose arrays have widths of their own.
PADDED = ("even_pairs", "duplicate_string", "modular_arithmetic", "missing_duplicate_string")


@pytest.mark.parametrize("name", [n if n in PADDED else pytest.param(n, marks=pytest.mark.slow) for n in NAMES])
def test_padding_changes_nothing(name):
    wide, _ = examples(name)
    halves = name in ("modular_arithmetic", "missing_duplicate_string")  # their arrays have other, shorter widths
    for max_length in (1, 2, 24) if halves else (24,):
        narrow, _ = examples(name, max_length)
        rows, width = narrow.inputs.shape
        assert rows
        for small, large in zip(jax.tree.leaves(narrow), jax.tree.leaves(wide)):
            np.testing.assert_array_equal(small, large[:rows, :width] if large.ndim == 2 else large[:rows])
            assert large.ndim != 2 or not large[:rows, width:].any()
