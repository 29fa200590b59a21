import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from calls import DIMS, arguments, assert_agree, result, shapes
from registry_slots import reads_attributes, slots_of_registry

from posenc_jax.attention import attend
from posenc_jax.attention.blockwise import blockwise, causal_parts
from posenc_jax.encodings import Geometry, Sequence, parse
from posenc_jax.encodings.interface.attention import dense, prepare


def in_parts(*args, path):
    """Of 11 queries: 2, 3, 3 and 3; of a cross-attention that has a mask all queries stand after the first keys."""
    call = prepare(*args)
    return causal_parts(call, int(call.geometry.q_places[0, 0]) - int(call.geometry.k_places[0, 0]))


def in_blocks(*args, path, size=4):
    """The blocks overlap: 11 queries make three, 11 keys four."""
    assert path == "blockwise"
    return blockwise(prepare(*args), size, of_keys=3)


SHAPES = {shape.name: shape for shape in shapes(11)}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=str)
def test_blocks_are_the_reference_in_every_shape(shape):
    encodings = parse("rope|t5")
    assert_agree(result(encodings, shape, "blockwise", compute=in_blocks), result(encodings, shape, "dense"), 1e-5)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES.values() if shape.causal], ids=str)
def test_causal_parts_are_the_reference_in_every_shape(shape):
    encodings = parse("rope|t5")
    assert_agree(result(encodings, shape, "causal", compute=in_parts), result(encodings, shape, "dense"), 1e-5)


def test_blocks_cap_what_the_reference_caps():
    """Scaled products, not the bias: what a cap far below them leaves is the cap and the bias."""
    slot, rng = parse("alibi"), np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 1, 2, 9, 4)).astype(np.float32)
    geometry = Geometry.of_length(9, num_heads=2, causal=True)
    params = (slot[0].init(jax.random.key(0), DIMS),)
    want, weights = attend(q, k, v, slot, params, geometry, cap=0.5, return_weights=True)
    products = 0.5 * np.tanh(np.einsum("bhqd,bhkd->bhqk", q, k) / 2 / 0.5)
    logits = np.where(geometry.mask, products + slot[0].bias(params[0], geometry), -np.inf)
    expected = np.exp(logits - logits.max(-1, keepdims=True))
    np.testing.assert_allclose(weights, expected / expected.sum(-1, keepdims=True), rtol=1e-5, atol=1e-6)
    blocks = blockwise(prepare(q, k, v, slot, params, geometry, cap=0.5), 4)
    np.testing.assert_allclose(blocks, want, rtol=1e-5, atol=1e-6)
    for path in ("cudnn", "kernel"):
        with pytest.raises(ValueError, match=f"attention = '{path}' cannot serve this call: "):
            attend(q, k, v, slot, params, geometry, cap=0.5, path=path)
    with pytest.raises(ValueError, match=r"cap = 0\.0 is not positive"):
        attend(q, k, v, slot, params, geometry, cap=0.0)


# Every hook, and every reason for which a block of keys would not do.
@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("nope", "windowed"),
        ("shaw", "cross"),
        ("fire", "unmasked"),
        ("fox|path", "packed"),
        ("cope", "last queries"),
        ("kerple|dape(kernel_size=3)", "packed"),
        ("rope|stick_breaking", "windowed"),
    ],
)
def test_blocks_are_the_reference_at_every_hook(spec, shape):
    encodings, shape = parse(spec), SHAPES[shape]
    want = result(encodings, shape, "dense")
    assert_agree(result(encodings, shape, "blockwise", compute=in_blocks), want, 1e-5)
    if shape.causal:
        assert_agree(result(encodings, shape, "causal", compute=in_parts), want, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", slots_of_registry())
def test_blocks_are_the_reference_for_every_encoding(name):
    slot = slots_of_registry()[name]
    if any(e.position_axes not in (None, "any") or e.needs_token_types for e in slot) or reads_attributes(slot):
        pytest.skip("reads positions of several axes, types or attributes")
    with jax.enable_x64(True):
        for shape in shapes(11):
            if shape.causal or not any(e.causal_only for e in slot):
                want = result(slot, shape, "dense", np.float64)
                assert_agree(result(slot, shape, "blockwise", np.float64, compute=in_blocks), want, 1e-9)
                if shape.causal:
                    assert_agree(result(slot, shape, "causal", np.float64, compute=in_parts), want, 1e-9)


def test_derivatives_of_blocks_are_those_of_the_reference_in_either_mode_and_twice():
    slot, geometry = parse("rope|t5"), Geometry.of_length(11, num_heads=DIMS.num_heads, causal=True)
    with jax.enable_x64(True):
        params = tuple(e.init(jax.random.key(0), DIMS) for e in slot)
        q, k, v, dq, dk, dv = np.random.default_rng(0).normal(size=(6, 1, DIMS.num_heads, 11, DIMS.head_dim))

        def derivatives(compute):
            def loss(q, k, v):
                return jnp.sin(compute(prepare(q, k, v, slot, params, geometry))).sum()

            forwards = jax.jvp(loss, (q, k, v), (dq, dk, dv))
            return forwards, jax.jvp(jax.grad(loss, (0, 1, 2)), (q, k, v), (dq, dk, dv))

        found = jax.jit(lambda: derivatives(lambda call: blockwise(call, 4, of_keys=3)))()
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(derivatives(dense)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_blocks_of_padding_that_see_no_key_stay_finite():
    padded = Sequence(np.arange(12)[None], np.array([3]), segment_ids=(np.arange(12) < 3).astype(np.int32)[None])
    call = Geometry.between(padded, padded, num_heads=2)
    q, k, v = np.random.default_rng(0).normal(size=(3, 1, 2, 12, 4)).astype(np.float32)

    def total(q, k, v):
        return blockwise(prepare(q, k, v, (), (), call), 4, of_keys=3).sum()

    for found in jax.tree.leaves(jax.value_and_grad(total, (0, 1, 2))(q, k, v)):
        assert np.isfinite(found).all()


def test_bfloat16_is_as_good_as_that_of_the_reference():
    encodings, shape = parse("rope|t5"), SHAPES["packed"]
    want = result(encodings, shape, "dense", jnp.bfloat16)
    # The gradients of keys and values are rounded once more, where those of the blocks are added up.
    assert_agree(result(encodings, shape, "blockwise", jnp.bfloat16, compute=in_blocks), want, 2**-7)


@pytest.mark.parametrize(("name", "compared"), [("causal", False), ("windowed", True), ("packed", True)])
def test_all_pairs_of_a_block_are_compared_only_where_places_are_not_enough(name, compared):
    """Whether some query of a block sees a key: in a causal call the last query and the first key say so."""
    shape = SHAPES[name]
    a = arguments((), shape)
    call = prepare(a["q"], a["k"], a["v"], (), (), shape.geometry())
    program = str(jax.make_jaxpr(lambda q: blockwise(call._replace(q=q, q_encoded=q), 4, of_keys=3))(call.q))
    assert ("reduce_or" in program) is compared


def memory(length, spec):
    """Bytes of temporaries of value and gradient, one head of dimension 8."""
    encodings = parse(spec)
    geometry = Geometry.of_length(length, num_heads=1, causal=True)
    dims = dataclasses.replace(DIMS, num_heads=1, num_kv_heads=1)
    params = tuple(e.init(jax.random.key(0), dims) for e in encodings)

    def loss(q, k, v, params):
        return attend(q, k, v, encodings, params, geometry, path="blockwise").sum()

    x = jax.ShapeDtypeStruct((1, 1, length, DIMS.head_dim), jnp.float32)
    program = jax.jit(jax.grad(loss, (0, 1, 2, 3))).lower(x, x, x, params).compile()
    return program.memory_analysis().temp_size_in_bytes


@pytest.mark.parametrize("spec", ["kerple", "rope|stick_breaking"])
def test_memory_grows_with_the_length_alone(spec):
    half, whole = memory(8192, spec), memory(16384, spec)
    assert whole <= 2.2 * half
    assert whole < 4 * 16384**2 / 10
