import jax
import numpy as np
import pytest

from posenc_jax.encodings import SHAPE, Dims, Learned, Sequence, check_slot, map_slot

KEY = jax.random.key(0)


def mapped(encoding, positions, rows, *, key=KEY, train=True):
    sequence = Sequence(np.asarray(positions), np.array([5]), example_ids=np.arange(rows))
    return np.asarray(encoding.map_positions(sequence, key=key, train=train))


def test_one_offset_for_each_sequence_below_max_shift():
    offsets = mapped(SHAPE(4), [[0]], 4000)[:, 0]
    counts = np.bincount(offsets)
    assert len(counts) == 4  # 0, 1, 2, 3 and not 4
    assert ((counts - 1000) ** 2 / 1000).sum() < 16.3  # 0.1 % point of chi square, 3 degrees of freedom
    got = mapped(SHAPE(500), [np.arange(7)], 3)
    np.testing.assert_array_equal(got - got[:, :1], [np.arange(7)] * 3)
    assert len(set(got[:, 0].tolist())) == 3
    np.testing.assert_array_equal(mapped(SHAPE(500), [[5, 6]], 3), got[:, 5:])
    assert (mapped(SHAPE(500), [np.arange(7)], 3, key=jax.random.key(1)) != got).all()


def test_evaluation():
    # The authors' code reads rows K, K+1, ... there.
    got = SHAPE(500).map_positions(Sequence.of_length(3), key=None, train=False)
    assert isinstance(got, np.ndarray)
    assert got.tolist() == [[500, 501, 502]]
    assert got.dtype == np.int32
    assert map_slot((SHAPE(500), Learned()), Sequence.of_length(3))[1].positions.tolist() == got.tolist()  # no key
    assert mapped(SHAPE(500, evaluation="none"), [[0, 1]], 2, train=False).tolist() == [[0, 1]]


def test_several_axes_shift_alike():
    got = mapped(SHAPE(50), [[[0, 3], [1, 2]]], 2)
    assert (got - got[:, :1, :1]).tolist() == [[[0, 3], [1, 2]]] * 2


@pytest.mark.parametrize(("evaluation", "rows"), [("max_shift", 110), ("none", 109)])
def test_a_table_after_it_must_hold_all(evaluation, rows):
    shape = SHAPE(10, evaluation=evaluation)
    dims = Dims(d_model=4, num_heads=1, num_kv_heads=1, head_dim=4, num_layers=1, max_len=100)
    check_slot((shape, Learned(rows)), dims)
    with pytest.raises(ValueError, match=f"shorter than an evaluated length.* {rows} positions occur"):
        check_slot((shape, Learned(rows - 1)), dims)
