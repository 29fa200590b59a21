import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from calls import DIMS, assert_agree, noise, result, shapes

from posenc_jax.attention import Call, paths
from posenc_jax.attention.choice import in_factors
from posenc_jax.attention.factors import columns, extra_dimensions, in_parts, with_factors
from posenc_jax.encodings import ALiBi, Geometry, PositionalEncoding, parse, token_terms
from posenc_jax.encodings.interface.attention import dense, prepare
from posenc_jax.encodings.interface.base import Sequence

SHAPES = {shape.name: shape for shape in shapes(11)}


@dataclasses.dataclass(frozen=True)
class _Plain(PositionalEncoding):
    """In the place of an encoding that has become dimensions."""

    name = "plain"
    position_axes = "any"


def factored(*args, path):
    """The reference, on queries and keys that hold what the encodings add."""
    call = prepare(*args)
    elements = in_factors(call.encodings, Call.of(call))
    assert elements
    call = with_factors(call, elements)
    rest = tuple(_Plain() if e in elements else x for e, x in enumerate(call.encodings))
    return dense(call._replace(encodings=rest, k=call.k_encoded[..., : call.k.shape[3]]))


SPECS = ("alibi", "alibi(learned=True)|rope", "fox(scaled=True)|rope", "sandwich(width=8)", "grape_a", "fox|alibi")


@pytest.mark.parametrize("spec", [*SPECS, "grape_a(gate='key')", "grape_a(gate='query')"])
@pytest.mark.parametrize("shape", ["packed", "last queries"])
def test_factors_are_what_the_encoding_adds(spec, shape):
    encodings = parse(spec)
    want = result(encodings, SHAPES[shape], "dense")
    assert_agree(result(encodings, SHAPES[shape], "dense", compute=factored), want, 1e-5)


@pytest.mark.parametrize("spec", ["fox|alibi"])
def test_the_kernel_takes_factors(spec):
    """Those of FoX, beside a table for ALiBi where there is one."""
    encodings, shape = parse(spec), SHAPES["packed"]
    assert_agree(result(encodings, shape, "kernel"), result(encodings, shape, "dense"), 1e-5)


def test_parts_add_up_and_products_of_parts_are_exact():
    x = np.concatenate([np.arange(2**16), 2.0**16 + np.arange(0, 2**24, 4097), noise(1000)]).astype(np.float32)
    parts = jax.jit(lambda x: in_parts(x, jnp.bfloat16))(x)
    assert [p.dtype for p in parts] == [jnp.bfloat16] * 3
    np.testing.assert_array_equal(sum(np.asarray(p, np.float64) for p in parts), x)
    np.testing.assert_array_equal(np.asarray(parts[2][: 2**16], np.float32), 0)
    assert extra_dimensions(2, jnp.bfloat16) == 12
    assert extra_dimensions(2, jnp.float32) == 2


def test_cumulated_gates_are_those_of_float64_to_a_rounding_of_the_largest():
    """FoX at 65,536 tokens: what the kernel takes as a column, in float32, of queries and keys of bfloat16."""
    length, (encoding,) = 65536, parse("fox")
    params = encoding.init(jax.random.key(0), DIMS)
    side = Sequence(np.arange(length, dtype=np.int32)[None], np.array([length]))
    geometry = dataclasses.replace(Geometry.between(side, side, num_heads=4, causal=True), contiguous=True)
    terms = token_terms((encoding,), (params,), noise(1, length, DIMS.d_model).astype(np.float32), side)
    zeros = np.zeros((1, 4, length, DIMS.head_dim), jnp.bfloat16)
    call = prepare(zeros, zeros, zeros, (encoding,), (params,), geometry, terms)
    ((phi, psi),) = jax.jit(lambda: columns(call, (0,)))()
    assert (phi.dtype, psi.dtype) == (jnp.float32, jnp.float32)
    assert (np.asarray(phi) == -1).all()
    want = np.cumsum(np.asarray(terms[0], np.float64), axis=1)[0].T
    assert np.abs(want).max() > 10_000
    np.testing.assert_allclose(np.asarray(psi[0]), want, rtol=0, atol=2**-22 * np.abs(want).max())


@pytest.mark.parametrize("spec", ["alibi", "alibi(learned=True)"])
@pytest.mark.parametrize("length", [1024, 65536])
def test_in_bfloat16_the_bias_is_that_of_float32(spec, length):
    """At the end of 65,536 tokens: differences among the last keys, where bfloat16 counts in steps of 256."""
    (encoding,) = parse(spec)
    params = encoding.init(jax.random.key(0), DIMS)
    last = np.arange(length - 64, length, dtype=np.int32)[None]
    side = Sequence(last, np.array([length]))
    geometry = dataclasses.replace(Geometry.between(side, side, num_heads=4, causal=True), contiguous=True)
    zeros = np.zeros((1, 4, 64, DIMS.head_dim), jnp.bfloat16)
    terms = token_terms((encoding,), (params,), noise(1, 64, DIMS.d_model).astype(np.float32), side)
    call = prepare(zeros, zeros, zeros, (encoding,), (params,), geometry, terms)
    longer = jax.jit(lambda: with_factors(call, (0,))[3:5])()
    assert [x.dtype for x in longer] == [jnp.bfloat16] * 2
    q, k = (np.asarray(x, np.float64) for x in longer)
    got = np.einsum("bhqd,bhkd->bhqk", q, np.broadcast_to(k, (1, 4, *k.shape[2:]))) * call.scale
    hook = encoding.bias(params, geometry) if "bias" in encoding.acts_on else None
    want = np.asarray(encoding.content_bias(params, zeros, zeros, geometry, terms[0]) if hook is None else hook)
    # Up to a number of each query's own, which the last key is taken for.
    last_seen = np.eye(64, dtype=bool)[None, None]
    got, want = (a - (a * last_seen).sum(-1, keepdims=True) for a in (got, want.astype(np.float64)))
    seen = np.broadcast_to(np.tril(np.ones((64, 64), bool)), got.shape)
    np.testing.assert_allclose(got[seen], want[seen], atol=2**-23 * np.abs(q).max() * length * call.scale, rtol=1e-6)


def test_where_there_are_no_factors():
    call = Call(batch=1, num_heads=4, num_kv_heads=4, queries=256, keys=256, head_dim=8, causal=True)
    assert in_factors(parse("alibi|rope|fox"), call) == (0, 2)
    assert in_factors(parse("randomized(max_position=512)|alibi|fox"), call) == (2,)
    assert in_factors(parse("alibi(past_offset=0.5)"), call) == ()
    assert in_factors(parse("alibi"), dataclasses.replace(call, causal=False)) == ()
    assert in_factors(parse("alibi"), dataclasses.replace(call, contiguous=False)) == ()
    assert paths.in_table(parse("alibi"), dataclasses.replace(call, causal=False)) == (0,)
    assert ALiBi(past_offset=0.5).num_factors == 0
