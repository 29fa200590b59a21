"""What `attend` needs of a layer, in one call: parameters of the layer, what it reads of tokens, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.analysis.layer import compiled, noise
from posenc_jax.analysis.synthetic_attributes import attributes_for
from posenc_jax.encodings import (
    Dims,
    Geometry,
    Sequence,
    attend,
    elements,
    embed,
    for_layer,
    geometries,
    init_slot,
    is_pattern,
    layer_inputs,
    layer_params,
    parse,
    token_terms,
)
from posenc_jax.encodings.interface.structure import OwnSection

DIMS = Dims(d_model=8, num_heads=2, num_kv_heads=2, head_dim=4, num_layers=3, max_len=16, vocab_size=16)


@pytest.fixture
def x(random):
    return jnp.asarray(random.normal(size=(2, 5, 8)), jnp.float32)


def heads(random, count=3):
    return jnp.asarray(random.normal(size=(count, 2, 2, 5, 4)), jnp.float32)


def made(spec):
    slot = parse(spec)
    return slot, init_slot(jax.random.key(0), slot, DIMS)


@pytest.mark.parametrize("spec", ["fox|alibi", "rope/shaw|fox/nope", "randomized|t5"])
@pytest.mark.parametrize("layer", [0, 1])
def test_it_is_the_parts_of_that_layer(spec, layer, x, random):
    slot, params = made(spec)
    encodings, own, sequence = for_layer(slot, layer), layer_params(slot, params, layer), Sequence.of_length(5)
    call = {"num_heads": 2, "causal": True, "key": jax.random.key(3), "layer": layer}
    seen = geometries(encodings, sequence, sequence, **call)
    q, k, v = heads(random)
    want = attend(q, k, v, encodings, own, seen, token_terms(encodings, own, x, sequence))
    np.testing.assert_array_equal(attend(q, k, v, *layer_inputs(slot, params, x, **call)), want)


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
        ("shaw", {"layer": 3}, r"layer = 3: Shaw\(.*\) has parameters for every layer, .* those of 3 layers: pass"),
        ("shaw", {"layer": -1}, r"layer = -1 must be a whole number from 0 on"),
        ("rope", {"embedded": "no"}, r"embedded = 'no' must be True or False"),
        ("rope", {"causal": "no"}, r"causal = 'no' must be True or False"),
        ("rope", {"window": 2.5}, r"window = 2.5 must be a whole number from 1 on"),
    ],
)
def test_what_a_row_needs_is_said(spec, call, message, x):
    slot, params = made(spec)
    with pytest.raises(ValueError, match=message):
        layer_inputs(slot, params, x, num_heads=2, **{"causal": True} | call)


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


TOKENS = 8
REAL = np.array([[1] * TOKENS, [0] * 3 + [1] * (TOKENS - 3)], np.int32)  # the second row is padded on the left
PROJECTIONS = [noise(32, heads * 8, seed=heads) / 32**0.5 for heads in (4, 2, 2)]
OUTPUT = noise(32, 32, seed=9) / 32**0.5
# Angles, biases, terms, neighbours, draws, logits of all pairs.
HANDFUL = (
    "rope",
    "t5",
    "fox|rope(base=5e5)",
    "learned|section_index|learned(4)",
    "randomized|rope",
    "kerple|dape",
    "shaw",
)


class Decoder:
    """Two layers of a model of one's own, the second with a window, and a sequence whose second row is padded."""

    def __init__(self, spec):
        self.slot = parse(spec)
        layers = len(self.slot) if is_pattern(self.slot) else 2
        self.layers = [(0, None), (layers - 1, 3)]
        dims = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=layers, max_len=16, vocab_size=16)
        initial, tree = jax.tree.flatten(init_slot(jax.random.key(0), self.slot, dims))
        self.params = tree.unflatten(np.asarray(a) + 0.3 * noise(*a.shape, seed=i) for i, a in enumerate(initial))
        positions = np.maximum(np.cumsum(REAL, axis=1, dtype=np.int32) - 1, 0)
        axes = next((e.position_axes for e in for_layer(self.slot, 0)), None)
        if isinstance(axes, int):
            positions = positions[..., None] * np.arange(1, axes + 1, dtype=np.int32)
        tokens = np.random.default_rng(0).integers(1, 16, (2, TOKENS)).astype(np.int32)
        fields = attributes_for(elements(self.slot), tokens) | {"segment_ids": REAL, "token_types": tokens % 3}
        length, ids = REAL.sum(axis=1, dtype=np.int32), np.arange(2, dtype=np.int32)
        self.whole = Sequence(positions, length, tokens, example_ids=ids, **fields)
        self.program = compiled(self.call)

    def call(self, x, numbers=None, caches=None):
        """All tokens, or those of these ``numbers`` with caches; and the caches."""
        sequence = self.whole if numbers is None else self.whole.part(numbers)
        x, filled, draws = jnp.asarray(x), [], jax.random.key(1)
        x = embed(self.slot, self.params, x, sequence, key=draws)
        options = {"num_heads": 4, "causal": True, "embedded": True, "key": draws}
        for index, (layer, window) in enumerate(self.layers):
            inputs = layer_inputs(self.slot, self.params, x, sequence, layer=layer, window=window, **options)
            q, k, v = ((x @ w).reshape(*x.shape[:2], -1, 8) for w in PROJECTIONS)
            cache = k, v, inputs.terms
            if caches is not None:
                cache = jax.tree.map(lambda old, new: jnp.asarray(old).at[:, numbers].set(new), caches[index], cache)
            q, k, v = (jnp.swapaxes(a, 1, 2) for a in (q, *cache[:2]))
            y = attend(q, k, v, *inputs[:3], cache[2])
            x = x + jnp.swapaxes(y, 1, 2).reshape(x.shape) @ OUTPUT
            filled.append(cache)
        return x, filled


@pytest.mark.parametrize("spec", HANDFUL)
def test_decoding_with_a_cache_gives_what_the_full_pass_gives(spec):
    """A prompt in chunks, then single steps, over caches whose free places hold noise."""
    with jax.enable_x64(True):
        decoder, x = Decoder(spec), noise(2, TOKENS, 32)
        want, caches = decoder.program(x)
        caches = jax.tree.map(lambda a: noise(*a.shape, seed=5), caches)
        found = []
        for numbers in map(np.array, ([0, 1], [2, 3, 4], [5], [6], [7])):
            y, caches = decoder.program(x[:, numbers], numbers, caches)
            found.append(y)
        np.testing.assert_allclose(np.concatenate(found, axis=1)[REAL != 0], want[REAL != 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("tokens", [slice(3, 5), slice(4, 1, -2), np.array([4, 2]), jnp.array([4, 2])], ids=str)
def test_a_part_knows_where_it_was_cut(tokens):
    whole = Sequence.of_length(5, segment_ids=np.array([[1, 1, 1, 1, 0]]), right_padded=True, packed=True)
    part = whole.part(tokens)
    np.testing.assert_array_equal(part.places, np.arange(5)[None, tokens])
    np.testing.assert_array_equal(part.positions, part.places)
    assert part.context is whole
    assert part.right_padded == part.packed == (tokens == slice(3, 5) if isinstance(tokens, slice) else False)
    of_a_part = whole.part(slice(1, 5)).part(slice(1, 3))
    np.testing.assert_array_equal(of_a_part.places, [[2, 3]])
    assert of_a_part.context is whole


@pytest.mark.parametrize("number", [3, np.int32(3), jnp.int32(3)], ids=repr)
def test_one_number_is_a_part_and_one_beyond_the_last_is_refused(number):
    whole = Sequence.of_length(5)
    for part in (whole.part(number), jax.jit(whole.part)(number)):
        np.testing.assert_array_equal(part.places, [[3]])
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        whole.part(jnp.array([number + 2]))


@pytest.mark.parametrize("call", [{"causal": True}, {"window": 2}, {"structure": OwnSection()}], ids=str)
def test_fewer_queries_than_keys_say_where_they_stand(call):
    whole, step = Sequence.of_length(10), Sequence(np.array([[9]]), np.array([10]))
    message = r"^places is None for 1 queries of 10 keys, and the mask needs them: cut .* keys.part\(slice\(first, last"
    for function in (Geometry.between, lambda *sides, **call: geometries(parse("rope"), *sides, **call)):
        with pytest.raises(ValueError, match=message):
            function(step, whole, num_heads=2, **call)
    Geometry.between(step, whole, num_heads=2)  # cross-attention has no order of places
    geometry = Geometry.between(whole.part(slice(9, 10)), whole, num_heads=2, causal=True)
    assert geometry.mask.all()
