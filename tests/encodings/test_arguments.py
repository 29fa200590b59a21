"""What `attend` and the hooks are given: refused in words while a program is traced, or computed as it stands."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry_slots import slots_of_registry

from posenc_jax.attention import attend as attend_along
from posenc_jax.encodings import (
    Dims,
    Geometry,
    PositionalEncoding,
    Sequence,
    attend,
    elements,
    embed,
    geometries,
    init_slot,
    layer_inputs,
    map_slot,
    parse,
)
from posenc_jax.encodings.absolute.learned import read_rows
from posenc_jax.encodings.interface.value import WrongReturnError

Q, K, V = (jnp.ones((2, heads, 6, 8)) for heads in (2, 2, 2))
G = Geometry.of_length(6, num_heads=2, causal=True)


def traced(q, k, v, spec="alibi", geometry=G, terms=None, way=attend, **options):
    """The shape that attention gives, asked without computing anything."""
    slot = parse(spec)
    return jax.eval_shape(lambda *x: way(*x, slot, ({},) * len(slot), geometry, terms, **options), q, k, v).shape


def sides(**fields):
    """The call with other queries (``q_``) or keys."""
    of = {"queries": {}, "keys": {}}
    for name, value in fields.items():
        of["queries" if name.startswith("q_") else "keys"][name[2:]] = value
    changed = {side: dataclasses.replace(getattr(G, side), **own) for side, own in of.items()}
    return Q, K, V, dataclasses.replace(G, **changed)


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
@pytest.mark.parametrize("path", ["dense", "blockwise", "kernel"])
def test_what_is_no_float_is_refused_on_every_path(dtype, path):
    for name in "qkv":
        arrays = {"q": Q, "k": K, "v": V}
        arrays[name] = arrays[name].astype(dtype)
        message = rf"^{name} is of {dtype}, and \w+ are floats: convert .*astype\(jnp.float32\)"
        with pytest.raises(ValueError, match=message):
            traced(**arrays, way=attend_along, path=path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floats_of_several_widths_go_together(dtype):
    """The result is of the values' type, the softmax of float32."""
    low = [(0.1 * jnp.arange(x.size, dtype=jnp.float32).reshape(x.shape) % 1).astype(dtype) for x in (Q, K, V)]
    want = attend(*(x.astype(jnp.float32) for x in low), (), (), G)
    for mixed in ((0,), (1,), (0, 2), (2,)):
        given = [x if i in mixed else x.astype(jnp.float32) for i, x in enumerate(low)]
        got = attend(*given, (), (), G)
        assert got.dtype == given[2].dtype
        np.testing.assert_allclose(got.astype(np.float32), want, atol=8e-3)


WRONG = [
    (lambda: (Q[:, :, -1:], K, V, G), r"q has 1 tokens, and q_positions of the geometry 6"),
    (lambda: (Q, K[:, :, :1], V[:, :, :1], G), r"k has 1 tokens, and k_positions of the geometry 6"),
    (lambda: (Q, K, V[:, :, :4], G), r"v has 4 tokens, and k_positions of the geometry 6"),
    (lambda: (Q[:1], K, V, G), r"k has 2 rows and q 1: pass those of the same call"),
    (lambda: (Q, K, V[:, :1], G), r"v has 1 heads and k 2"),
    (lambda: (Q[:, :1], K[:, :1], V[:, :1], G), r"q has 1 heads .* and the geometry 2"),
    (lambda: (jnp.ones((2, 3, 6, 8)), K, V, G), r"3 query heads cannot share 2 key heads: .* a m"),
    (lambda: (Q[..., :4], K, V, G), r"k has 8 dimensions and q 4"),
    (lambda: (Q[..., :0], K[..., :0], V, G), r".* without head_dim there are no queries"),
    (lambda: (Q, K[:, :, :0], V[:, :, :0], G.block(slice(6), slice(0))), r"k has 0 tokens: .* mean over keys"),
    (lambda: (Q[None], K, V, G), r"q has the shape .*, and queries are \[batch, heads, sequence, head_dim\]"),
    (lambda: sides(q_positions=np.arange(6)), r"queries\.positions has the shape \[6\]"),
    (lambda: sides(q_positions=np.ones((1, 6), bool)), r"queries\.positions is of bool"),
    (lambda: sides(k_positions=np.ones((1, 6), np.float16)), r"keys\.positions is of float16, which rounds positions"),
    (lambda: sides(k_positions=np.ones((3, 6), int)), r"keys\.positions has 3 rows and q 2"),
    (lambda: sides(q_segment_ids=np.ones((2, 5), int)), r"queries\.segment_ids has 5 tokens"),
    (lambda: sides(k_length=np.array([-1])), r"keys\.length has -1, and a length is"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=[message for _, message in WRONG])
def test_sizes_that_are_said_twice_are_the_same(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        attend(*make()[:3], parse("alibi"), ({},), make()[3])


def test_encodings_terms_and_geometries_of_another_call():
    rope, alibi = parse("rope"), parse("alibi")
    other = dataclasses.replace(G, causal=False)
    for call, message in (
        ((rope[0], ({},), G), r"encodings are a tuple, got RoPE.*: write \(RoPE"),
        (((rope, ()), ({}, {}), G), r"a pattern has those of several: pass `for_layer"),
        ((rope + alibi, ({}, {}), (G, other)), r"the geometries of a call have causal = True and False"),
        ((rope, ({},), G, ({"gate": jnp.ones((2, 5, 4))},)), r"RoPE's terms\['gate'\] have the shape \[2, 5, 4\], .* "),
        ((rope, ({},), G, ({"gate": jnp.ones((2, 6), complex)},)), r"RoPE's terms\['gate'\] is of complex64"),
    ):
        with pytest.raises(ValueError, match=message):
            attend(Q, K, V, *call)


@pytest.mark.parametrize("name", list(slots_of_registry()))
def test_hooks_that_give_back_a_dtype_take_floats_only(name):
    """What is turned and cut off to whole numbers is no vector."""
    length, ones = np.array([6], np.int32), np.ones((2, 6), np.int32)
    side = Sequence.of_length(6, tokens=ones, token_types=ones)
    for element in elements(slots_of_registry()[name]):
        axes = element.position_axes
        positions = np.zeros((1, 6, *((axes,) if isinstance(axes, int) else ())), np.int32)
        for hook in element.acts_on & {"encode_queries", "encode_keys"}:
            for shape, dtype, message in (
                ((2, 4, 6, 8), np.int32, r"^[qk] is of .*, and (queries|keys) are floats"),
                ((2, 6, 4, 8), np.float32, r"^[qk] has .* layout of flax and jax.nn.*jnp.swapaxes\([qk], 1"),
            ):
                with pytest.raises(ValueError, match=message):
                    getattr(element, hook)({}, np.ones(shape, dtype), positions, length)
        for hook in element.acts_on & {"embed", "token_terms"}:
            own = dataclasses.replace(side, positions=positions)
            with pytest.raises(ValueError, match=r"^x is of int32, and embeddings are floats"):
                getattr(element, hook)({}, np.ones((2, 6, 32), np.int32), own)
            with pytest.raises(ValueError, match=r"^x has 5 tokens and the sequence 6 positions"):
                getattr(element, hook)({}, np.ones((2, 5, 32), np.float32), own)


@pytest.mark.parametrize("value", [True, 2.0, -1, np.float32(3), None, "3"])
def test_sizes_are_whole_numbers(value):
    sizes = {field.name: 4 for field in dataclasses.fields(Dims)}
    for make, name in (
        (lambda: Sequence.of_length(value), "length"),
        (lambda: Geometry.of_length(value, num_heads=2), "length"),
        (lambda: Geometry.of_length(4, num_heads=value), "num_heads"),
        *((lambda name=name: Dims(**sizes | {name: value}), f"Dims.{name}") for name in sizes),
    ):
        with pytest.raises(ValueError, match=rf"^{name} = .* must be (a whole number from|of type int)"):
            make()


def test_what_a_sequence_says_of_its_tokens_fits():
    of = Sequence.of_length(6, tokens=np.ones((2, 6), np.int32))
    ids = np.ones((2, 6), np.int32)
    for fields, message in (
        ({"tokens": ids[:, :5]}, r"tokens has 5 tokens and positions 6"),
        ({"tokens": ids * 1.0}, r"tokens is of float64, and token ids are integers"),
        ({"segment_ids": np.ones((3, 6), int)}, r"tokens has 2 rows and segment_ids 3"),
        ({"example_ids": np.arange(1)}, r"example_ids has 1 rows and tokens 2"),
        ({"positions": np.ma.masked_array(ids, ids == 0)}, r"positions is of type MaskedArray, and positions are an"),
        ({"pairs": np.ones((2, 6, 6, 1), np.float16)}, r"pairs is of float16, which rounds pairs"),
    ):
        side = dataclasses.replace(of, **fields)
        for use in (
            lambda side=side: Geometry.between(side, of, num_heads=1),
            lambda side=side: geometries(parse("rope"), of, side, num_heads=1),
            lambda side=side: embed(parse("sinusoidal"), ({},), np.ones((2, 6, 8), np.float32), side),
        ):
            with pytest.raises(ValueError, match=f"^{message}"):
                use()
    with pytest.raises(ValueError, match=r"a side of a call is a Sequence, got ndarray"):
        Geometry.between(ids, of, num_heads=1)


def test_narrow_integers_count_as_far_as_others():
    """Position 100 + 100 is 200, and row -1 none of 200, in whatever type they come."""
    narrow = Sequence(jnp.asarray([[100, -100]], jnp.int8), np.array([2]))
    assert Geometry.between(narrow, narrow, num_heads=1).relative.tolist() == [[[0, -200], [200, 0]]]
    seen = map_slot(parse("shape(max_shift=100)|rope"), narrow)[1]
    assert seen.positions.tolist() == [[200, 0]]
    rows = read_rows(jnp.arange(200.0)[:, None], jnp.asarray([100, -1], jnp.int8))
    np.testing.assert_array_equal(rows, [[100], [np.nan]])


WIDE = {
    "positions": (1, 6),
    "attributes": (1, 6, 2),
    "pairs": (1, 6, 6, 1),
    **dict.fromkeys(("tokens", "segment_ids", "token_types", "places"), (1, 6)),
    "outline": (1, 6, 4),
    "length": (1,),
    "example_ids": (1,),
}


@pytest.mark.parametrize("value", [2**31, 2**32 + 1, -(2**31) - 1, 2**63], ids=str)
@pytest.mark.parametrize("field", WIDE)
def test_whole_numbers_that_jax_would_cut_off_are_refused(field, value):
    array = np.ones(WIDE[field], np.int64 if value < 2**63 else np.uint64)
    array.flat[-1] = value
    fields = {"tokens": np.ones((1, 6), np.int32), "segment_ids": np.ones((1, 6), np.int32), field: array}
    side = dataclasses.replace(Sequence.of_length(6), **fields)
    message = rf"^{field} has {value}, and whole numbers have 32 bits in JAX, up to 2147483647: subtract what all have"
    for use in (
        lambda: Geometry.between(side, side, num_heads=1),
        lambda: embed(parse("sinusoidal"), ({},), np.ones((1, 6, 8), np.float32), side),
        lambda: side.check(),
    ):
        with pytest.raises(ValueError, match=message):
            use()
    if value == 2**32 + 1:
        with jax.enable_x64(True):
            side.check()


def test_times_beyond_32_bits_are_right_as_floats():
    """Milliseconds since 1970, turned by RoPE: what counts is how far they are apart."""
    times = np.array([[1.7e12, 1.7e12 + 3, 1.7e12 + 1000]])
    q = np.random.default_rng(0).normal(size=(3, 1, 2, 3, 8)).astype(np.float32)
    found = []
    for at in (times, times - times[0, 0]):
        sequence = Sequence.of_length(3, attributes=at[..., None])
        found.append(attend(*q, *layer_inputs(parse("attributes|rope"), ({}, {}), None, sequence, num_heads=2)))
    np.testing.assert_allclose(*found, atol=1e-3)  # a double has 2e-4 milliseconds there


@pytest.mark.parametrize(
    "spec",
    ["pair_table(rows=4)", "t5", "layout_bias", "attributes|learned", "attributes(count=2)|tree_positions(depth=2)"],
)
def test_no_row_of_a_table_stands_for_nan(spec):
    """What is no number gives none, known or traced."""
    slot = parse(spec)
    params = init_slot(jax.random.key(0), slot, Dims(16, 2, 2, 8, 1, max_len=8))
    q, x = jnp.ones((1, 2, 4, 8)), jnp.ones((1, 4, 16))
    axes = slot[0].position_axes
    positions = np.zeros((1, 4, axes) if isinstance(axes, int) else (1, 4), np.float32)
    fields = {"attributes": np.zeros((1, 4, 2), np.float32), "pairs": np.zeros((1, 4, 4, 1), np.float32)}
    sequence = Sequence(positions, np.array([4]), segment_ids=np.ones((1, 4), np.int32), **fields)
    read = "pairs" if slot[0].needs_pairs else "attributes" if slot[0].needs_attributes else "positions"

    def call(array):
        side = dataclasses.replace(sequence, **{read: array})
        y = embed(slot, params, x, side)
        return y.sum() + attend(q, q, q, *layer_inputs(slot, params, y, side, num_heads=2, embedded=True)).sum()

    array = getattr(sequence, read).copy()
    assert np.isfinite(call(array))
    array.flat[-1 if read == "pairs" else 0] = np.nan
    assert np.isnan(jax.jit(call)(array))
    if spec != "attributes|learned":  # refuses what it knows
        assert np.isnan(call(array))


@dataclasses.dataclass(frozen=True)
class Returning(PositionalEncoding):
    """An encoding whose one hook returns an array of this dtype and shape."""

    hook: str = "bias"
    dtype: str = "complex64"
    shape: tuple[int, ...] = ()

    @property
    def acts_on(self) -> frozenset[str]:
        return frozenset({self.hook})

    def __getattribute__(self, name: str):
        own = object.__getattribute__
        if name in HOOKS and name == own(self, "hook"):
            return lambda *_: jnp.ones(own(self, "shape"), own(self, "dtype"))
        return own(self, name)


HOOKS = {
    "encode_queries": ((2, 4, 6, 8), "sequence"),
    "encode_keys": ((2, 4, 6, 8), "sequence"),
    "encode_values": ((2, 4, 6, 8), "sequence"),
    "encode_outputs": ((2, 4, 6, 8), "sequence"),
    "bias": ((2, 4, 6, 6), "queries"),
    "content_bias": ((2, 4, 6, 6), "queries"),
    "score": ((2, 4, 6, 6), "queries"),
    "adjust_logits": ((2, 4, 6, 6), "queries"),
    "normalize": ((2, 4, 6, 6), "queries"),
    "value_term": ((2, 4, 6, 8), "queries"),
}


@pytest.mark.parametrize("hook", HOOKS)
def test_what_a_hook_returns_is_real_and_of_the_sizes_of_the_call(hook):
    shape, axis = HOOKS[hook]
    x = jnp.ones((2, 4, 6, 8))
    geometry = Geometry.of_length(6, num_heads=4)

    def call(dtype: str, shape: tuple[int, ...]):
        return attend(x, x, x, (Returning(hook, dtype, shape),), ({},), geometry)

    assert call("float32", shape).shape == x.shape
    with pytest.raises(WrongReturnError, match=f"Returning.{hook} returns an array of complex64"):
        call("complex64", shape)
    with pytest.raises(WrongReturnError, match=rf"Returning.{hook} returns an array .* and there are 6 {axis}"):
        call("float32", (*shape[:2], 5, shape[3]))
    with pytest.raises(WrongReturnError, match=rf"Returning.{hook} returns 3 heads where there are 4"):
        call("float32", (shape[0], 3, *shape[2:]))
    with pytest.raises(WrongReturnError, match=rf"Returning.{hook} returns an array of shape \[4, 6, "):
        call("float32", shape[1:])
