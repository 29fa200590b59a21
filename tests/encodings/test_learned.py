import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import shapes_of

from posenc_jax.encodings import Dims, Learned, Sequence

TABLE = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
PARAMS = {"table": TABLE}


def dims(max_len=6):
    return Dims(d_model=3, num_heads=1, num_kv_heads=1, head_dim=3, num_layers=1, max_len=max_len)


def rows(encoding, positions, length=6, **fields):
    """What is added at ``positions [B, S]``, NumPy (known) or not (traced)."""
    x = np.zeros((positions.shape[0], positions.shape[1], 3), np.float32)

    def embed(positions):
        return encoding.embed(PARAMS, x, Sequence(positions, np.atleast_1d(length), **fields))

    known = isinstance(positions, np.ndarray)
    return np.asarray(jax.jit(lambda: embed(positions))() if known else jax.jit(embed)(positions))


@pytest.mark.parametrize("beyond", ["error", "nan", "clamp", "interpolate"])
def test_reads_one_row_per_position(beyond):
    encoding = Learned(beyond=beyond)
    for positions in ([[0, 1, 2, 3]], [[2, 3, 4, 5]], [[5, 0, 0, 3], [1, 2, 3, 4]]):
        want = [[TABLE[position] for position in row] for row in positions]
        for given in (np.array(positions), jnp.asarray(positions)):
            np.testing.assert_array_equal(rows(encoding, given), want)


@pytest.mark.parametrize("beyond", ["error", "nan", "clamp", "interpolate"])
def test_offset_rows_come_before_that_of_position_0(beyond):
    """As a table without them: read, refused and stretched."""
    encoding = Learned(beyond=beyond, offset=2)
    for given in (np.array([[0, 1, 2, 3]]), jnp.array([[0, 1, 2, 3]]), np.array([[3, 0, 0, 1]])):
        np.testing.assert_array_equal(rows(encoding, given, length=4), TABLE[np.asarray(given) + 2])
    outside = rows(encoding, jnp.array([[-1, 0, 3, 4]]), length=5)[0]
    if beyond in ("error", "nan"):
        np.testing.assert_array_equal(np.isnan(outside).all(-1), [True, False, False, True])
    else:
        np.testing.assert_array_equal(outside[[0, 3]], TABLE[[2, 5]])
    assert shapes_of(Learned(offset=2), dims(6))["table"].shape == (8, 3)
    assert shapes_of(Learned(8, offset=2), dims(6))["table"].shape == (8, 3)


def test_gradient_adds_up_by_position_and_is_a_pad_where_positions_are_known():
    weights = np.random.default_rng(2).normal(size=(2, 4, 3)).astype(np.float32)

    def gradient(positions):
        def loss(table):
            out = Learned().embed({"table": table}, jnp.zeros((2, 4, 3)), Sequence(positions, np.array([6])))
            return (out * weights).sum()

        return jax.grad(loss)

    for positions in (np.array([[1, 2, 3, 4]]), np.array([[5, 0, 0, 3], [1, 2, 3, 4]])):
        want = np.zeros((6, 3))
        for b in range(2):
            for s in range(4):
                want[positions[b % len(positions), s]] += weights[b, s]
        for given in (positions, jnp.asarray(positions)):
            np.testing.assert_allclose(gradient(given)(TABLE), want, atol=1e-6)
    known = str(jax.make_jaxpr(gradient(np.array([[1, 2, 3, 4]])))(TABLE))
    assert "scatter" not in known
    assert "pad" in known


def test_error_policy_refuses_where_positions_are_known():
    for encoding, positions, message in (
        (Learned(), np.arange(8), r"position 6 is outside the learned table of 6 rows .*: raise max_len"),
        (Learned(), np.arange(-2, 3), r"position -2 is outside"),
        (Learned(), np.array([0.0, np.nan]), r"position nan is outside"),
        (Learned(offset=2), np.arange(5), r"position 4 is outside the learned table of 6 rows \(0 \.\. 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            rows(encoding, positions[None])


@pytest.mark.parametrize("beyond", ["error", "nan"])
def test_traced_positions_outside_give_nan_but_padding_does_not(beyond):
    positions = jnp.array([[-1, 0, 5, 6, 2**31 - 1, -(2**31)]])
    got = rows(Learned(beyond=beyond), positions)
    np.testing.assert_array_equal(np.isnan(got).all(-1)[0], [True, False, False, True, True, True])
    np.testing.assert_array_equal(got[0, 1:3], TABLE[[0, 5]])
    segment_ids = jnp.array([[0, 1, 1, 1, 0, 0]])
    got = rows(Learned(beyond=beyond), positions, segment_ids=segment_ids)
    np.testing.assert_array_equal(np.isnan(got).all(-1)[0], [False, False, False, True, False, False])
    for known, outside in [([-1, 0, 6], [True, False, True]), ([-2, -1, 0], [True, True, False])]:
        got = rows(Learned(beyond="nan"), np.array([known]))
        np.testing.assert_array_equal(np.isnan(got).all(-1)[0], outside)


def test_known_padding_outside_is_neither_refused_nor_nan():
    positions, segment_ids = np.array([[-1, 0, 5, 9]]), np.array([[0, 1, 1, 0]])
    for beyond in ("error", "nan"):
        got = rows(Learned(beyond=beyond), positions, segment_ids=segment_ids)
        np.testing.assert_array_equal(got[0], TABLE[[0, 0, 5, 5]])


def test_clamp():
    positions = np.array([[-3, 0, 4, 5, 6, 700]])
    for given in (positions, jnp.asarray(positions)):
        np.testing.assert_array_equal(rows(Learned(beyond="clamp"), given)[0], TABLE[[0, 0, 4, 5, 5, 5]])


def test_interpolation_stretches_longer_sequences_over_the_table():
    positions = np.arange(12)[None]
    want = []
    for p in range(11):  # length 11: position 10 reads row 5
        at = p * 5 / 10
        low = int(np.floor(at))
        want.append(TABLE[low] if at == low else (TABLE[low] + TABLE[low + 1]) / 2)
    want.append(TABLE[5])  # beyond the length
    encoding = Learned(beyond="interpolate")
    for given in (positions, jnp.asarray(positions)):
        np.testing.assert_allclose(rows(encoding, given, length=11)[0], want, atol=1e-6)
        np.testing.assert_allclose(rows(encoding, given[:, :6], length=6)[0], TABLE, atol=1e-7)
        np.testing.assert_allclose(rows(encoding, given[:, :6], length=3)[0], TABLE, atol=1e-7)
    lengths = np.arange(7, 2000)
    for given in (lengths[:, None] - 1, jnp.asarray(lengths)[:, None] - 1):
        last = rows(encoding, given, length=lengths)
        np.testing.assert_allclose(last, np.broadcast_to(TABLE[5], last.shape), atol=2e-6)
    both = rows(encoding, np.repeat(positions[:, :11], 2, axis=0), length=jnp.array([11, 6]))
    np.testing.assert_allclose(both[0], want[:11], atol=1e-6)
    np.testing.assert_allclose(both[1, :6], TABLE, atol=1e-6)


def test_fractional_positions_blend_two_rows():
    positions = np.array([[0.25, 4.75, 5.0, 5.25, -0.25, np.nan]], np.float32)
    want = [0.75 * TABLE[0] + 0.25 * TABLE[1], 0.25 * TABLE[4] + 0.75 * TABLE[5], TABLE[5]]
    for given in (positions, jnp.asarray(positions)):
        got = rows(Learned(beyond="nan"), given)[0]
        np.testing.assert_allclose(got[:3], want, atol=1e-6)
        assert np.isnan(got[3:]).all()
    x = np.zeros((1, 1, 3), np.float32)
    added = lambda p: Learned().embed(PARAMS, x, Sequence(p[None, None], np.array([6]))).sum()  # noqa: E731
    slope = jax.jit(jax.grad(added))(1.5)
    np.testing.assert_allclose(slope, (TABLE[2] - TABLE[1]).sum(), rtol=1e-5)
