import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.encodings import Geometry, PositionalEncoding, RoPE, Sequence, attend, geometries, parse, position_bias


@dataclasses.dataclass(frozen=True)
class Table(PositionalEncoding):
    """A bias per head and distance: asymmetric, so that a swapped sign shows."""

    name = "table"

    def init(self, key, dims):
        return {"t": jnp.zeros((21, dims.num_heads), jnp.float32)}

    def bias(self, params, geometry):
        return jnp.moveaxis(params["t"][geometry.relative + 10], -1, 1)


@dataclasses.dataclass(frozen=True)
class Content(PositionalEncoding):
    """A term from raw queries and keys, and one added to the output."""

    name = "content"

    def content_bias(self, params, q, k, geometry, terms):
        return jnp.einsum("bhqd,bhkd->bhqk", q, k) * terms[:, None, None]

    def value_term(self, params, weights, geometry):
        return jnp.repeat(weights[..., :1], 6, axis=-1)


def inputs(random, batch=2, heads=4, kv_heads=2, num_q=5, num_k=7, dim=6):
    q = random.normal(size=(batch, heads, num_q, dim))
    k, v = (random.normal(size=(batch, kv_heads, num_k, dim)) for _ in "kv")
    return q, k, v


SEGMENTS = np.array([[1, 1, 1, 2, 2, 2, 0], [0, 0, 1, 1, 1, 1, 1]])


def geometry_of(causal, packed, num_q=5, num_k=7):
    """The last ``num_q`` of ``num_k`` tokens as queries."""
    segments = SEGMENTS[:, :num_k] if packed else None
    keys = Sequence(np.arange(num_k)[None], np.array([num_k]), segment_ids=segments)
    first = num_k - num_q
    queries = dataclasses.replace(keys, places=keys.positions).part(slice(first, None))
    return Geometry.between(queries, keys, num_heads=4, causal=causal)


def plain(q, k, v, bias, visible):
    """Attention one output at a time; rows that see nothing are NaN."""
    out = np.full(q.shape, np.nan)
    weights = np.full((*q.shape[:3], k.shape[2]), np.nan)
    share = q.shape[1] // k.shape[1]
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for i in range(q.shape[2]):
                seen = [j for j in range(k.shape[2]) if visible(b, i, j)]
                if not seen:
                    continue
                logits = [q[b, h, i] @ k[b, h // share, j] / np.sqrt(q.shape[3]) + bias(h, i, j) for j in seen]
                exps = np.exp(np.array(logits) - max(logits))
                weights[b, h, i] = 0
                weights[b, h, i, seen] = exps / exps.sum()
                out[b, h, i] = sum(weights[b, h, i, j] * v[b, h // share, j] for j in seen)
    return out, weights


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_attention_is_the_plain_loop(random, causal, packed):
    q, k, v = inputs(random)
    table = random.normal(size=(21, 4))
    geometry = geometry_of(causal, packed)

    def visible(b, i, j):
        same = not packed or (SEGMENTS[b, j] != 0 and SEGMENTS[b, j] == SEGMENTS[b, i + 2])
        return same and (not causal or j <= i + 2)

    want, want_weights = plain(q, k, v, lambda h, i, j: table[j - (i + 2) + 10, h], visible)
    real = ~np.isnan(want)
    assert real.all() != packed
    with jax.enable_x64(True):
        got, weights = attend(q, k, v, (Table(),), ({"t": jnp.asarray(table)},), geometry, return_weights=True)
        assert got.dtype == jnp.float64
        np.testing.assert_allclose(np.asarray(got)[real], want[real], atol=1e-13)
        seen = ~np.isnan(want_weights)
        np.testing.assert_allclose(np.asarray(weights)[seen], want_weights[seen], atol=1e-13)
    assert np.isfinite(got).all()  # also rows that see nothing


def test_several_encodings_add_up_and_act_at_their_hooks(random):
    q, k, v = inputs(random, heads=2)
    table = random.normal(size=(2, 21, 2))
    geometry = dataclasses.replace(geometry_of(False, False), num_heads=2)
    encodings = (Table(), RoPE(), Content())
    with jax.enable_x64(True):
        params = ({"t": jnp.asarray(table[0])}, {}, {})
        got = attend(q, k, v, encodings, params, geometry, (None, None, np.full((2, 7), 0.25)))
        q_r = RoPE().encode_queries({}, q, geometry.q_positions, None)
        k_r = RoPE().encode_keys({}, k, geometry.k_positions, None)
        logits = np.einsum("bhqd,bhkd->bhqk", q_r, k_r) / np.sqrt(6) + 0.25 * np.einsum("bhqd,bhkd->bhqk", q, k)
        for i in range(5):
            for j in range(7):
                logits[:, :, i, j] += table[0, j - (i + 2) + 10]
        weights = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        np.testing.assert_allclose(got, np.einsum("bhqk,bhkd->bhqd", weights, v) + weights[..., :1], atol=1e-12)

        twice = ({"t": jnp.asarray(table[0])}, {"t": jnp.asarray(table[1])})
        once = ({"t": jnp.asarray(table.sum(0))},)
        both = attend(q, k, v, (Table(), Table()), twice, geometry)
        np.testing.assert_allclose(both, attend(q, k, v, (Table(),), once, geometry), atol=1e-13)
        bias = position_bias((Table(), Table()), twice, geometry)
        shared = attend(q, k, v, (Table(), Table()), twice, geometry, shared_bias=bias)
        np.testing.assert_array_equal(shared, both)
    assert position_bias((RoPE(), Content()), ({}, {}), geometry) is None


def test_a_layout_with_heads_behind_the_sequence_is_refused(random):
    """Wherever the geometry tells the two apart; a wrong layout can give outputs without any error otherwise."""
    q, k, v = inputs(random)  # 4 and 2 heads, 5 queries, 7 keys
    geometry = geometry_of(False, False)

    def swapped(x):
        return jnp.swapaxes(x, 1, 2)

    for wrong, name in (((swapped(q), k, v), "q"), ((q, swapped(k), v), "k"), ((q, k, swapped(v)), "v")):
        shape = re.escape(str(list(wrong["qkv".index(name)].shape)))
        length = 5 if name == "q" else 7
        message = (
            rf"^{name} has the shape {shape}, with the {length} of ._positions .* axis 1: .*: pass jnp.swapaxes\({name}"
        )
        for encodings, params in (((), ()), ((RoPE(),), ({},))):
            with pytest.raises(ValueError, match=message):
                attend(*wrong, encodings, params, geometry)
    one = swapped(random.normal(size=(2, 4, 1, 6)))  # a step of decoding
    with pytest.raises(ValueError, match=r"q has the shape \[2, 1, 4, 6\], with the 1 of"):
        attend(one, k, v, (), (), geometry_of(False, False, num_q=1))
    # As many tokens as heads: nothing to tell them apart by.
    same = random.normal(size=(1, 4, 4, 6)).astype(np.float32)
    attend(same, same, same, (), (), Geometry.of_length(4, num_heads=4))


def test_one_geometry_for_all_is_refused_where_positions_are_mapped():
    """The encodings behind would read the positions as they were."""
    q = jnp.ones((1, 1, 3, 4))
    slot = parse("interpolated(factor=4)|rope")
    with pytest.raises(ValueError, match=r"maps positions for the encodings after it.*`geometries\("):
        attend(q, q, q, slot, ({}, {}), Geometry.of_length(3, num_heads=1))
    several = geometries(slot, Sequence.of_length(3), Sequence.of_length(3), num_heads=1)
    assert attend(q, q, q, slot, ({}, {}), several).shape == q.shape
