import functools

import jax
import numpy as np
import pytest

from posenc_jax.encodings import NumberIndex, PositionCoupling, Sequence

KEY = jax.random.key(0)
COUPLING = PositionCoupling(digits=tuple(range(10)), plus=10, equals=11)
IDS = {str(d): d for d in range(10)} | {"+": 10, "=": 11, "$": 12, ">": 13}


@functools.partial(jax.jit, static_argnums=(0, 3))
def positions_of(encoding, sequence, key, train):
    return encoding.map_positions(sequence, key=key, train=train)


def mapped(texts, encoding=COUPLING, *, key=None, train=False, **fields):
    tokens = np.array([[IDS[c] for c in text] for text in texts])
    sequence = Sequence.of_length(tokens.shape[1], tokens=tokens, **fields)
    return np.asarray(positions_of(encoding, sequence, key, train))


def oracle(text, start):
    """As the authors' data set assigns positions to ``$a+b=c$`` with a reversed sum."""
    a, rest = text.strip("$").split("+")
    b, total = rest.split("=")
    summand = lambda number: [start + len(number) - i for i in range(len(number))]  # noqa: E731
    return [0, *summand(a), start, *summand(b), start, *(start + 1 + i for i in range(len(total))), 0]


TEXTS = ["$653+049=2070$", "$7+99=601$$$$$", "$1234+5=9321$$"]


def test_agrees_with_the_authors_rule():
    want = [oracle(t.rstrip("$") + "$", 1) for t in TEXTS]
    want = [row + [0] * (14 - len(row)) for row in want]
    assert want[0] == [0, 4, 3, 2, 1, 4, 3, 2, 1, 2, 3, 4, 5, 0]
    assert mapped(TEXTS).tolist() == want


def test_summands_written_like_the_sum():
    reversed_summands = PositionCoupling(COUPLING.digits, 10, 11, summands="least_significant_first")
    assert mapped(["$356+940=2070$"], reversed_summands).tolist() == [[0, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 5, 0]]
    assert reversed_summands.breaks == frozenset()
    assert COUPLING.breaks == {"causality", "cached_decoding"}


def test_more_summands():
    assert mapped(["12+3+45=060"]).tolist() == [[3, 2, 1, 2, 1, 3, 2, 1, 2, 3, 4]]


def test_packed_additions_are_apart():
    text = "12+3=512+3=5"
    got = mapped([text], segment_ids=np.array([[1] * 6 + [2] * 5 + [0]]))
    assert got.tolist() == [[3, 2, 1, 2, 1, 2, 3, 2, 1, 2, 1, 0]]


def test_training_moves_all_by_a_start_that_leaves_room():
    encoding = PositionCoupling(COUPLING.digits, 10, 11, max_position=7)
    rows = 4000
    plain = mapped(TEXTS[:1])
    fields = {"example_ids": np.arange(rows)}
    got = mapped(TEXTS[:1] * rows, encoding, key=KEY, train=True, **fields)
    assert (got[:, plain[0] == 0] == 0).all()
    moved = (got - plain)[:, plain[0] > 0]
    assert (moved == moved[:, :1]).all()
    counts = np.bincount(moved[:, 0])
    assert len(counts) == 3  # starts 1, 2, 3: the sum has 4 digits, and 3 + 4 = 7
    assert ((counts - rows / 3) ** 2 / (rows / 3)).sum() < 13.9  # 0.1 % point of chi square, 2 degrees of freedom
    assert got.max() == 7
    short = PositionCoupling(COUPLING.digits, 10, 11, max_position=2)
    assert mapped(TEXTS[:1], short, key=KEY, train=True).tolist() == plain.tolist()  # no room: as in evaluation


def test_training_with_packed_additions():
    encoding = PositionCoupling(COUPLING.digits, 10, 11, max_position=9)
    segments = np.array([[1] * 6 + [2] * 6])
    for seed in range(2):
        options = {"key": jax.random.key(seed), "train": True}
        together = mapped(["12+3=5123+4="], encoding, segment_ids=segments, **options)
        apart = [mapped([text], encoding, **options)[0].tolist() for text in ("12+3=5", "123+4=")]
        assert together.tolist() == [apart[0] + apart[1]]


def test_largest_position():
    assert COUPLING.mapped_max_len(20) == 133
    assert COUPLING.mapped_max_len(200) == 202
    assert mapped(["1" * 9]).max() == 10 < COUPLING.mapped_max_len(9)


def two_levels(text, *, reversed_summands):
    """MultipleAdditionScratchPadDatasetWithCoupledPositions of the authors, list by list, without a draw."""
    numbers, sums = text.split("=")[0].split("+"), text.split("=")[1].split(">")
    digits, index = [], []
    for i, number in enumerate(numbers):
        own = list(range(1, len(number) + 2))
        digits += own if reversed_summands else own[::-1]
        index += [1 + i] * len(own)
    part = slice(1, None) if reversed_summands else slice(0, -1)
    digits, index = digits[part], index[part]
    for i, number in enumerate(sums):
        digits += range(1, len(number) + 2)
        index += [1 + i] * (len(number) + 1)
    return digits, index


@pytest.mark.parametrize("summands", ["most_significant_first", "least_significant_first"])
@pytest.mark.parametrize("text", ["12+3+45=000>210>510>060", "7+99=000>700>601", "1+2+3+4=00>10>30>60>01"])
def test_scratchpads_have_two_levels(text, summands):
    options = {"digits": COUPLING.digits, "plus": 10, "equals": 11, "then": 13, "summands": summands}
    digits, index = two_levels(text, reversed_summands=summands == "least_significant_first")
    assert mapped([text], PositionCoupling(**options)).tolist() == [digits]
    assert mapped([text], NumberIndex(**options)).tolist() == [index]
    assert mapped(["$" + text + "$"], NumberIndex(**options)).tolist() == [[0, *index, 0]]


def test_training_leaves_room_for_all_partial_sums():
    encoding = NumberIndex(COUPLING.digits, 10, 11, 13, max_position=6)
    text = "12+3+45=000>210>510>060"
    plain = mapped([text], encoding)
    got = mapped([text] * 300, encoding, key=KEY, train=True, example_ids=np.arange(300))
    assert {*(got - plain)[:, 0].tolist()} == {0, 1, 2}  # 4 partial sums: starts 1, 2, 3
    assert ((got - plain) == (got - plain)[:, :1]).all()
    assert got.max() == 6
    tight = NumberIndex(COUPLING.digits, 10, 11, 13, max_position=2)
    assert mapped([text], tight, key=KEY, train=True).tolist() == plain.tolist()
