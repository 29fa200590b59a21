import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from orders import Power, double_and_square

from posenc_jax.attention import Call, attend, choose
from posenc_jax.encodings import (
    Dims,
    Geometry,
    Learned,
    PositionalEncoding,
    Randomized,
    RoPE,
    Sequence,
    Sinusoidal,
    check_slot,
    elements,
    embed,
    for_layer,
    geometries,
    init_slot,
    is_pattern,
    layer_params,
    map_slot,
    parse,
)

DIMS = Dims(d_model=4, num_heads=1, num_kv_heads=1, head_dim=4, num_layers=4, max_len=8)
KEY = jax.random.key(0)


@dataclasses.dataclass(frozen=True)
class PerLayer(PositionalEncoding):
    size: int = 2

    name = "per_layer"
    per_layer = True

    def init(self, key, dims):
        return {"w": jax.random.normal(key, (self.size,))}


@dataclasses.dataclass(frozen=True)
class Shift(PositionalEncoding):
    by: int = 10

    name = "shift"

    def map_positions(self, sequence, *, key, train):
        return sequence.positions + self.by

    def mapped_max_len(self, max_len):
        return max_len + self.by


def test_patterns_repeat_over_the_layers():
    slot = ((RoPE(),), (RoPE(), Learned()), ())
    assert is_pattern(slot)
    assert [for_layer(slot, layer) for layer in range(5)] == [*slot, slot[0], slot[1]]
    assert elements(slot) == (RoPE(), Learned())
    plain = (RoPE(), Learned())
    assert not is_pattern(plain)
    assert for_layer(plain, 3) == elements(plain) == plain
    assert not is_pattern(())
    assert for_layer((), 2) == elements(()) == ()


def test_equal_elements_share_parameters_and_per_layer_ones_do_not():
    slot = ((Learned(), PerLayer()), (RoPE(base=1), Learned(max_len=None)), ())
    params = init_slot(KEY, slot, DIMS)
    assert len(params) == 3
    assert params[0]["table"].shape == (8, 4)
    assert params[2] == {}
    assert len(params[1]) == 4
    of = [layer_params(slot, params, layer) for layer in range(4)]
    assert [len(p) for p in of] == [2, 2, 0, 2]
    assert of[0][0] is of[1][1] is of[3][0]
    assert (of[0][1]["w"] != of[3][1]["w"]).all()
    assert of[3][1] is params[1][3]


def test_a_table_behind_a_mapping_is_long_enough_for_it():
    assert init_slot(KEY, (Shift(5), Learned()), DIMS)[1]["table"].shape == (13, 4)
    assert init_slot(KEY, (Learned(), Shift(5)), DIMS)[0]["table"].shape == (8, 4)
    both = ((Learned(),), (Shift(5), Shift(6), Learned()))  # one table, read behind different mappings
    assert init_slot(KEY, both, DIMS)[0]["table"].shape == (19, 4)
    with pytest.raises(ValueError, match=r"Learned.max_len = 10, but 13 positions occur"):
        check_slot((Shift(5), Learned(10)), DIMS)
    with pytest.raises(ValueError, match=r"Randomized.max_position = 12 has too few"):
        check_slot((Shift(5), Randomized(12)), DIMS)


def test_what_is_not_a_slot():
    with pytest.raises(ValueError, match="either encodings or tuples of encodings, not both"):
        check_slot((RoPE(), (RoPE(),)), DIMS)
    with pytest.raises(ValueError, match="pair a sine with a cosine"):
        check_slot(((), (Sinusoidal(),)), dataclasses.replace(DIMS, d_model=5))


def test_every_mapping_acts_on_the_elements_after_it():
    seen = map_slot((RoPE(), Shift(10), Learned(), Shift(100)), Sequence.of_length(3))
    assert [s.positions[0, 0] for s in seen] == [0, 0, 10, 10]
    plain = (Shift(10), RoPE())
    before, after = geometries(plain, Sequence.of_length(3), Sequence.of_length(3), num_heads=1, contiguous=True)
    assert (before.contiguous, after.contiguous) == (True, False)
    np.testing.assert_array_equal(after.q_places, [[0, 1, 2]])
    assert geometries((), Sequence.of_length(3), Sequence.of_length(3), num_heads=1, causal=True).causal


def test_random_mappings_get_a_key_by_index_and_by_layer_only_if_they_redraw():
    def positions(slot, layer=0, key=KEY):
        seen = map_slot(slot, Sequence.of_length(6), key=key, layer=layer)
        return [tuple(np.asarray(s.positions)[0].tolist()) for s in seen]

    once, fresh = Randomized(99), Randomized(99, redraw="layer")
    assert positions((once, RoPE()), 0) == positions((once, RoPE()), 3)
    assert positions((fresh, RoPE()), 0) != positions((fresh, RoPE()), 3)
    assert positions((once, RoPE())) != positions((once, RoPE()), key=jax.random.key(1))
    # The index in the tuple counts, not what stands before it.
    assert positions((RoPE(), once, RoPE()))[2] == positions((Learned(), once, RoPE()))[2]
    assert positions((RoPE(), once, RoPE()))[2] != positions((once, RoPE()))[1]
    with pytest.raises(ValueError, match="Randomized draws random positions: pass key="):
        map_slot((once, RoPE()), Sequence.of_length(6))


def test_embed_folds_left_to_right_through_the_mappings():
    slot = (Sinusoidal(), Shift(3), Learned())
    params = init_slot(KEY, slot, DIMS)
    x = jnp.ones((2, 5, 4))
    got = embed(slot, params, x, Sequence.of_length(5))
    want = Sinusoidal().embed({}, x, Sequence.of_length(5)) + params[2]["table"][None, 3:8]
    np.testing.assert_allclose(got, want, atol=1e-6)
    np.testing.assert_array_equal(embed((), (), x, Sequence.of_length(5)), x)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learned|within_section|learned", "stands twice in one layer, and equal encodings are one"),
        ("log_scaling(4)|pope", "PoPE.*is not linear in its queries, and LogScaling.* before it changes them"),
        ("log_scaling(4)|tapa", "TAPA.*is not linear in its queries"),
        ("t5(scaled=False)|pope", "leave scaled=True"),
        ("pope|t5(scaled=False)", "leave scaled=True"),
    ],
)
def test_a_slot_that_would_not_do_what_is_written_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        check_slot(parse(text), DIMS)


@pytest.mark.parametrize(
    "text",
    [
        "sinusoidal|within_section|sinusoidal|section_index|learned",  # no parameters, so nothing is shared
        "learned|within_section|learned(max_len=9)",
        "rope|learned/rope|learned",  # the layers of a stack share their parameters
        "pope|log_scaling(4)",
    ],
)
def test_what_can_stand_together(text):
    check_slot(parse(text), DIMS)
    names = [type(element).__name__ for element in elements(parse(text))]
    if names.count("Learned") == 2:
        tables = [p["table"] for p in init_slot(KEY, parse(text), DIMS) if "table" in p]
        assert [len(table) for table in tables] == [8, 9]


def test_positions_and_their_number_fold_from_left_to_right():
    slot = double_and_square("map_positions")
    assert map_slot((*slot, RoPE()), Sequence.of_length(3))[2].positions.tolist() == [[0, 4, 16]]
    assert init_slot(KEY, (*slot, Learned()), DIMS)[2]["table"].shape == ((2 * 8) ** 2, 4)
    check_slot((*slot, Learned((2 * 8) ** 2)), DIMS)
    with pytest.raises(ValueError, match=r"Learned.max_len = 128, but 256 positions occur"):
        check_slot((*slot, Learned(2 * 8**2)), DIMS)


def test_embeddings_fold_from_left_to_right():
    x = jnp.ones((1, 3, 4))
    np.testing.assert_array_equal(embed(double_and_square("embed"), ({}, {}), x, Sequence.of_length(3)), 4 * x)


def heads():
    q, k, v = jnp.asarray(np.random.default_rng(0).normal(size=(3, 1, 2, 16, 8)), jnp.float32)
    return q, k, v, Geometry.of_length(16, num_heads=2, causal=True)


@pytest.mark.parametrize("path", ["dense", "blockwise", "kernel"])
@pytest.mark.parametrize("hook", ["encode_queries", "encode_keys", "encode_values", "encode_outputs"])
def test_vectors_fold_from_left_to_right_and_outputs_back(hook, path):
    *vectors, geometry = heads()
    hooks = ("encode_queries", "encode_keys", "encode_values")
    given = ((2 * x) ** 2 if name == hook else x for name, x in zip(hooks, vectors))
    want = attend(*given, (), (), geometry)
    want = 2 * want**2 if hook == "encode_outputs" else want
    found = attend(*vectors, double_and_square(hook), ({}, {}), geometry, path=path)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", ["dense", "blockwise"])
def test_logits_fold_from_left_to_right_and_the_first_adds_biases(path):
    q, k, v, geometry = heads()
    slot = (Power("bias", factor=0.5), *double_and_square("adjust_logits"))
    logits = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8**0.5 + 0.5 * jnp.eye(16)[None, None]
    seen = jnp.where(np.tri(16, dtype=bool)[None, None], (2 * logits) ** 2, -1e30)
    found = attend(q, k, v, slot, ({},) * 3, geometry, path=path)
    np.testing.assert_allclose(found, jax.nn.softmax(seen, axis=-1) @ v, rtol=1e-4, atol=1e-5)


SUMS = [
    ("bias", "kernel"),
    *((hook, p) for hook in ("bias", "content_bias", "value_term") for p in ("dense", "blockwise")),
]


@pytest.mark.parametrize(("hook", "path"), SUMS)
def test_what_is_added_is_added_from_left_to_right(hook, path):
    """In float32 ``(2^30 - 2^30) + 1`` is 1, and ``2^30 + (-2^30 + 1)`` is 0: a sum has its bits by its order."""
    q, _, v, geometry = heads()
    v = 0 * v if hook == "value_term" else v
    slot = tuple(Power(hook, factor=factor) for factor in (2.0**30, -(2.0**30), 1.0))
    found = attend(0 * q, q, v, slot, ({},) * 3, geometry, path=path)
    want = attend(0 * q, q, v, slot[2:], ({},), geometry)
    assert jnp.any(want != attend(0 * q, q, v, (), (), geometry))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_dimensions_of_encoded_vectors_fold_from_left_to_right():
    call = Call(1, 8, 8, 1024, 1024, 16, dtype=jnp.bfloat16, backend="gpu", causal=True)
    assert f"queries and keys of {(2 * 16) ** 2} dimensions" in str(choose(double_and_square("encoded_dim"), call))


def test_a_mapping_before_a_bias_keeps_it_from_kernels_and_one_behind_it_does_not():
    call = Call(1, 8, 8, 1024, 1024, 64, backend="tpu", causal=True)
    for spec, path in (("randomized|t5", "dense"), ("t5|randomized|rope", "kernel")):
        assert choose(parse(spec), call).path == path
    for spec, path in (("randomized|alibi", "dense"), ("alibi|randomized|rope", "kernel")):
        assert choose(parse(spec), call).path == path
