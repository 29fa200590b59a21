import jax
import jax.numpy as jnp
import numpy as np
import pytest
from planes import turned
from sides import geometry_at

from posenc_jax import attention
from posenc_jax.attention.blockwise import blockwise
from posenc_jax.encodings import Dims, Geometry, RoPE, RotatedValues, Shaw, YaRN, attend, parse
from posenc_jax.encodings.interface.attention import prepare


@pytest.mark.parametrize("back", [True, False])
@pytest.mark.parametrize(("layout", "r", "with_rope"), [("interleaved", 6, True), ("half", 4, False)])
def test_outputs_are_the_formulas(random, back, layout, r, with_rope):
    """Queries are the last 3 of 7 tokens, as beside a cache; the second row has positions with gaps."""
    rope = RoPE(base=100.0, layout=layout, rotary_dim=r)
    slot = ((rope,) if with_rope else ()) + (RotatedValues(rope, back),)
    q = random.normal(size=(2, 4, 3, 6))
    k, v = random.normal(size=(2, 2, 2, 7, 6))
    at = np.array([np.arange(7), [0, 1, 4, 5, 6, 11, 12]])
    places = np.arange(7)[None]
    geometry = geometry_at(at[:, 4:], at, places=(places[:, 4:], places), num_heads=4, causal=True)
    with jax.enable_x64(True):
        run = jax.jit(lambda q, k, v: attend(q, k, v, slot, ({},) * len(slot), geometry))
        got = run(*map(jnp.asarray, (q, k, v)))
    frequencies = [100.0 ** (-2 * n / r) for n in range(r // 2)]

    def rotated(x, position):
        return turned(x, [position * f for f in frequencies], layout)

    def logit(q, k, own, position):
        return (rotated(q, own) @ rotated(k, position) if with_rope else q @ k) / np.sqrt(6)

    for b, h, i in np.ndindex(2, 4, 3):
        own, seen = int(at[b, 4 + i]), range(5 + i)
        logits = [logit(q[b, h, i], k[b, h // 2, j], own, at[b, j]) for j in seen]
        weights = np.exp(logits) / np.sum(np.exp(logits))
        want = sum(w * rotated(v[b, h // 2, j], at[b, j] - own if back else at[b, j]) for w, j in zip(weights, seen))
        np.testing.assert_allclose(got[b, h, i], want, atol=1e-9)


@pytest.mark.parametrize("path", ["blocks of queries", "blocks of keys", "kernel"])
def test_every_way_turns_back(random, path):
    """Values and gradients are those of the reference."""
    slot = parse("rope|rotated_values|stick_breaking" if path == "blocks of queries" else "rope|rotated_values")
    params = tuple(e.init(jax.random.key(0), Dims(32, 2, 1, 16, 1, 8)) for e in slot)
    q, c = random.normal(size=(2, 1, 2, 8, 16)).astype(np.float32)
    k, v = random.normal(size=(2, 1, 1, 8, 16)).astype(np.float32)
    geometry = Geometry.of_length(8, num_heads=2, causal=True)

    def found(q, k, v):
        if path == "kernel":
            return attention.attend(q, k, v, slot, params, geometry, path="kernel")
        return blockwise(prepare(q, k, v, slot, params, geometry), 3, 4)

    def wanted(q, k, v):
        return attend(q, k, v, slot, params, geometry)

    for got, want in zip(
        *(
            jax.jit(jax.value_and_grad(lambda *a, way=way: (way(*a) * c).sum(), (0, 1, 2)))(q, k, v)
            for way in (found, wanted)
        )
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), got, want)


def test_what_others_add_to_outputs_is_not_turned(random):
    """Shaw's vectors are of the distance already."""
    q, k, v = random.normal(size=(3, 1, 2, 5, 4))
    shaw, geometry = Shaw(2), Geometry.of_length(5, num_heads=2, causal=True)
    tables = {"keys": np.zeros((5, 4)), "values": random.normal(size=(5, 4))}
    with jax.enable_x64(True):

        @jax.jit
        def outputs(tables):
            slot = (shaw, RotatedValues())
            return attend(q, k, v, slot, (tables, {}), geometry, return_weights=True)

        out, weights = outputs(tables)
        without, _ = outputs(tables | {"values": np.zeros((5, 4))})
        term = shaw.value_term(tables, weights, geometry)
    np.testing.assert_allclose(out - without, term, atol=1e-12)


def test_a_magnitude_is_left_out(random):
    v = random.normal(size=(1, 1, 4, 8)).astype(np.float32)
    scaled = RotatedValues(RoPE(scaling=YaRN(factor=8, original_length=64)))
    assert scaled.rope.magnitude > 1.2
    got = scaled.encode_values({}, v, np.arange(4)[None], np.array([4]))
    np.testing.assert_allclose(np.linalg.norm(got, axis=-1), np.linalg.norm(v, axis=-1), rtol=1e-6)
