"""What `layer_inputs`, `embed` and `attend` take, over the catalogue: parameters of another model or encoding, and
sizes, keys and options that are none, are refused in one line while a program is traced.
"""

import dataclasses
import traceback

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry_slots import fourth_of_registry, slots_of_registry

from posenc_jax.analysis.synthetic_attributes import attributes_for
from posenc_jax.encodings import (
    Dims,
    Geometry,
    PositionalEncoding,
    Sequence,
    attend,
    check_slot,
    elements,
    embed,
    for_layer,
    geometries,
    init_slot,
    layer_inputs,
    parse,
    position_bias,
    token_terms,
)
from posenc_jax.encodings.interface.slots import position_axes

DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=2, head_dim=8, num_layers=1, max_len=64, vocab_size=16)
SLOTS = slots_of_registry()
KEY = jax.random.key(0)


def shapes(slot, **changes):
    """Parameters of a model that differs from `DIMS`, as shapes; none of it is checked."""
    dims = dataclasses.replace(DIMS, **changes)
    made = [jax.eval_shape(lambda e=e: e.init(KEY, dims)) for e in elements(slot)]
    return tuple((p,) if e.per_layer else p for e, p in zip(elements(slot), made, strict=True))


def traced(slot, params, dims=DIMS, key=KEY, **options):
    """Embeddings and attention of one layer as a user has them, traced."""
    ones = np.ones((2, 6), np.int32)
    made = attributes_for(elements(slot), ones)
    side, axes = Sequence.of_length(6, tokens=ones, token_types=ones, **made), position_axes(slot)
    if axes is not None:
        side = dataclasses.replace(side, positions=np.zeros((1, 6, axes), np.int32))
    call = {"num_heads": dims.num_heads, "causal": True, "embedded": True, "key": key} | options

    def layer(params, x, q, k):
        x = embed(slot, params, x, side, key=key)
        return attend(q, k, k, *layer_inputs(slot, params, x, side, **call))

    sizes = (2, 6, dims.d_model), *((2, heads, 6, dims.head_dim) for heads in (dims.num_heads, dims.num_kv_heads))
    arrays = [jax.ShapeDtypeStruct(size, jnp.float32) for size in sizes]
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(params)):
        return jax.eval_shape(layer, params, *arrays)
    return jax.eval_shape(lambda *x: layer(params, *x), *arrays)


def refusal(call):
    """The text of an error that this library raised, in one line, and no other."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert "posenc_jax" in frame.filename, caught.value
    assert (frame.line or "").startswith("raise"), caught.value
    text = str(caught.value)
    assert text, frame
    assert "\n" not in text
    return text


def sets(change, params):
    """Every encoding's own set of parameters, changed."""
    return tuple(tuple(map(change, p)) if isinstance(p, tuple) else change(p) for p in params)


OTHER_MODELS = {
    "head_dim": {"head_dim": 12},
    "d_model": {"d_model": 48},
    "one head": {"num_heads": 1, "num_kv_heads": 1},
    "key heads": {"num_kv_heads": 4},
}
OTHERS = {
    "missing": lambda p: dict(list(p.items())[1:]),
    "superfluous": lambda p: p | {"other": jax.ShapeDtypeStruct((3,), jnp.float32)},
    "text": lambda p: dict.fromkeys(p, "text"),
    "None": lambda p: dict.fromkeys(p),
    "integers": lambda p: {name: jax.ShapeDtypeStruct((1,), jnp.int32) for name in p},
    "an axis more": lambda p: jax.tree.map(lambda x: jax.ShapeDtypeStruct((1, *x.shape), x.dtype), p),
    "no dict": lambda p: "parameters",
}


@pytest.mark.parametrize("name", fourth_of_registry())
def test_parameters_of_another_model_or_encoding_are_refused(name):
    """Every encoding; where a size decides nothing of them, they are the same parameters."""
    slot = SLOTS[name]
    if not jax.tree.leaves(own := shapes(slot)):
        return
    for changes in OTHER_MODELS.values():
        try:
            others = shapes(slot, **changes)
        except ValueError:  # fope of one dimension
            continue
        if jax.tree.map(lambda x: x.shape, others) != jax.tree.map(lambda x: x.shape, own):
            text = refusal(lambda others=others: traced(slot, others))
            assert "pass what init_slot" in text
            assert "has the shape [" in text
    for name, change in OTHERS.items():
        changed = sets(lambda p, change=change: change(p) if p else p, own)
        text = refusal(lambda changed=changed: traced(slot, changed))
        assert f"{type(elements(slot)[0]).__name__}'s parameters" in text or len(elements(slot)) > 1
        assert "pass what init_slot" in text or name in ("text", "numbers", "None", "integers")


@pytest.mark.parametrize("name", SLOTS)
def test_sizes_that_an_encoding_cannot_serve_are_refused_without_its_init(name):
    slot = next(filter(None, (for_layer(SLOTS[name], layer) for layer in range(8))), ())  # of a pattern one layer
    for changes in ({"head_dim": 15, "d_model": 60}, {"head_dim": 2, "d_model": 8}, {"d_model": 63}):
        dims = dataclasses.replace(DIMS, **changes)
        try:
            check_slot(slot, dims)
        except ValueError:
            assert refusal(lambda dims=dims: traced(slot, ({},) * len(elements(slot)), dims=dims))


def test_one_line_says_what_is_there_and_what_is_wanted():
    slot, fixed = parse("shaw"), Geometry.of_length(6, num_heads=4)
    q = jnp.ones((2, 4, 6, 8))
    for params, message in (
        ({"keys": jnp.ones((33, 8))}, r"Shaw's parameters are keys, and Shaw\(.*\) has keys, values: pass what init_s"),
        (
            dict.fromkeys(("keys", "values"), jnp.ones((33, 1))),
            r"Shaw's parameters\['keys'\] has the shape \[33, 1\], and for Shaw\(.*\) and num_heads = 4, head_dim = 8, "
            r"num_kv_heads = 4 it is \[33, 8\]: pass what init_slot\(key, slot, dims\) gives",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            attend(q, q, q, slot, (params,), fixed)
    table = parse("learned")
    with pytest.raises(ValueError, match=r"Learned's parameters\['table'\] has .* and d_model = 32 it is \[any, 32\]"):
        embed(table, ({"table": jnp.ones((64, 16))},), jnp.ones((2, 6, 32)), Sequence.of_length(6))
    with pytest.raises(ValueError, match=r"FoX's parameters\['weight'\] has the shape .* and d_model = 32 it is"):
        token_terms(parse("fox"), shapes(parse("fox"), d_model=16)[0], jnp.ones((2, 6, 32)), Sequence.of_length(6))
    with pytest.raises(ValueError, match=r"T5Bias's parameters\['table'\] has the shape \[2, 32\], .*\[4, 32\]"):
        position_bias(parse("t5"), shapes(parse("t5"), num_heads=2, num_kv_heads=2), fixed)


@dataclasses.dataclass(frozen=True)
class OfItsOwn(PositionalEncoding):
    """Parameters that no sizes of a model tell: an init that reads the numbers of its key."""

    def init(self, key, dims):
        return {"table": jnp.ones((int(jax.random.randint(key, (), 3, 9)), 4))}

    def bias(self, params, geometry):
        return params["table"].sum() * geometry.relative[:, None]


def test_what_cannot_be_told_is_left_to_the_encoding():
    q, geometry = jnp.ones((1, 2, 6, 8)), Geometry.of_length(6, num_heads=2)
    assert attend(q, q, q, (OfItsOwn(),), ({"table": jnp.ones((2, 5))},), geometry).shape == q.shape


@pytest.mark.parametrize("spec", ["nope", "rope", "randomized|rope", "t5", "learned"])
def test_a_key_is_one_key(spec):
    slot = parse(spec)
    params = shapes(slot)
    several = jax.random.split(KEY, 3)
    for key in (42, "text", 0.5, several, jax.random.split(jax.random.PRNGKey(0), 3), np.ones(2, np.float32)):
        for call in (
            lambda key=key: traced(slot, params, key=key),
            lambda key=key: init_slot(key, slot, DIMS),
            lambda key=key: [element.init(key, DIMS) for element in slot],
        )[: 3 if slot else 2]:
            assert "must be one key: pass jax.random.key" in refusal(call)
    for key in (several[0], jax.random.PRNGKey(0), np.asarray(jax.random.PRNGKey(0))):
        assert traced(slot, params, key=key).shape == (2, 4, 6, 8)
        init_slot(key, slot, DIMS)


@pytest.mark.parametrize("spec", ["nope", "rope"])
def test_options_of_a_layer_are_those_that_there_are(spec):
    slot = parse(spec)
    for options, message in (
        ({"windw": 3}, "windw is no argument of layer_inputs, which takes .*: did you mean 'window'?"),
        ({"structure": "own_section"}, "structure = 'own_section' must be a mask"),
        ({"head_axis": 3}, "head_axis = 3 must be the name of an axis"),
    ):
        assert refusal(lambda o=options: traced(slot, ({},) * len(slot), **o)).startswith(message.split(", which")[0])
    side = Sequence.of_length(6)
    with pytest.raises(TypeError, match=r"casual is no argument of Geometry.between, .*did you mean 'causal'\?"):
        geometries(slot, side, side, num_heads=2, casual=True)
    with pytest.raises(TypeError, match=r"token is no argument of Sequence.of_length, .*did you mean 'tokens'\?"):
        Sequence.of_length(6, token=np.ones((2, 6), int))


def test_slots_and_sets_of_another_kind():
    x, side = jnp.ones((2, 6, 32)), Sequence.of_length(6)
    rope, q, geometry = parse("rope"), jnp.ones((2, 4, 6, 8)), Geometry.of_length(6, num_heads=4)
    for call, message in (
        (lambda: init_slot(KEY, "rope", DIMS), "a slot is a tuple of encodings, got 'rope': write parse"),
        (lambda: attend(q, q, q, ("rope",), ({},), geometry), "'rope' is not a positional encoding"),
        (lambda: attend(q, q, q, rope, {}, geometry), "parameters are of type dict, and a slot has a tuple of them"),
        (lambda: embed(rope, ({}, {}), x, side), "1 encodings need as many parameter sets, got 2"),
        (lambda: embed(rope, ({},), x, dataclasses.replace(side, length=None)), "length is None, and every sequence"),
        (lambda: embed(rope, ({},), x, dataclasses.replace(side, context=side)), "places is None, and a part of a co"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            call()
