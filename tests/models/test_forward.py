"""Forward passes against a plain NumPy one, and what must not change them: padding, packing, how heads are stored."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import FAMILIES, LayerBias, LengthBias, OnlySelf, Relations, jitted, random_tokens, small

from posenc_jax.encodings import Learned, Randomized, RoPE
from posenc_jax.models import Slots, Streams, Transformer
from posenc_jax.models.layer_encodings import layer_encodings, sequence_of

pytestmark = pytest.mark.usefixtures("float64")

POSITIONS = Streams(positions=jax.random.key(3))
EVERYTHING = (Randomized(40), Learned(), RoPE(), LengthBias(), LayerBias(), Relations())


def linear(x, layer):
    return x @ np.asarray(layer.kernel[...]) + (0.0 if layer.bias is None else np.asarray(layer.bias[...]))


def norm(x, layer, config):
    if config.norm_type == "layer":
        x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + config.norm_epsilon)
    x = x * (np.asarray(layer.scale[...]) + (1.0 if config.norm_type == "rms_offset" else 0.0))
    return x if getattr(layer, "bias", None) is None else x + np.asarray(layer.bias[...])


def capped(logits, cap):
    return logits if cap is None else cap * np.tanh(logits / cap)


def activated(h, config):
    erf, activation = np.vectorize(math.erf), config.activation
    if activation == "relu":
        return np.maximum(h, 0.0)
    if activation.endswith("_tanh"):
        return 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
    return h / (1 + np.exp(-h)) if activation in ("silu", "swiglu") else 0.5 * h * (1 + erf(h / math.sqrt(2)))


def plain_attention(layer, x, memory, causal, config, window=0):
    """Loops over heads, queries and keys: Vaswani et al. 2017, equation 1 and section 3.2.2."""
    q, k, v = linear(x, layer.query), linear(memory, layer.key), linear(memory, layer.value)
    heads, kv_heads = config.num_heads, config.num_kv_heads or config.num_heads
    size = q.shape[-1] // heads
    if config.query_key_norm == "projection":
        q, k = norm(q, layer.query_norm, config), norm(k, layer.key_norm, config)
    if config.query_key_norm == "head":
        q = np.concatenate([norm(part, layer.query_norm, config) for part in np.split(q, heads, axis=-1)], axis=-1)
        k = np.concatenate([norm(part, layer.key_norm, config) for part in np.split(k, kv_heads, axis=-1)], axis=-1)
    scale = (1.0 / math.sqrt(size) if config.divide_logits else 1.0) if config.attention_scale is None else None
    scale = config.attention_scale if scale is None else scale
    out = np.zeros_like(q)
    for h in range(heads):
        own = slice(h * size, (h + 1) * size)
        g = h // (heads // kv_heads)
        shared = slice(g * size, (g + 1) * size)
        for i in range(len(x)):
            visible = range(i + 1) if causal else range(len(memory))
            visible = [j for j in visible if not window or abs(i - j) < window]
            scores = capped(np.array([q[i, own] @ k[j, shared] * scale for j in visible]), config.attention_cap)
            weights = np.exp(scores) / np.exp(scores).sum()
            out[i, own] = sum(w * v[j, shared] for w, j in zip(weights, visible, strict=True))
    return linear(out, layer.output)


def plain_stack(model, name, tokens, causal, memory=None):
    """What a stack gives for one row of tokens; ``memory`` is what its cross-attention looks at."""
    config, stack = model.config, getattr(model, name)
    x = np.asarray(model.embedding_of(name).table[...])[tokens]
    x = x * (config.d_model**0.5 if config.scale_embeddings else 1.0)
    x = norm(x, stack.embedding_norm, config) if config.embedding_norm else x

    for number, block in enumerate(stack.blocks):
        window = config.windows[number % len(config.windows)] if config.windows else 0

        def feed_forward(h, block=block):
            hidden = linear(h, block.mlp.hidden)
            if block.mlp.gate is None:
                return linear(activated(hidden, config), block.mlp.output)
            return linear(activated(linear(h, block.mlp.gate), config) * hidden, block.mlp.output)

        def attention(h, block=block, window=window):
            return plain_attention(block.self_attention, h, h, causal, config, window)

        def cross(h, block=block):
            return plain_attention(block.cross_attention, h, memory, False, config)

        first = block.self_attention_norm
        if config.parallel:
            second = first if config.parallel == "one_norm" else block.mlp_norm
            x = x + attention(norm(x, first, config)) + feed_forward(norm(x, second, config))
            continue
        sublayers = [(attention, "self_attention"), *([] if memory is None else [(cross, "cross_attention")])]
        for sublayer, of in [*sublayers, (feed_forward, "mlp")]:
            layer, last = getattr(block, f"{of}_norm"), getattr(block, f"{of}_output_norm")
            if layer is None:  # the first of ModernBERT
                x = x + sublayer(x)
            elif config.norm == "pre":
                x = x + sublayer(norm(x, layer, config))
            elif config.norm == "post":
                x = norm(x + sublayer(x), layer, config)
            elif config.norm == "output":
                x = x + norm(sublayer(x), layer, config)
            else:
                x = x + norm(sublayer(norm(x, layer, config)), last, config)
    return x if stack.final_norm is None else norm(x, stack.final_norm, config)


def plain_logits(model, x):
    """The output layer."""
    config, table = model.config, model.embedding_of("decoder").table
    kernel = np.asarray(table[...]).T if config.tie_output else np.asarray(model.output.kernel[...])
    has_bias = not config.tie_output if config.output_bias is None else config.output_bias
    bias = np.asarray(model.output.bias[...]) if has_bias else 0.0
    if config.output_transform:
        x = norm(activated(linear(x, model.transform.dense), config), model.transform.norm, config)
    return capped((x @ kernel + bias) * config.logit_scale, config.logit_cap)


def plain_forward(model, tokens, causal):
    """Logits of one row of tokens."""
    return plain_logits(model, plain_stack(model, "decoder" if causal else "encoder", tokens, causal))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "post", "activation": "relu", "num_kv_heads": 2, "attention_bias": False, "num_classes": 5},
        {
            "norm_type": "rms",
            "mlp_bias": False,
            "activation": "swiglu",
            "num_kv_heads": 1,
            "head_dim": 6,
            "final_norm": False,
        },
        {"norm": "post", "final_norm": True, "scale_embeddings": False, "tie_output": True},
        {"divide_logits": False, "num_kv_heads": 2, "activation": "geglu"},
        *(pytest.param(changes, id=name) for name, changes in FAMILIES.items()),
    ],
)
@pytest.mark.parametrize("kind", ["decoder_only", "encoder_only"])
def test_equals_plain_numpy(kind, changes):
    model = small(kind, **changes)
    tokens = random_tokens(2, 6)
    expected = np.stack([plain_forward(model, row, kind == "decoder_only") for row in tokens])
    np.testing.assert_allclose(model(tokens), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("norm", ["pre", "post", "output", "sandwich"])
def test_an_encoder_and_a_decoder_equal_plain_numpy(norm):
    model = small("encoder_decoder", norm=norm, query_key_norm="head", embedding_norm=True, tie_embeddings=False)
    source, target = random_tokens(1, 6), random_tokens(1, 4, seed=1)
    memory = plain_stack(model, "encoder", source[0], False)
    expected = plain_logits(model, plain_stack(model, "decoder", target[0], True, memory))
    np.testing.assert_allclose(model(source, target)[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [pytest.param("decoder_only", marks=pytest.mark.slow), "encoder_decoder"])
def test_padding_changes_nothing(kind):
    """Padded on the right, and on the left with positions that say so; with random positions, tables and lengths."""
    cross = (Randomized(40), RoPE(), LengthBias())
    layers = 2 if kind == "decoder_only" else 1
    run = jitted(small(kind, Slots(EVERYTHING, EVERYTHING, cross), num_layers=layers).__call__)
    tokens = random_tokens(2, 5)
    names = ("", "decoder_") if kind == "encoder_decoder" else ("",)
    length = {f"{name}length": np.full((1,), 5, np.int32) for name in names}
    expected = run(*(tokens for _ in names), **length, streams=POSITIONS)
    for left, right in ((0, 3), (2, 1)):
        padded = np.pad(tokens, ((0, 0), (left, right)), constant_values=9)
        real = np.pad(np.ones((2, 5), np.int32), ((0, 0), (left, right)))
        arguments = {}
        for name in names:
            arguments[f"{name}segment_ids"] = real
            arguments[f"{name}positions"] = np.maximum(np.arange(5 + left + right, dtype=np.int32) - left, 0)[None]
        logits = run(*(padded for _ in names), **arguments, streams=POSITIONS)
        np.testing.assert_allclose(logits[:, left : left + 5], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [pytest.param("decoder_only", marks=pytest.mark.slow), "encoder_decoder"])
def test_packed_sequences_are_separate_sequences(kind):
    """Rows of 4 and 3 tokens in one row of 8; lengths are explicit, as a row has only one."""
    slot = (Learned(), RoPE(), LengthBias(), Relations())
    layers = 2 if kind == "decoder_only" else 1
    run = jitted(small(kind, Slots(slot, slot, (RoPE(), Relations())), num_layers=layers).__call__)
    first, second = random_tokens(1, 4), random_tokens(1, 3, seed=1)
    packed = np.concatenate([first, second, [[0]]], axis=1)
    names = ("", "decoder_") if kind == "encoder_decoder" else ("",)
    length = {f"{name}length": np.full((1,), 8, np.int32) for name in names}
    arguments = {}
    for name in names:
        arguments[f"{name}segment_ids"] = np.array([[1, 1, 1, 1, 2, 2, 2, 0]], np.int32)
        arguments[f"{name}positions"] = np.array([[0, 1, 2, 3, 0, 1, 2, 0]], np.int32)
    logits = run(*(packed for _ in names), **arguments, **length)
    for part, tokens in ((slice(0, 4), first), (slice(4, 7), second)):
        separate = run(*(tokens for _ in names), **length)
        np.testing.assert_allclose(logits[:, part], separate, rtol=1e-9, atol=1e-9)


def test_pooling_reads_real_tokens():
    """Wherever padding stands."""
    tokens, real = random_tokens(2, 6), np.array([[0, 0, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]], np.int32)
    every = small("encoder_only", Slots((RoPE(),)), final_norm=False)
    logits = every(tokens, segment_ids=real)
    for pooling, expected in (
        ("mean", [logits[0, 2:5].mean(0), logits[1].mean(0)]),  # the output layer is linear
        ("first", [logits[0, 2], logits[1, 0]]),
    ):
        pooled = small("encoder_only", Slots((RoPE(),)), final_norm=False, pooling=pooling)
        result = pooled(tokens, segment_ids=real)
        assert result.shape == (2, 11)
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def test_patterns_repeat_over_the_layers():
    model = small("decoder_only", Slots(decoder=((OnlySelf(),), ())), num_layers=3)
    _, captured = model(random_tokens(2, 6), capture=True)
    weights = [layer["attention_weights"] for layer in captured["decoder"]["layers"]]
    identity = np.broadcast_to(np.eye(6), (2, 4, 6, 6))
    for layer, weight in enumerate(weights):
        assert np.allclose(weight, identity) == (layer % 2 == 0)


def test_captured_weights_are_distributions_over_what_may_be_seen():
    model = small("encoder_decoder", Slots((RoPE(),), (LengthBias(),), (RoPE(),)))
    tokens, real = random_tokens(2, 6), np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], np.int32)
    arguments = {"segment_ids": real, "decoder_segment_ids": np.ones((2, 5), np.int32)}
    logits, captured = jitted(model.__call__, capture=True)(tokens, tokens[:, :5], **arguments)
    np.testing.assert_allclose(logits, jitted(model.__call__)(tokens, tokens[:, :5], **arguments), rtol=1e-9, atol=1e-9)
    assert captured.keys() == {"encoder", "decoder"}
    for layer in captured["decoder"]["layers"]:
        weights, cross = layer["attention_weights"], layer["cross_attention_weights"]
        assert (weights.shape, cross.shape) == ((2, 4, 5, 5), (2, 4, 5, 6))
        np.testing.assert_allclose(weights.sum(-1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(cross.sum(-1), 1.0, rtol=1e-12)
        assert np.all(np.triu(weights, 1) == 0)
        assert np.all(cross[0, :, :, 4:] == 0)
        assert layer["cross_attention_output"].shape == (2, 5, 16)
    for layer in captured["encoder"]["layers"]:
        np.testing.assert_allclose(layer["attention_weights"][0, :, :4].sum(-1), 1.0, rtol=1e-12)
        assert np.all(layer["attention_weights"][0, :, :4, 4:] == 0)


def test_the_bias_is_computed_once_where_layers_share_it(monkeypatch):
    calls = []
    bias = LengthBias.bias
    monkeypatch.setattr(LengthBias, "bias", lambda self, *args: calls.append(type(self)) or bias(self, *args))
    sequence = sequence_of(random_tokens(1, 4))
    shared, own = {"slope": np.ones(4)}, tuple({"slope": np.full(4, float(layer))} for layer in range(3))

    config = Transformer(num_layers=3)

    def layers(slot, params, key=None, config=config):
        call = dict(num_layers=config.num_layers, dtype=jnp.float32, causal=True, key=key, train=True)
        return layer_encodings(slot, params, sequence, sequence, config=config, **call)

    pattern = layers(((LengthBias(),), ()), (shared,))
    assert len(calls) == 1
    assert pattern[0].shared_bias is pattern[2].shared_bias
    assert pattern[1].shared_bias is None
    per_layer = layers((LayerBias(),), (own,))
    assert [layer.params[0]["slope"][0] for layer in per_layer] == [0.0, 1.0, 2.0]
    assert all(layer.shared_bias is None for layer in per_layer)
    redrawn = layers((Randomized(40, redraw="layer"), LengthBias()), ({}, shared), jax.random.key(0))
    positions = [np.asarray(layer.geometry[1].q_positions) for layer in redrawn]
    assert not np.array_equal(positions[0], positions[1])
    assert all(layer.shared_bias is None for layer in redrawn)
    in_parts = layers((LengthBias(),), (shared,), config=dataclasses.replace(config, attention="causal"))
    assert in_parts[0].shared_bias is in_parts[2].shared_bias is not None
    in_blocks = layers((LengthBias(),), (shared,), config=dataclasses.replace(config, attention="blockwise"))
    assert all((layer.path, layer.shared_bias) == ("blockwise", None) for layer in in_blocks)


def test_dropout_and_positions_draw_apart_from_each_other_and_by_stack():
    """Self-attention of encoder and decoder and cross-attention see different draws of the same length."""
    streams = Streams(jax.random.key(0), jax.random.key(0))
    keys = [jax.random.key_data(streams.positions_of(stack)).tolist() for stack in ("encoder", "decoder", "cross")]
    assert len({tuple(key) for key in keys}) == 3
