"""Sums against Python's integers, and what encodings of digits see of them."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
from task_examples import assert_uniform, rows

from posenc_jax.data.tasks import Addition
from posenc_jax.encodings import Sequence, parse

TWO = Addition(max_length=30)
MANY = Addition(max_length=6, num_summands=12, summands="least_significant_first")
LENGTHS = {TWO: (1, 2, 9, 30), MANY: (1, 2, 6)}


@pytest.mark.parametrize("task", [TWO, MANY], ids=["two", "many"])
def test_sums_are_right_and_numbers_as_they_are_said_to_be(task):
    own_lengths, units, longest = [], [], []
    backwards = task.summands == "least_significant_first"
    for n, tokens, asked, answers in rows(task, LENGTHS[task], 800):
        text = "".join(task.token_names[token] for token in tokens)
        answer = "".join(task.token_names[token] for token in answers)
        assert re.fullmatch(r"BOS[\d+]+=\d+", text)
        assert re.fullmatch(r"\d+EOS", answer)
        summands, partial = text.removeprefix("BOS").split("=")
        numbers = summands.split("+")
        assert [len(number) for number in numbers] == [n] * task.num_summands
        if backwards:
            numbers = [number[::-1] for number in numbers]
        total = str(sum(map(int, numbers)))
        digits = n + len(str(task.num_summands - 1))
        assert answer == total.zfill(digits)[::-1] + "EOS"
        assert partial == answer.removesuffix("EOS")
        assert asked == list(range(len(tokens) - digits - 1, len(tokens)))
        sizes = [len(str(int(number))) for number in numbers]
        assert n in sizes or n == 1
        own_lengths += [size for size in sizes if n == 2]
        units += [int(number[-1]) for number in numbers if n > 2 and not number.startswith("0")]
        longest += [sizes.index(n) for _ in range(1) if n == 30 and sizes.count(n) == 1]
    assert_uniform(units, range(10))
    # One of the m summands has 2 digits for certain, the others have 1 or 2 alike.
    expected = (1 + (task.num_summands - 1) / 2) / task.num_summands
    assert abs(np.mean(np.array(own_lengths) == 2) - expected) < 5 * np.sqrt(0.25 / len(own_lengths))
    if task is TWO:
        assert_uniform(longest, (0, 1))


def test_digits_of_equal_significance_share_a_position():
    """Of the encodings that the docstring names, with the task's own token ids."""
    ids = {token: number for number, token in enumerate(TWO.token_names)}

    def positions(encoding, *words):
        tokens = [ids["BOS"], *(ids[sign] for sign in words[0])]
        sequence = Sequence.of_length(len(tokens), tokens=jnp.array([tokens]))
        return parse(encoding)[0].map_positions(sequence, key=None, train=False)[0].tolist()

    documented = re.findall(r"``((?:abacus|position_coupling)[^`]*)``", Addition.__doc__.replace("\n", " "))
    assert len(documented) == 2
    abacus, coupling = documented
    assert positions(coupling, "653+049=2070") == [0, 4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5]
    assert positions(abacus, "356+940=2070") == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4]
