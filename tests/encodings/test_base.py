import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, PositionalEncoding, Sequence, Value
from posenc_jax.encodings.interface.base import at_least_float32


@dataclasses.dataclass(frozen=True)
class Inner(Value):
    size: int = 1


@dataclasses.dataclass(frozen=True)
class Example(PositionalEncoding):
    rate: float = 1.0
    size: int = 1
    flag: bool = False
    kind: Literal["linear", "log"] = "linear"
    limit: int | None = None
    bound: float | None = None
    either: int | float = 0
    sizes: tuple[int, ...] = ()
    pair: tuple[float, str] = (0.0, "a")
    inner: Inner | None = None

    name = "example"

    def check_fields(self):
        if self.rate < 0:
            raise ValueError("rate must not be negative")


def test_equal_settings_are_equal_values():
    variants = [Example(1), Example(1.0), Example(np.float32(1)), Example(np.int64(1))]
    assert len({*variants}) == 1
    assert {type(e.rate) for e in variants} == {float}
    assert len({repr(e) for e in variants}) == 1
    assert repr(Example(size=np.int8(2), flag=np.True_, sizes=[1, 2], pair=[3, "b"], kind=np.str_("log"))) == repr(
        Example(size=2, flag=True, sizes=(1, 2), pair=(3.0, "b"), kind="log")
    )
    assert type(Example(either=0.5).either) is float
    assert type(Example(either=2).either) is int
    assert Example(inner=Inner(np.int64(3))).inner == Inner(3)

    traces = []

    def traced(x, encoding):
        traces.append(encoding)
        return x * encoding.rate

    traced = jax.jit(traced, static_argnums=1)
    for encoding in variants:
        traced(1.0, encoding)
    assert len(traces) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 1.5}, r"Example.size = 1.5 must be of type int"),
        ({"size": float("inf")}, r"Example.size = inf must be of type int"),
        ({"rate": float("nan")}, r"Example.rate = nan is no number: write one"),
        ({"rate": 1e39}, r"Example.rate = 1e\+39 must be finite"),
        ({"rate": 1e-39}, r"Example.rate = 1e-39 must be finite"),
        ({"pair": (float("inf"), "a")}, r"Example.pair\[0\] = inf must be finite"),
        ({"bound": float("inf")}, r"Example.bound = inf must be finite: .*, or None$"),
        ({"rate": True}, r"Example.rate = True must be of type float"),
        ({"rate": 10**5000}, r"Example.rate = a number of over 1000 digits must be of type float"),
        ({"size": True}, r"Example.size = True must be of type int"),
        ({"size": 10**18}, r"Example.size = 10+ must lie between -2147483647 and 2147483647"),
        ({"sizes": (1, 2.0)}, r"Example.sizes\[1\] = 2.0 must be of type int"),
        ({"either": True}, r"Example.either = True must be of type"),
        ({"flag": 1}, r"Example.flag = 1 must be of type bool"),
        ({"kind": "lin"}, r"Example.kind = 'lin' is not one of 'linear', 'log'; did you mean 'linear'\?"),
        ({"sizes": 3}, r"Example.sizes = 3 must be a tuple: write \(3,\)"),
        ({"pair": (1.0,)}, r"Example.pair = \(1.0,\) must have 2 elements"),
        ({"inner": 3}, r"Example.inner = 3 must be of type Inner"),
        ({"rate": -1}, r"rate must not be negative"),
    ],
)
def test_bad_values_are_refused_by_name(fields, message):
    with pytest.raises(ValueError, match=message):
        Example(**fields)


def brute_mask(geometry, num_q, num_k):
    mask = np.ones((2, 1, num_q, num_k), bool)
    for b in range(2):
        for q in range(num_q):
            for k in range(num_k):
                if geometry.causal and geometry.k_places[0, k] > geometry.q_places[0, q]:
                    mask[b, 0, q, k] = False
                if geometry.k_segments is not None:
                    segment = geometry.k_segments[b, k]
                    if segment == 0 or (geometry.q_segments is not None and segment != geometry.q_segments[b, q]):
                        mask[b, 0, q, k] = False
    return mask


SEGMENTS = np.array([[1, 1, 2, 2, 0, 0], [0, 3, 3, 3, 3, 1]])


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("packed", ["none", "keys", "both"])
def test_mask_follows_from_slots_and_segments_never_from_positions(causal, packed):
    keys = Sequence(np.arange(6)[None] * 0, np.array([6]), segment_ids=None if packed == "none" else SEGMENTS)
    of_queries = {"segment_ids": SEGMENTS[:, 3:] if packed == "both" else None, "places": np.array([[3, 4, 5]])}
    queries = Sequence(np.array([[9, -9, 0]]), np.array([6]), **of_queries)
    geometry = Geometry.between(queries, keys, num_heads=2, causal=causal)
    if not causal and packed == "none":
        assert geometry.mask is None
        return
    want = brute_mask(geometry, 3, 6)
    np.testing.assert_array_equal(np.broadcast_to(geometry.mask, want.shape), want)
    traced = jax.jit(lambda g: g.mask)(geometry)
    np.testing.assert_array_equal(np.broadcast_to(traced, want.shape), want)


def test_relative_is_key_minus_query():
    queries = Sequence(np.array([[4, 7]]), np.array([9]))
    keys = Sequence(np.array([[1, 2, 9], [0, 4, 5]]), np.array([9]))
    relative = Geometry.between(queries, keys, num_heads=1).relative
    assert isinstance(relative, np.ndarray)
    assert relative.tolist() == [[[-3, -2, 5], [-6, -5, 2]], [[-4, 0, 1], [-7, -3, -2]]]
    axes = Sequence(np.array([[[0, 1], [2, 5]]]), np.array([2]))
    assert Geometry.between(axes, axes, num_heads=1).relative[0, 0].tolist() == [[0, 0], [2, 4]]


def test_no_field_hides_a_hook():
    with pytest.raises(TypeError, match=r"Hidden\.normalize is a field, but also the name of a hook"):

        class Hidden(PositionalEncoding):
            normalize: bool = True


def test_block_is_the_same_call_on_fewer_queries_and_keys():
    types = np.arange(12).reshape(2, 6) % 3
    sequence = Sequence(np.arange(6)[None] + 5, np.array([6]), segment_ids=SEGMENTS, token_types=types)
    geometry = Geometry.between(sequence, sequence, num_heads=3, causal=True, contiguous=True)
    part = geometry.block(slice(1, 3), slice(2, 6))
    np.testing.assert_array_equal(part.relative, geometry.relative[:, 1:3, 2:6])
    np.testing.assert_array_equal(part.mask, geometry.mask[:, :, 1:3, 2:6])
    np.testing.assert_array_equal(part.q_types, types[:, 1:3])
    np.testing.assert_array_equal(part.k_types, types[:, 2:6])
    assert (part.causal, part.num_heads, part.contiguous) == (True, 3, True)
    assert part.q_length is part.k_length is geometry.k_length
    whole = Geometry.of_length(4, num_heads=1)
    assert whole.block(slice(0, 2), slice(0, 3)).mask is None
    assert whole.block(slice(0, 2), slice(0, 3)).contiguous
    assert not whole.block(slice(0, 4, 2), slice(0, 3)).contiguous


def test_a_query_has_the_length_of_its_own_segment_on_the_key_side():
    """As in cross-attention between packed rows; in self-attention both sides have one length."""
    own = {"segment_ids": np.array([[1, 2, 2, 0]]), "length": np.array([[1, 2, 2, 0]])}
    keys = Sequence(np.array([[0, 0, 1, 0]]), **own)
    queries = Sequence(np.arange(3)[None], np.array([[2, 2, 1]]), segment_ids=np.array([[2, 2, 1]]))
    crossed = Geometry.between(queries, keys, num_heads=1)
    assert (crossed.q_length.tolist(), crossed.k_length.tolist()) == ([[2, 2, 1]], [[1, 2, 2, 0]])
    part = crossed.block(slice(1, 3), slice(0, 2))
    assert (part.q_length.tolist(), part.k_length.tolist()) == ([[2, 1]], [[1, 2]])
    itself = Geometry.between(keys, keys, num_heads=1)
    assert itself.q_length is itself.k_length is keys.length
    rows = dataclasses.replace(keys, length=np.array([3]))
    assert Geometry.between(queries, rows, num_heads=1).q_length is rows.length
    seeing_all = dataclasses.replace(queries, segment_ids=None)
    assert Geometry.between(seeing_all, keys, num_heads=1).q_length.tolist() == [2]


def test_geometry_and_sequence_are_pytrees_with_static_facts():
    geometry = Geometry.of_length(4, num_heads=2, causal=True)
    leaves, tree = jax.tree.flatten(geometry)
    again = jax.tree.unflatten(tree, leaves)
    assert (again.causal, again.num_heads, again.contiguous) == (True, 2, True)
    np.testing.assert_array_equal(again.relative, geometry.relative)
    assert jax.tree.structure(geometry) != jax.tree.structure(dataclasses.replace(geometry, causal=False))
    sequence = Sequence.of_length(3, tokens=jnp.zeros((2, 3), int))
    assert [leaf.shape for leaf in jax.tree.leaves(sequence)] == [(1, 3), (1,), (2, 3)]
    assert isinstance(sequence.positions, np.ndarray)


def test_at_least_float32():
    assert at_least_float32(jnp.bfloat16) == at_least_float32(jnp.zeros(1, jnp.float16), jnp.int32) == jnp.float32
    with jax.enable_x64(True):
        assert at_least_float32(jnp.bfloat16, jnp.zeros(1, jnp.float64)) == jnp.float64
