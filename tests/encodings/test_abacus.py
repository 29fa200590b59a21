import dataclasses
import functools

import jax
import numpy as np
import pytest

from posenc_jax.encodings import Abacus, Dims, Learned, Sequence, check_slot

KEY = jax.random.key(0)
DIGITS = tuple(range(2, 12))


@functools.partial(jax.jit, static_argnums=(0, 3))
def positions_of(encoding, sequence, key, train):
    return encoding.map_positions(sequence, key=key, train=train)


def mapped(encoding, tokens, *, key=None, train=False, **fields):
    tokens = np.asarray(tokens)
    sequence = Sequence.of_length(tokens.shape[1], tokens=tokens, **fields)
    return np.asarray(positions_of(encoding, sequence, key, train))


def test_places_of_digits():
    # "= 98 + 098 =" with digits as 2 + value; 12 and 13 are signs
    tokens = [[13, 11, 10, 12, 2, 11, 10, 13], [2, 2, 2, 2, 1, 12, 2, 0]]
    want = [[0, 1, 2, 0, 1, 2, 3, 0], [1, 2, 3, 4, 0, 0, 1, 0]]
    got = mapped(Abacus(DIGITS), tokens)
    assert got.tolist() == want
    assert got.dtype == np.int32


def test_training_adds_one_offset_to_digits_of_the_batch():
    tokens = [[13, 11, 10, 12, 2, 11, 10, 13], [2, 2, 2, 2, 1, 12, 2, 0]]
    plain = mapped(Abacus(DIGITS), tokens)
    offsets = []
    for seed in range(60):
        got = mapped(Abacus(DIGITS, max_offset=3), tokens, key=jax.random.key(seed), train=True)
        assert (got[plain == 0] == 0).all()
        offset = set((got - plain)[plain > 0].tolist())
        assert len(offset) == 1
        offsets += offset
    assert set(offsets) == {0, 1, 2, 3}  # both ends, as random.randint
    own = mapped(Abacus(DIGITS, per="example"), [[3]] * 5, key=KEY, train=True)
    assert len(set(own[:, 0].tolist())) > 1


def test_a_table_after_it_must_hold_all():
    dims = Dims(d_model=4, num_heads=1, num_kv_heads=1, head_dim=4, num_layers=1, max_len=924, vocab_size=16)
    check_slot((Abacus(DIGITS), Learned(1024)), dims)
    with pytest.raises(ValueError, match=r"Learned.max_len = 1024, but 1025 positions occur: raise max_len to 1025"):
        check_slot((Abacus(DIGITS), Learned(1024)), dataclasses.replace(dims, max_len=925))
    largest = mapped(Abacus(DIGITS, max_offset=0), [[2] * 9]).max()
    assert largest + 1 == Abacus(DIGITS, max_offset=0).mapped_max_len(9)
