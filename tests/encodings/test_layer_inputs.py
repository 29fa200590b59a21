"""What `attend` needs of a layer, in one call: parameters of the layer, what it reads of tokens, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import (
    Dims,
    Sequence,
    attend,
    embed,
    for_layer,
    geometries,
    init_slot,
    layer_inputs,
    layer_params,
    parse,
    token_terms,
)

DIMS = Dims(d_model=8, num_heads=2, num_kv_heads=2, head_dim=4, num_layers=3, max_len=16, vocab_size=16)


@pytest.fixture
def x(random):
    return jnp.asarray(random.normal(size=(2, 5, 8)), jnp.float32)


def heads(random, count=3):
    return jnp.asarray(random.normal(size=(count, 2, 2, 5, 4)), jnp.float32)


def made(spec):
    slot = parse(spec)
    return slot, init_slot(jax.random.key(0), slot, DIMS)


@pytest.mark.parametrize("spec", ["shaw|rope", "fox|alibi", "rope/shaw|fox/nope", "randomized|t5", "shape|rope"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_it_is_the_parts_of_that_layer(spec, layer, x, random):
    slot, params = made(spec)
    encodings, own, sequence = for_layer(slot, layer), layer_params(slot, params, layer), Sequence.of_length(5)
    key, call = jax.random.key(3), {"num_heads": 2, "causal": True}
    seen = geometries(encodings, sequence, sequence, **call, key=key, layer=layer)
    q, k, v = heads(random)
    want = attend(q, k, v, encodings, own, seen, token_terms(encodings, own, x, sequence))
    found = attend(q, k, v, *layer_inputs(slot, params, x, **call, key=key, layer=layer))
    np.testing.assert_array_equal(found, want)


def test_parameters_that_are_not_trained_get_no_gradient(x, random):
    slot, params = made("fope|kerple")
    assert slot[0].frozen
    q, k, v = heads(random)

    def loss(params):
        return jnp.sum(attend(q, k, v, *layer_inputs(slot, params, x, num_heads=2)) ** 2)

    of_fope, of_kerple = jax.grad(loss)(params)
    assert not any(jnp.any(array) for array in jax.tree.leaves(of_fope))
    assert all(jnp.any(array) for array in jax.tree.leaves(of_kerple))


def test_embeddings_of_a_whole_slot_are_those_of_its_first_layer(x):
    sequence = Sequence.of_length(5)
    for spec in ("learned|shaw", "learned|rope/shaw"):
        slot, params = made(spec)
        want = embed(for_layer(slot, 0), layer_params(slot, params, 0), x, sequence)
        np.testing.assert_array_equal(embed(slot, params, x, sequence), want)
        assert jnp.any(want != x)
        layer_inputs(slot, params, x, num_heads=2, embedded=True)


@pytest.mark.parametrize(
    ("spec", "call", "message"),
    [
        ("rope|learned", {}, r"Learned\(.*\) acts on embeddings, .* call embed\(slot, params, x, sequence\) before"),
        ("rope/sinusoidal", {}, r"Sinusoidal\(.*\) acts on embeddings"),
        ("fox", {"causal": False}, r"FoX\(.*\) needs a causal mask: say causal=True"),
        (
            "shaw",
            {"layer": 3},
            r"layer = 3: Shaw\(.*\) has parameters for every layer, .* those of 3 layers: pass",
        ),
        ("shaw", {"layer": -1}, r"layer = -1 must be a whole number from 0 on"),
        ("rope", {"layer": 1.0}, r"layer = 1.0 must be a whole number from 0 on"),
        ("rope", {"embedded": "no"}, r"embedded = 'no' must be True or False"),
        ("rope", {"causal": "no"}, r"causal = 'no' must be True or False"),
        ("rope", {"window": 2.5}, r"window = 2.5 must be a whole number from 1 on"),
        ("axial_rope", {}, r"reads positions of 2 axes"),
        ("randomized|rope", {}, r"Randomized draws random positions: pass key="),
        ("section_index|learned", {"embedded": True}, r"the sequence has none: pass token_types="),
    ],
)
def test_what_a_row_needs_is_said(spec, call, message, x):
    slot, params = made(spec)
    with pytest.raises(ValueError, match=message):
        layer_inputs(slot, params, x, num_heads=2, **{"causal": True} | call)


def test_parameters_of_another_slot_are_refused(x):
    slot, params = made("shaw|alibi")
    with pytest.raises(ValueError, match="a slot of 2 different encodings has as many parameter sets, got 1: pass"):
        layer_inputs(slot, params[:1], x, num_heads=2)
    with pytest.raises(ValueError, match=r"layer = 0: Shaw\(.*, and here are those of one layer: pass what init_slot"):
        layer_inputs(slot, layer_params(slot, params, 0), x, num_heads=2)
    with pytest.raises(ValueError, match=r"x has the shape \[5, 8\], and the inputs of a layer are"):
        layer_inputs(slot, params, x[0], num_heads=2)


def test_the_inputs_of_a_layer_may_be_left_out_where_no_encoding_reads_them(x, random):
    slot, params = made("shaw|rope")
    q, k, v = heads(random)
    want = attend(q, k, v, *layer_inputs(slot, params, x, num_heads=2))
    found = attend(q, k, v, *layer_inputs(slot, params, None, Sequence.of_length(5), num_heads=2))
    np.testing.assert_array_equal(found, want)
    with pytest.raises(ValueError, match=r"x and sequence are both None: pass sequence=Sequence.of_length\(length\)"):
        layer_inputs(slot, params, None, num_heads=2)
    slot, params = made("rope|fox")
    with pytest.raises(ValueError, match=r"FoX\(.*\) reads the inputs of the layer: pass x, what queries, keys and"):
        layer_inputs(slot, params, None, Sequence.of_length(5), num_heads=2, causal=True)
