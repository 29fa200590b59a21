"""Sizes of tasks as their sources have them, and settings and lengths that cannot be."""

import pytest

from posenc_jax.data.tasks import (
    Addition,
    Agreement,
    ArrowGrid,
    AssociativeRecall,
    Copying,
    Counting,
    Earlier,
    EvenPairs,
    FlipFlop,
    IndirectIndexing,
    NearestPoint,
    Needles,
    Passkey,
    PhoneBook,
    PositionOf,
    PositionOrToken,
    RepeatedRecall,
    Scan,
    TokenAt,
    TokenBack,
    WordOrder,
    WordProblem,
)

SOURCES = [
    (Addition(), {"train_lengths": range(1, 31), "metric": "exact_match"}),
    (ArrowGrid(), {"size": 9, "num_arrows": 8, "num_letters": 6, "chance": 0.25}),
    (AssociativeRecall(), {"vocabulary": 8192, "power": 0.01}),
    (Copying(min_length=2, max_length=4), {"train_lengths": range(2, 5), "length_per": "example"}),
    (Counting(), {"train_lengths": range(3, 513), "chance": 1 / 11, "set_weight": 1, "pass_weight": 50}),
    (EvenPairs(max_length=5), {"train_lengths": range(1, 6), "length_per": "step", "chance": 1 / 2}),
    (IndirectIndexing(), {"train_lengths": range(20, 41), "max_shift": 15, "chance": 1 / 40}),
    (NearestPoint(), {"num_points": 16, "num_symbols": 32, "chance": 1 / 15}),
    (Passkey(), {"haystack": "repeated", "value_digits": 5, "num_keys": 1}),
    (RepeatedRecall(), {"train_lengths": range(768, 769, 2), "num_pairs": 32}),
    (Scan(), {"split": "length_cutoff", "cutoff": 25, "vocab_size": 23, "model_kind": "decoder_only"}),
    (Scan(model="encoder_decoder"), {"model_kind": "encoder_decoder"}),
    (WordProblem(group="a5"), {"chance": 1 / 60}),
]


@pytest.mark.parametrize(("task", "facts"), SOURCES, ids=lambda value: getattr(value, "name", ""))
def test_sizes_are_those_of_the_source(task, facts):
    assert {name: getattr(task, name) for name in facts} == facts


REFUSED = [
    (lambda: Addition(num_summands=101), r"Addition.num_summands = 101 must be at most 100"),
    (lambda: Agreement(min_length=0), "Agreement: min_length = 0"),
    (lambda: ArrowGrid(size=3), "size = 3: a grid of so many rows has no room for 14 arrows and"),
    (lambda: AssociativeRecall(min_length=30), "but 32 <= min_length <= max_length must hold"),
    (lambda: AssociativeRecall(max_length=65), "min_length = 64 and max_length = 65 must be even: tokens come in pai"),
    (lambda: AssociativeRecall(vocabulary=16), "vocabulary = 16 must be even and at least 18"),
    (lambda: AssociativeRecall(power=0), r"power = 0\.0 must be above 0 and at most 1"),
    (lambda: Copying(min_length=5, max_length=4), "min_length = 5 and max_length = 4, but 1 <= min_length <= max_len"),
    (lambda: Copying(kind="rdc", num_symbols=1), "num_symbols = 1 of rdc must be from 2 to 46341"),
    (lambda: Copying(kind="mcr"), "'mcr' is not one of .*; did you mean 'mcrv'"),
    (lambda: Counting(num_variables=27), "Counting.num_variables = 27 must be at most 26"),
    (lambda: Earlier(far=6), "near = 6, far = 6 and length = 64, but near < far < length"),
    (lambda: EvenPairs(max_length=0), "EvenPairs.max_length = 0 must be at least 1"),
    (lambda: FlipFlop(length=7), "length = 7 must be even and at least 4"),
    (lambda: FlipFlop(ignore=1.5), r"ignore = 1\.5 must be a probability"),
    (lambda: IndirectIndexing(num_letters=30), "num_letters = 30 must be at least max_length = 40: no letter stands"),
    (lambda: NearestPoint(num_points=8, num_symbols=7), "num_points = 8 must be 2 to 7, as many as there are symbols"),
    (lambda: Needles(num_queries=5), "num_queries = 5 must be at most num_keys = 4"),
    (lambda: Needles(num_values=4), "but 80 <= min_length <= max_length must hold"),
    (lambda: Passkey(num_values=2), "num_values = 2 must be 1: take the task needles for more"),
    (lambda: PhoneBook(max_length=13, num_first_names=3, num_last_names=4), "max_length = 13 is more than the 12 nam"),
    (lambda: PositionOrToken(length=8, num_symbols=8), "num_symbols = 8 must be above length = 8"),
    (lambda: Scan(cutoff=23), "cutoff = 23 is not one of 22, 24, .*, 36, 40: choose one"),
    (lambda: TokenAt(length=1), "TokenAt.length = 1 must be at least 2"),
    (lambda: TokenBack(length=8, back=8), "back = 8.*1 <= back < length = 8.*lower it or raise length"),
    (lambda: WordOrder(min_length=3, max_length=2), "min_length = 3 and max_length = 2, but 1 <= min_length"),
    (lambda: ArrowGrid(3, 4, 3).check_length(2), "length 2: a grid of so many rows has no room for 7"),
    (lambda: FlipFlop().check_length(9), "length 9: a flip-flop sequence has an even number of tokens"),
    (lambda: IndirectIndexing().check_length(129), "length 129: there are task.num_letters = 128 letters"),
    (lambda: NearestPoint(5, 7).check_length(8), "length 8 must be 2 to 7"),
    (lambda: PositionOf(length=8).check_length(9), "length 9.*task.length = 8.*set task.length to 9"),
    (
        lambda: RepeatedRecall(16, 24, 20, 3, 2).check_length(15),
        "length 15: repeated_recall has pairs of tokens, so lengths are even",
    ),
    (lambda: Scan().check_length(23), "length 23: no SCAN command has 23 actions; the lengths are 1, .*, 48"),
]


@pytest.mark.parametrize(("ask", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
