import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Randomized, RoPE, Sequence, geometries, random_positions

KEY = jax.random.key(0)


def mapped(encoding, positions, length, key=KEY, **fields):
    return np.asarray(_map_positions(encoding, Sequence(np.asarray(positions), jnp.asarray(length), **fields), key))


@functools.partial(jax.jit, static_argnums=0)
def _map_positions(encoding, sequence, key):
    return encoding.map_positions(sequence, key=key, train=False)


@pytest.mark.parametrize("per", ["batch", "example"])
def test_draws_exactly_length_distinct_ascending_positions_in_range(per):
    encoding = Randomized(max_position=50, per=per)
    for seed in range(20):
        lengths = np.array([1, 2, 13, 49, 50])
        got = mapped(encoding, np.arange(50)[None], lengths, jax.random.key(seed))
        assert got.shape == (5, 50)
        assert got.dtype == np.int32
        for row, length in zip(got, lengths):
            assert (np.diff(row[:length]) > 0).all()
            assert row.min() >= 0
            assert row.max() < 50
            assert len(set(row.tolist())) == length  # padding repeats the last
        assert got[4].tolist() == list(range(50))


def test_all_subsets_are_equally_likely():
    draws = 20000
    keys = jax.random.split(KEY, draws)
    got = np.asarray(jax.vmap(lambda k: random_positions(k, 3, jnp.arange(3), 6))(keys))
    subsets = list(itertools.combinations(range(6), 3))
    counts = np.array([(got == s).all(axis=1).sum() for s in subsets])
    assert counts.sum() == draws
    expected = draws / len(subsets)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 43.8  # 0.1 % point of chi square with 19 degrees of freedom


@pytest.mark.parametrize("per", ["batch", "example"])
def test_draw_knows_nothing_of_the_padded_size_nor_of_the_slice(per):
    encoding = Randomized(max_position=64, per=per)
    ids = jnp.arange(3)
    lengths = [5, 9, 7]
    short = mapped(encoding, np.arange(9)[None], lengths, example_ids=ids)
    long = mapped(encoding, np.arange(40)[None], lengths, example_ids=ids)
    np.testing.assert_array_equal(long[:, :9], short)
    for step in range(9):  # one position at a time, as in decoding
        np.testing.assert_array_equal(mapped(encoding, [[step]], lengths, example_ids=ids), short[:, step : step + 1])
    left = np.array([[-4, -3, -2, -1, 0, 1, 2, 3, 4], np.arange(9), [-2, -1, *range(7)]])
    got = mapped(encoding, left, lengths, example_ids=ids)
    np.testing.assert_array_equal(got[0, 4:], short[0, :5])
    np.testing.assert_array_equal(got[2, 2:], short[2, :7])
    assert (got[0, :4] == short[0, 0]).all()


def test_one_draw_per_batch_is_shared_by_all_lengths_and_one_per_example_is_not():
    shared = mapped(Randomized(64), np.arange(12)[None], [6, 6, 12])
    np.testing.assert_array_equal(shared[0], shared[1])
    assert set(shared[0]) < set(shared[2])
    assert mapped(Randomized(64), np.arange(12)[None], [6]).shape == (1, 12)

    own = Randomized(64, per="example")
    tokens = jnp.zeros((3, 12), jnp.int32)
    rows = mapped(own, np.arange(12)[None], [6], tokens=tokens)
    assert rows.shape == (3, 12)
    assert len({tuple(row) for row in rows.tolist()}) == 3
    # A row keeps its draw however the batch is split.
    np.testing.assert_array_equal(mapped(own, np.arange(12)[None], [6], example_ids=jnp.array([2, 0])), rows[[2, 0]])


def test_key_decides():
    first, again, other = (mapped(Randomized(), np.arange(12)[None], [12], jax.random.key(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_queries_and_keys_of_a_slot_share_the_draw():
    slot = (Randomized(100), RoPE())
    keys = Sequence.of_length(8)
    queries = keys.part(slice(5, 8))
    before, after = geometries(slot, queries, keys, num_heads=1, causal=True, key=KEY, contiguous=True)
    np.testing.assert_array_equal(before.k_positions, np.arange(8)[None])
    np.testing.assert_array_equal(after.q_positions, after.k_positions[:, 5:])
    assert before.contiguous
    assert not after.contiguous


def test_several_axes_map_alike():
    positions = np.stack([np.arange(4), np.arange(4)[::-1]], axis=-1)[None]
    got = mapped(Randomized(30), positions, [4])
    assert got.shape == (1, 4, 2)
    np.testing.assert_array_equal(got[..., 0], got[:, ::-1, 1])
