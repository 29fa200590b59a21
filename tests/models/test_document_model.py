"""Documents: embeddings of token types, and pooling by attention under the structure mask."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from small_models import jitted, random_tokens, small

from posenc_jax.encodings import Learned, RoPE, SectionIndex, Sinusoidal, WithinSection
from posenc_jax.models import Slots, Transformer
from posenc_jax.models.embedding import Embedding
from posenc_jax.models.pooling import AttentionPooling

# Three documents: whole, without header, without footer and with a body in two parts. Then padding.
TYPES = np.array([[1, 1, 2, 2, 2, 3, 3, 0], [2, 2, 2, 3, 0, 0, 0, 0], [2, 2, 1, 2, 1, 0, 0, 0]], np.int32)
REAL = (TYPES != 0).astype(np.int32)
TOKENS = random_tokens(3, 8)
DOCUMENT = {"token_types": TYPES, "segment_ids": REAL}


def parameters(model):
    """Path to array."""
    return {"/".join(map(str, path)): np.asarray(leaf[...]) for path, leaf in nnx.to_flat_state(nnx.state(model))}


# Parameters.


@pytest.mark.parametrize("kind", [pytest.param("decoder_only", marks=pytest.mark.slow), "encoder_only"])
def test_all_other_parameters_are_the_same_with_and_without_types(kind):
    slots = Slots((Learned(),), (Learned(),))
    plain, typed = (parameters(small(kind, slots, fresh=True, token_types=n)) for n in (0, 4))
    assert typed.keys() - plain.keys() == {"embedding/types"}
    assert typed["embedding/types"].shape == (4, 16)
    for path, leaf in plain.items():
        np.testing.assert_array_equal(leaf, typed[path], err_msg=path)


def test_all_other_parameters_are_the_same_with_any_pooling():
    mean, attention = (
        parameters(small("encoder_only", fresh=True, token_types=4, pooling=pooling))
        for pooling in ("mean", "attention")
    )
    new = {path for path in attention if path.startswith("pooling/")}
    assert {path.split("/")[1] for path in new} == {"queries", "key", "value", "output"}
    assert attention["pooling/queries"].shape == (3, 4, 4)
    assert attention["pooling/output/kernel"].shape == (3 * 16, 16)
    for path in mean:
        np.testing.assert_array_equal(mean[path], attention[path], err_msg=path)
    assert attention.keys() - new == mean.keys()


def test_types_and_queries_start_small(float64):
    config = Transformer(256, 1, 4, token_types=64, pooling="attention")
    types = np.arange(300)[None] % 64

    @jax.jit
    def start():
        rngs = nnx.Rngs(params=jax.random.key(0), token_types=jax.random.key(1))
        embedding, pooling = Embedding(config, 300, rngs=rngs), AttentionPooling(config, rngs=rngs)
        x = embedding(np.arange(300)[None], types)
        return (embedding.types[...], pooling.queries[...]), x, pooling(x, None, types)[1]

    drawn, x, weights = start()
    for values in drawn:
        np.testing.assert_allclose(np.std(values), 0.02, rtol=0.03)
    np.testing.assert_allclose(np.std(x), 1.0, rtol=0.02)
    # So pooling starts close to the mean of a section: 1/4 or 1/5 for each of its tokens.
    np.testing.assert_allclose(np.max(weights), 0.25, atol=0.05)


# Embeddings of types.


@pytest.mark.parametrize("scaled", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [pytest.param("decoder_only", marks=pytest.mark.slow), "encoder_only"])
def test_a_token_is_embedded_with_its_type(float64, kind, scaled):
    model = small(kind, token_types=4, scale_embeddings=scaled)
    table, types = (parameters(model)[f"embedding/{name}"] for name in ("table", "types"))
    _, captured = model(TOKENS, token_types=TYPES, capture=True)
    got = captured["encoder" if kind == "encoder_only" else "decoder"]["embeddings"]
    for b in range(3):
        for i in range(8):
            wanted = table[TOKENS[b, i]] * (4.0 if scaled else 1.0) + types[TYPES[b, i]]
            np.testing.assert_allclose(got[b, i], wanted, rtol=1e-12)


def test_types_that_are_missing_are_refused_when_traced():
    model = small("encoder_only", token_types=4)
    with pytest.raises(ValueError, match=r"Transformer.token_types = 4, and this call gives no types: pass"):
        nnx.eval_shape(lambda model: model(TOKENS), model)


def test_a_type_that_the_table_lacks_is_nan():
    logits = jitted(small("encoder_only", token_types=3, pooling="mean").__call__)(TOKENS, **DOCUMENT)
    np.testing.assert_array_equal(np.isnan(logits).all(axis=1), [True, True, False])  # the third has no footer
    assert np.isfinite(logits[2]).all()


def test_decoding_with_types_equals_the_full_pass(float64):
    """A cache has room for types as soon as the model has some; sections are read from it."""
    slot = (Sinusoidal(), WithinSection(), Sinusoidal(), RoPE(), SectionIndex(), Learned())
    model = small("decoder_only", Slots(decoder=slot), token_types=4, num_layers=1)
    full = jitted(model.__call__)(TOKENS, token_types=TYPES)
    extend, cache, logits = jitted(model.extend), model.new_cache(3, 8), []
    for start, stop in ((0, 2), (2, 4), (4, 6), (6, 8)):
        part = np.s_[:, start:stop]
        out, cache = extend(TOKENS[part], cache, token_types=TYPES[part])
        logits.append(out)
    np.testing.assert_allclose(np.concatenate(logits, axis=1), full, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(cache.token_types, TYPES)


# Pooling.


def pooled_by_hand(model, x, sections):
    """``[B, M]`` of ``x [B, S, M]``, and weights by document, head, section and token; ``sections [B, S]``."""
    pooling, config = model.pooling, model.config
    heads, dim = config.num_heads, config.width_of_head
    shared = heads // config.kv_heads
    queries = np.asarray(pooling.queries[...])

    def affine(layer, row):
        out = row @ np.asarray(layer.kernel[...])
        return out if layer.bias is None else out + np.asarray(layer.bias[...])

    rows, weights = [], np.zeros((len(x), heads, len(queries), x.shape[1]))
    for b in range(len(x)):
        parts = []
        for p in range(len(queries)):
            members = [i for i in range(x.shape[1]) if sections[b, i] == p + 1]
            for h in range(heads):
                kv = slice(h // shared * dim, (h // shared + 1) * dim)
                part = np.zeros(dim)
                if members:
                    scores = [queries[p, h] @ affine(pooling.key, x[b, i])[kv] / np.sqrt(dim) for i in members]
                    weights[b, h, p, members] = np.exp(scores) / np.exp(scores).sum()
                for i in members:
                    part += weights[b, h, p, i] * affine(pooling.value, x[b, i])[kv]
                parts.append(part)
        rows.append(affine(pooling.output, np.concatenate(parts)))
    return np.array(rows), weights


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"token_types": 4}, marks=pytest.mark.slow),
        {"token_types": 4, "num_kv_heads": 2, "attention_bias": False, "norm": "post"},
        pytest.param({"token_types": 6, "head_dim": 6}, marks=pytest.mark.slow),
        {},
    ],
)
def test_pooling_equals_plain_numpy(float64, changes):
    model = small("encoder_only", Slots((RoPE(),)), pooling="attention", num_classes=5, **changes)
    logits, captured = model(TOKENS, **DOCUMENT, capture=True)
    x = captured["encoder"]["layers"][-1]["output"]
    x = np.asarray(x if model.encoder.final_norm is None else model.encoder.final_norm(x))
    pooled, weights = pooled_by_hand(model, x, TYPES if changes.get("token_types") else REAL)
    wanted = pooled @ np.asarray(model.output.kernel[...]) + np.asarray(model.output.bias[...])
    assert logits.shape == (3, 5)
    np.testing.assert_allclose(captured["encoder"]["pooling_weights"], weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(logits, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("token_types", [pytest.param(0, marks=pytest.mark.slow), 4])
def test_padding_never_counts(float64, token_types):
    """Other tokens and other types as padding, on the right or on the left, with positions that say so."""
    slot = (Sinusoidal(), WithinSection(), Sinusoidal(), RoPE())
    run = jitted(small("encoder_only", Slots(slot), token_types=token_types, pooling="attention").__call__)
    length = REAL.sum(1)
    wanted = run(TOKENS, **DOCUMENT)
    other, noise = random_tokens(3, 8, seed=5), np.random.default_rng(1).integers(0, 4, (3, 8)).astype(np.int32)
    on_the_right = run(np.where(REAL, TOKENS, other), token_types=np.where(REAL, TYPES, noise), segment_ids=REAL)
    np.testing.assert_allclose(on_the_right, wanted, rtol=1e-9, atol=1e-9)
    places = np.arange(8)[None] - (8 - length)[:, None]
    rolled = {
        name: np.stack([np.roll(row, 8 - n) for row, n in zip(a, length, strict=True)])
        for name, a in (("tokens", np.where(REAL, TOKENS, other)), ("token_types", np.where(REAL, TYPES, noise)))
    }
    on_the_left = run(
        rolled["tokens"],
        token_types=rolled["token_types"],
        segment_ids=(places >= 0).astype(np.int32),
        positions=np.maximum(places, 0).astype(np.int32),
    )
    np.testing.assert_allclose(on_the_left, wanted, rtol=1e-9, atol=1e-9)


def pooling_of(**changes):
    """The pooling layer of a small model with random parameters, by itself."""
    return small("encoder_only", pooling="attention", **{"token_types": 4} | changes).pooling


X = np.random.default_rng(3).normal(size=(3, 8, 16))


def test_gradients_are_finite_without_sections_and_without_tokens(float64):
    graph, state = nnx.split(pooling_of())
    types = np.array([[2] * 8, [0] * 8], np.int32)

    def loss(state, x):
        return jnp.var(nnx.merge(graph, state)(x, types, types)[0])

    grads, of_x = jax.jit(jax.grad(loss, (0, 1)))(state, X[:2])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((grads, of_x)))
    queries = np.asarray(nnx.merge(graph, grads).queries[...])
    assert (queries[[0, 2]] == 0).all()  # nothing to learn from sections that are not there
    assert (queries[1] != 0).all()
    assert (of_x[1] == 0).all()
