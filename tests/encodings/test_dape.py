import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.additive.alibi import ALiBi
from posenc_jax.encodings.additive.dape import DAPE
from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Geometry

H, W = 3, 5


def noise(kernel_size, inputs=2 * H):
    rng = np.random.default_rng(0)
    return {
        "weight_0": rng.normal(size=(kernel_size, inputs, W)),
        "bias_0": rng.normal(size=W),
        "weight_1": rng.normal(size=(kernel_size, W, H)),
        "bias_1": rng.normal(size=H),
    }


def leaky(x):
    return np.where(x > 0, x, 0.01 * x)


def correlate(x, weight, bias):
    """A torch convolution over the last axis, padded with zeros to the same length: ``[C, K]`` to ``[D, K]``."""
    side, length = weight.shape[0] // 2, x.shape[1]
    out = np.repeat(bias[:, None], length, axis=1)
    for place in range(length):
        for tap in range(weight.shape[0]):
            if 0 <= place + tap - side < length:
                out[:, place] += x[:, place + tap - side] @ weight[tap]
    return out


def authors(params, logits, bias, row):
    """Row ``row`` of DAPE under a causal mask, as the authors' code has it in a sequence that goes on: ``[H, K]``."""
    length, more = logits.shape[2], params["weight_0"].shape[0]
    both = np.zeros((2 * H, length + more))
    both[:, : row + 1] = np.concatenate([logits, bias])[:, row, : row + 1]  # tril
    hidden = leaky(correlate(both, params["weight_0"], params["bias_0"]))
    return (logits + bias)[:, row] + correlate(hidden, params["weight_1"], params["bias_1"])[:, :length]


def arrays(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=(2, *shape))


def adjusted(encoding, params, logits, bias, geometry):
    program = jax.jit(lambda *arrays: encoding.adjust_logits(*arrays, geometry))
    got = program(*jax.tree.map(np.float32, (params, logits, bias)))
    with jax.enable_x64(True):
        wide = program(params, logits, bias)
    np.testing.assert_allclose(got, wide, rtol=2e-5, atol=2e-4)
    return np.asarray(wide)


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
def test_over_neighbouring_keys_it_is_the_authors_convolution(kernel_size):
    params = noise(kernel_size)
    logits, bias = arrays(1, H, 6, 6)
    geometry = Geometry.of_length(6, num_heads=H, causal=True)
    got = adjusted(DAPE(W, kernel_size), params, logits, bias, geometry)
    for i in range(6):
        want = authors(params, logits[0], bias[0], i)
        np.testing.assert_allclose(got[0, :, i, : i + 1], want[:, : i + 1], atol=1e-9)


def test_without_a_causal_mask_both_ends_are_padding():
    params = noise(3)
    logits, bias = arrays(1, H, 4, 6)
    got = adjusted(DAPE(W, 3), params, logits, bias, Geometry.of_length(6, num_heads=H).block(np.s_[:4], np.s_[:]))
    for i in range(4):
        both = np.concatenate([logits, bias], axis=1)[0, :, i]
        hidden = leaky(correlate(both, params["weight_0"], params["bias_0"]))
        want = (logits + bias)[0, :, i] + correlate(hidden, params["weight_1"], params["bias_1"])
        np.testing.assert_allclose(got[0, :, i], want, atol=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_neighbours_go_by_slots_within_a_segment(causal):
    """Keys stored in any order, between padding and another sequence, give what the sequence gives alone."""
    encoding, params = DAPE(W, 3), noise(3)
    logits, bias = arrays(1, H, 4, 4)
    alone = adjusted(encoding, params, logits, bias, Geometry.of_length(4, num_heads=H, causal=causal))
    slots = np.array([[9, 3, 0, 7, 4, 8, 2]])  # of this sequence: 3, 7, 8, 9; 0 is padding, 2 and 4 another's
    segments = np.array([[5, 5, 0, 5, 2, 5, 2]])
    own = [1, 3, 5, 0]
    wide = arrays(1, H, 4, 7, seed=2) * 100
    for part, whole in zip(wide, (logits, bias), strict=True):
        part[:, :, :, own] = whole
    of_own, of_all = (slots[:, own], segments[:, own]), (slots, segments)
    (q, k), in_segments = zip(of_own, of_all)
    spread = geometry_at(q, k, places=(q, k), segments=in_segments, causal=causal)
    got = adjusted(encoding, params, *wide, spread)
    seen = np.tril(np.ones((4, 4), bool)) if causal else np.ones((4, 4), bool)
    np.testing.assert_allclose(got[..., own][:, :, seen], alone[:, :, seen], atol=1e-9)


def test_in_attention_it_reads_the_scaled_products_and_the_biases_of_the_slot():
    slot, params = (ALiBi(), DAPE(W)), ({}, noise(1))
    q, k = arrays(1, H, 4, 4)
    geometry = Geometry.of_length(4, num_heads=H, causal=True)
    with jax.enable_x64(True):
        program = jax.jit(lambda params, q, k: attend(q, k, k, slot, params, geometry, return_weights=True)[1])
        weights = np.asarray(program(params, q, k))
        bias = np.asarray(ALiBi().bias({}, geometry))
    logits = q @ k.swapaxes(2, 3) / 2
    for i in range(4):
        want = np.exp(authors(noise(1), logits[0], bias[0], i)[:, : i + 1])
        np.testing.assert_allclose(weights[0, :, i, : i + 1], want / want.sum(-1, keepdims=True), atol=1e-9)


def test_without_a_bias():
    logits, _ = arrays(1, H, 2, 2)
    geometry, encoding = Geometry.of_length(2, num_heads=H), DAPE(W, with_bias=False)
    params = noise(1, H)
    got = encoding.adjust_logits(jax.tree.map(jnp.asarray, params), jnp.asarray(logits), None, geometry)
    hidden = leaky(logits[0, :, 1, 0] @ params["weight_0"][0] + params["bias_0"])
    want = logits[0, :, 1, 0] + hidden @ params["weight_1"][0] + params["bias_1"]
    np.testing.assert_allclose(got[0, :, 1, 0], want, rtol=2e-5, atol=2e-5)
    with_bias = encoding.adjust_logits(jax.tree.map(jnp.asarray, params), jnp.asarray(logits), 2 * logits, geometry)
    np.testing.assert_allclose(with_bias, got + 2 * logits, rtol=1e-5, atol=1e-5)
    with pytest.raises(
        ValueError, match=r"no other element of the slot has one: put one beside it, as in 'kerple\|dape'"
    ):
        DAPE().adjust_logits(noise(1), logits, None, geometry)
