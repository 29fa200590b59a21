import math
import re

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Dims, FoNE, Sequence, XVal, map_slot, parse
from posenc_jax.encodings import embed as embed_slot

TOKENS = np.array([[4, 7, 7, 1], [7, 4, 4, 7]])
VALUES = np.array([[5.0, 18.0, -123.456, np.nan], [0.0, 3.0, 3.0, 99999.99999]])


def embed(encoding, x, values=VALUES):
    with jax.enable_x64(True):
        return np.asarray(encoding.embed({}, x, Sequence.of_length(4, tokens=TOKENS, attributes=values[..., None])))


def test_a_pair_for_every_digit(random):
    """cos and sin of 2 pi v / T for T = 10^(1-a) .. 10^b, then zeros; of tokens that are no numbers nothing."""
    x = random.normal(size=(2, 4, 18))
    got = embed(FoNE(number=7, before=5, after=3), x) - x
    for b, t in np.ndindex(2, 4):
        pairs = [f(2 * math.pi * VALUES[b, t] / 10.0**i) for i in range(-2, 6) for f in (math.cos, math.sin)]
        want = pairs if TOKENS[b, t] == 7 else [0] * 16
        np.testing.assert_allclose(got[b, t], [*want, 0, 0], atol=1e-9)


def test_a_digit_follows_from_its_pair():
    """18 modulo 10 is 8, and modulo 100 it is 18: the example of the paper."""
    got = embed(FoNE(number=7, before=3, after=1), np.zeros((2, 4, 8)))[0, 1]
    for pair, period in enumerate((1, 10, 100)):
        angle = math.atan2(got[2 * pair + 1], got[2 * pair]) / (2 * math.pi) % 1
        assert angle * period % period == pytest.approx(18 % period, abs=1e-9)


def test_the_embedding_of_a_number_is_scaled(random):
    x = random.normal(size=(2, 4, 6))
    got = embed(XVal(number=7), x)
    for b, t in np.ndindex(2, 4):
        np.testing.assert_allclose(got[b, t], x[b, t] * (VALUES[b, t] if TOKENS[b, t] == 7 else 1), atol=1e-9)


def test_positions_are_not_scaled(random):
    x, table = random.normal(size=(2, 4, 6)), random.normal(size=(4, 6))
    slot, sequence = parse("xval(number=7)|learned"), Sequence.of_length(4, tokens=TOKENS, attributes=VALUES[..., None])
    with jax.enable_x64(True):
        got = embed_slot(slot, ({}, {"table": table}), x, sequence)
    np.testing.assert_allclose(got, embed(XVal(number=7), x) + table, atol=1e-9)


def test_what_numbers_are_refused():
    dims = Dims(d_model=18, num_heads=1, num_kv_heads=1, head_dim=8, num_layers=1, max_len=64, vocab_size=8)
    for call, message in (
        (lambda: XVal(number=8).check(dims), "reads token 8 as a number, and the vocabulary ends at 7: number is the"),
        (lambda: FoNE(number=7).check(dims), "has two dimensions for each of 10 digits, more than d_model = 18: lower"),
        (
            lambda: XVal(number=7).embed({}, np.zeros((1, 4, 6)), Sequence.of_length(4)),
            "XVal tells numbers from words by token ids, and the sequence has none: pass tokens=",
        ),
        (
            lambda: XVal(number=7, column=1).embed({}, np.zeros((2, 4, 6)), sequence_of_one()),
            "reads 2 attributes of each token, and the sequence has 1: pass attributes=",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
    assert [s.positions.shape for s in map_slot(parse("xval(number=7)|learned"), sequence_of_one())] == [(1, 4)] * 2


def sequence_of_one():
    return Sequence.of_length(4, tokens=TOKENS, attributes=VALUES[..., None])
