import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import (
    Dims,
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
    with pytest.raises(ValueError, match=r"a slot is a tuple of encodings, got RoPE\(.*\): write \(RoPE\(.*\),\)"):
        check_slot(RoPE(), DIMS)
    with pytest.raises(ValueError, match="either encodings or tuples of encodings, not both"):
        check_slot((RoPE(), (RoPE(),)), DIMS)
    with pytest.raises(ValueError, match=r"'rope' is not a positional encoding; see `posenc list`"):
        check_slot(("rope",), DIMS)
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


def test_embed_takes_a_slot_with_equal_elements():
    slot = parse("sinusoidal|section_index|sinusoidal")
    x = jnp.ones((1, 4, 8))
    params, types = init_slot(jax.random.key(0), slot, DIMS), np.array([[0, 1, 1, 2]])
    got = embed(slot, params, x, Sequence.of_length(4, token_types=types))
    by_position, by_section = (
        Sinusoidal().embed({}, 0 * x, Sequence(positions, np.array([4]))) for positions in (np.arange(4)[None], types)
    )
    np.testing.assert_allclose(got, x + by_position + by_section, rtol=1e-6)


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
