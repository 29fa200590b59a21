"""Attention with the layout of jax.nn and the arguments of Flax's modules: the reference, or what it refuses."""

import functools
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen

from posenc_jax.attention import dot_product_attention
from posenc_jax.encodings import Dims, Sequence, attend, init_slot, layer_inputs, parse

DIMS = Dims(d_model=16, num_heads=4, num_kv_heads=2, head_dim=4, num_layers=2, max_len=16)


@pytest.fixture
def arrays():
    """q, k, v and x of two rows, tokens before heads."""
    random, shapes = np.random.default_rng(0), ((2, 6, 4, 4), (2, 6, 2, 4), (2, 6, 2, 4), (2, 6, 16))
    return [jnp.asarray(random.normal(size=shape), jnp.float32) for shape in shapes]


def test_it_is_the_reference_with_tokens_before_heads(arrays):
    *heads, x = arrays
    slot, call = parse("rope/shaw|fox|rope"), {"layer": 1, "window": 2}
    params = init_slot(jax.random.key(0), slot, DIMS)
    tokens = Sequence.of_length(6, segment_ids=np.array([[1, 1, 1, 2, 2, 0]]))
    inputs = layer_inputs(slot, params, x, tokens, num_heads=4, causal=True, **call)
    want = jnp.swapaxes(attend(*(jnp.swapaxes(a, 1, 2) for a in heads), *inputs), 1, 2)
    found = dot_product_attention(*heads, slot, params, x, sequence=tokens, is_causal=True, **call)
    np.testing.assert_array_equal(found, want)
    of_flax = {"dropout_rng": None, "broadcast_dropout": True, "dropout_rate": 0.5, "deterministic": True}
    of_flax |= {"dtype": jnp.float32, "precision": None, "module": None, "bias": None, "is_causal": True}
    found = dot_product_attention(*heads, slot, params, x, mask=tokens, **call, **of_flax)
    np.testing.assert_array_equal(found, want)
    row = dot_product_attention(*(a[0] for a in heads), slot, params, x[0], mask=tokens, is_causal=True, **call)
    np.testing.assert_allclose(row, want[0], rtol=1e-5, atol=1e-6)


def test_it_is_that_of_jax_where_nothing_tells_positions(arrays):
    q, k, v, _ = arrays
    want = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    np.testing.assert_allclose(dot_product_attention(q, k, v, (), (), is_causal=True), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"mask": np.ones((1, 1, 6, 6), bool)}, r"mask is of type ndarray, .* pass in its place one Sequence, such as"),
        ({"dropout_rate": 0.1}, r"dropout_rate = 0.1: attention weights are not dropped here, say 0"),
        ({"bias": np.zeros((1, 4, 6, 6))}, r"bias is not served here: write what is added .* as an encoding"),
        ({"precision": "highest"}, r"precision is not served here: set jax.default_matmul_precision around"),
        ({"sequence": Sequence.of_length(5)}, r"q has 6 tokens, and q_positions of the geometry 5"),
        ({"slot": parse("stick_breaking")}, r"needs a causal mask: say causal=True \(is_causal=True where Flax or jax"),
    ],
)
def test_what_is_not_served_is_said(call, message, arrays):
    with pytest.raises(ValueError, match=message):
        dot_product_attention(*arrays[:3], **{"slot": parse("rope"), "params": ({},)} | call)


@pytest.mark.parametrize("option", [{"precision": "highest"}, {"dropout_rate": 0.1}])
def test_linen_hands_on_what_is_refused(option, arrays):
    attention_fn = functools.partial(dot_product_attention, slot=parse("rope"), params=({},))
    layer = linen.MultiHeadDotProductAttention(4, attention_fn=attention_fn, deterministic=False, **option)
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    with pytest.raises(ValueError, match=f"^{next(iter(option))} "):
        jax.eval_shape(layer.init, keys, arrays[3])


def test_other_keys_than_the_queries_are_refused(arrays):
    q, k, v, _ = arrays
    message = r"tokens: 6 of q, 3 of k, 3 of v, and a sequence attends to itself here, \[batch, sequence, heads"
    with pytest.raises(ValueError, match=message) as refused:
        dot_product_attention(q, k[:, :3], v[:, :3], parse("rope"), ({},))
    section, page = re.search(r"see '(.*)' in (scripts/\S+\.md)", str(refused.value)).groups()
    assert f"\n## {section}\n" in (Path(__file__).parents[2] / page).read_text()
