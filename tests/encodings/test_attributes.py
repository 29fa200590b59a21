import dataclasses
import math

import jax
import numpy as np
import pytest
from initial import shapes_of

from posenc_jax.encodings import Dims, LayoutTables, Sequence, attend, embed, geometries, init_slot, map_slot, parse
from posenc_jax.encodings.interface.slots import position_axes
from posenc_jax.models import Slots, Transformer, build

DIMS = Dims(d_model=6, num_heads=1, num_kv_heads=1, head_dim=8, num_layers=1, max_len=64)


def events(attributes, **fields):
    return Sequence.of_length(attributes.shape[1], attributes=attributes, **fields)


@pytest.mark.parametrize(("spec", "base"), [("attributes(1)|rope", 10000), ("attributes(1)|rope(base=1)", 1)])
def test_rope_turns_by_time_stamps_and_headings(random, spec, base):
    """RoTHP: logits are q R(t_j - t_i) k / sqrt(D), whatever the positions are. DRoPE: every plane turns alike, and a
    whole turn is none.
    """
    times, (q, k) = random.uniform(0, 9, (1, 4, 2)), random.normal(size=(2, 1, 1, 4, 8))
    logits = np.zeros((4, 4))
    for i, j in np.ndindex(4, 4):
        for plane in range(4):
            turn = np.exp(1j * (times[0, j, 1] - times[0, i, 1]) * base ** (-2 * plane / 8))
            a, b = (complex(*x[0, 0, at, 2 * plane : 2 * plane + 2]) for x, at in ((q, i), (k, j)))
            logits[i, j] += (a.conjugate() * turn * b).real / math.sqrt(8)
    want = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    slot = parse(spec)
    with jax.enable_x64(True):
        for turns in (0, 1) if base == 1 else (0,):
            sequence = events(times + 2 * math.pi * turns * np.eye(4)[None, :, :2])
            seen = geometries(slot, sequence, sequence, num_heads=1)
            _, weights = attend(q, k, k, slot, ({}, {}), seen, return_weights=True)
            np.testing.assert_allclose(weights[0, 0], want, atol=1e-9)


def test_the_periods_of_poyo(random):
    """2 pi / (t_min (t_max / t_min)^(2k/r)) a second, from 0.1 ms to 4 s, in the first half of a head."""
    times, q = np.array([[[0.0], [0.00123], [0.4]]]), random.normal(size=(1, 1, 3, 8))
    slot = parse("attributes|interpolated(factor=1.5915494309189535e-05)|rope(base=4e4, rotary_dim=0.5)")
    with jax.enable_x64(True):
        seen = map_slot(slot, events(times))[-1]
        got = slot[-1].encode_queries({}, q, seen.positions, seen.length)
    for i, plane in np.ndindex(3, 2):
        turn = np.exp(1j * times[0, i, 0] * 2 * math.pi / (1e-4 * (4 / 1e-4) ** (2 * plane / 4)))
        want = complex(*q[0, 0, i, 2 * plane : 2 * plane + 2]) * turn
        np.testing.assert_allclose(complex(*got[0, 0, i, 2 * plane : 2 * plane + 2]), want, atol=1e-9)
    np.testing.assert_array_equal(got[..., 4:], q[..., 4:])


def test_a_table_for_each_attribute(random):
    """TaPas: positions, then segment, column, row and so on."""
    numbers, x = random.integers(0, 3, (2, 5, 3)), random.normal(size=(2, 5, 6))
    positions, tables = random.normal(size=(5, 6)), [random.normal(size=(3, 6)) for _ in range(3)]
    slot = parse("learned|attributes(count=3)|learned_axes(sizes=(3, 3, 3))")
    with jax.enable_x64(True):
        seen = map_slot(slot, events(numbers))
        got = slot[0].embed({"table": positions}, x, seen[0])
        got = slot[2].embed({f"axis_{a}": table for a, table in enumerate(tables)}, got, seen[2])
    for b, t in np.ndindex(2, 5):
        want = x[b, t] + positions[t] + sum(table[numbers[b, t, a]] for a, table in enumerate(tables))
        np.testing.assert_allclose(got[b, t], want, atol=1e-9)


def test_the_six_vectors_of_a_box(random):
    boxes = np.array([[[1, 2, 5, 3], [0, 0, 7, 7], [4, 1, 4, 6]]])
    x = random.normal(size=(1, 3, 6))
    params = {name: random.normal(size=(8, 6)) for name in ("left", "top", "height", "width")}
    with jax.enable_x64(True):
        got = LayoutTables(8).embed(params, x, Sequence(boxes, np.array([3])))
    for t, (x0, y0, x1, y1) in enumerate(boxes[0]):
        edges = params["left"][x0] + params["top"][y0] + params["left"][x1] + params["top"][y1]
        want = x[0, t] + edges + params["height"][y1 - y0] + params["width"][x1 - x0]
        np.testing.assert_allclose(got[0, t], want, atol=1e-9)
    assert {name: a.shape for name, a in shapes_of(LayoutTables(8), DIMS).items()} == dict.fromkeys(params, (8, 6))


def test_attributes_stand_for_the_positions_of_any_element_after_them():
    assert position_axes(parse("attributes(count=4)|layout_tables")) is None
    assert position_axes(parse("random_signs|linear_positions(axes=3)")) == 3
    slot = parse("learned|attributes(count=2)|learned_axes(sizes=(4, 4))|attributes(2)|rope")
    seen = map_slot(slot, events(np.arange(6.0).reshape(1, 2, 3)))
    assert [list(s.positions.shape) for s in seen] == [[1, 2], [1, 2], [1, 2, 2], [1, 2, 2], [1, 2]]
    np.testing.assert_array_equal(seen[-1].positions, [[2, 5]])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64])
@pytest.mark.parametrize(
    "spec", ["attributes|shape(max_shift=200)|learned", "attributes(count=2)|learned_axes(sizes=(9, 9))"]
)
def test_attributes_of_any_integer_type_count_alike(spec, dtype):
    """A shift goes beyond 8 bits, and NumPy makes floats of uint64 in sums."""
    slot, x = parse(spec), np.zeros((1, 3, 6), np.float32)
    params = init_slot(jax.random.key(0), slot, dataclasses.replace(DIMS, max_len=512))
    attributes = np.array([[[7, 1], [5, 3], [0, 2]]])
    want, found = (embed(slot, params, x, events(attributes.astype(kind))) for kind in (np.int32, dtype))
    np.testing.assert_array_equal(found, want)


def test_a_model_takes_them_and_a_cache_does_not():
    tokens, rng = np.array([[1, 2, 3, 4]]), np.random.default_rng(0)
    sizes = {"vocab_size": 5, "num_classes": 5, "max_len": 8}
    keys = {"key": jax.random.key(0), "posenc_key": jax.random.key(1)}
    slots = Slots(decoder=parse("attributes|rope"))
    decoder = build("decoder_only", Transformer(16, 1, 2), slots, **sizes, **keys)
    times = rng.uniform(0, 9, (1, 4, 1)).astype(np.float32)
    logits = decoder(tokens, attributes=times)
    assert np.abs(logits - decoder(tokens, attributes=2 * times)).max() > 1e-4
    np.testing.assert_allclose(logits, decoder(tokens, attributes=times + 1), atol=1e-5)
    with pytest.raises(ValueError, match=r"^Attributes\(first=0, count=None\) reads 1 attributes .*a cache of a model"):
        decoder.extend(tokens, decoder.new_cache(1, 4))
    with pytest.raises(TypeError, match=r"^attributes is no argument of this call, which reads example_ids, length"):
        decoder.extend(tokens, decoder.new_cache(1, 4), attributes=times)
