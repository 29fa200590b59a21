"""Building: what parameters depend on, how they are drawn, and that a model survives NNX and jit."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from small_models import LayerBias, Relations, jitted, random_tokens, small

from posenc_jax.encodings import Learned, RoPE, Sinusoidal
from posenc_jax.models import STACKS, Slots, Streams, Transformer, build
from posenc_jax.models.building import KeyStreams

STREAMS = Streams(dropout=jax.random.key(0))
SLOTS = [(), (Sinusoidal(),), (RoPE(),), (Learned(), LayerBias()), ((Relations(),), ())]


def parameters(model):
    """Path to array."""
    return {"/".join(map(str, path)): leaf[...] for path, leaf in nnx.to_flat_state(nnx.state(model))}


@pytest.mark.parametrize(
    "kind", [kind if kind == "encoder_decoder" else pytest.param(kind, marks=pytest.mark.slow) for kind in STACKS]
)
def test_parameters_outside_the_encodings_are_bit_equal_over_encodings(kind):
    plain = parameters(small(kind, fresh=True))
    for slot in SLOTS:
        cross = slot if not any(isinstance(e, (Learned, Sinusoidal)) for e in slot) else ()
        model = parameters(small(kind, Slots(slot, slot, cross), fresh=True))
        others = {path: leaf for path, leaf in model.items() if not path.startswith("posenc/")}
        assert others.keys() == plain.keys()
        assert all(np.array_equal(others[path], plain[path]) for path in plain)


def test_streams_of_keys_are_those_of_flax():
    keys = {"params": jax.random.key(1), "transform": jax.random.key(2)}
    own, theirs = KeyStreams(**keys), nnx.Rngs(**keys)
    for name in ("params", "transform", "params", "params"):
        assert getattr(own, name)() == getattr(theirs, name)()
    with pytest.raises(AttributeError, match="'dropout'"):
        own.dropout()


def test_keys_reach_what_they_should():
    slots = Slots(decoder=(Learned(), LayerBias()))
    first, other_key, other_posenc = (
        parameters(small("decoder_only", slots, fresh=True, **keys)) for keys in ({}, {"key": 5}, {"posenc_key": 5})
    )
    posenc = {path for path in first if path.startswith("posenc/")}
    assert len(posenc) == 1 + 2
    for path in posenc:
        assert np.array_equal(first[path], other_key[path])
        assert not np.array_equal(first[path], other_posenc[path])
    for path in first.keys() - posenc:
        assert np.array_equal(first[path], other_posenc[path])
        drawn = path.endswith(("kernel", "table"))
        assert np.array_equal(first[path], other_key[path]) != drawn


def test_every_stack_draws_encoding_parameters_of_its_own():
    posenc = small("encoder_decoder", Slots((LayerBias(),), (LayerBias(),), (LayerBias(),)), fresh=True).posenc
    slopes = [posenc[stack][0][layer]["slope"][0] for stack in STACKS["encoder_decoder"] for layer in range(2)]
    assert len(set(map(float, slopes))) == 6


@pytest.mark.parametrize("kind", [pytest.param("decoder_only", marks=pytest.mark.slow), "encoder_decoder"])
def test_abstract_build_and_merge_inside_jit(kind):
    slots = Slots((Learned(), RoPE()), ((LayerBias(),), ()), (RoPE(),))
    make = lambda: small(kind, slots, fresh=True, num_layers=2)  # noqa: E731
    graph, abstract = nnx.split(nnx.eval_shape(make))
    inside = jax.eval_shape(jax.jit(lambda: nnx.split(make())[1]))
    built, state = nnx.split(make())
    for traced in (abstract, inside):
        assert jax.tree.map(lambda x: (x.shape, x.dtype), traced) == jax.tree.map(lambda x: (x.shape, x.dtype), state)
    assert graph == built
    hash(graph)
    tokens = (np.ones((2, 6), np.int32),) * (2 if kind == "encoder_decoder" else 1)

    @jax.jit
    def gradient(state):
        return jax.grad(lambda state: jnp.var(nnx.merge(graph, state)(*tokens, train=True)))(state)

    grads = nnx.to_flat_state(gradient(state))
    stacks = {path[1] for path, _ in grads if path[0] == "posenc"}
    assert stacks == {s for s in STACKS[kind] if s != "cross"}  # RoPE in the cross slot has no parameters
    assert all(bool(jnp.isfinite(leaf[...]).all()) for _, leaf in grads)


@pytest.mark.parametrize(
    ("changes", "embedded"),
    [
        ({}, 1.0),
        pytest.param({"tie_output": True}, 1.0, marks=pytest.mark.slow),
        pytest.param({"scale_embeddings": False}, 1.0, marks=pytest.mark.slow),
        ({"scale_embeddings": False, "tie_output": True}, 1 / 16),
    ],
)
def test_initial_scales(changes, embedded):
    """Embeddings enter with unit variance, logits leave with unit variance, kernels have variance 1 / fan_in."""
    model = build(
        "decoder_only",
        Transformer(256, 1, 4, **changes),
        Slots(),
        vocab_size=300,
        num_classes=300,
        max_len=8,
        key=jax.random.key(0),
        posenc_key=jax.random.key(1),
    )
    tokens = np.arange(300, dtype=np.int32).reshape(3, 100)
    logits, captured = jax.tree.map(np.asarray, jitted(model.__call__, capture=True)(tokens))
    np.testing.assert_allclose(np.std(captured["decoder"]["embeddings"]), embedded, rtol=0.02)
    # A tied output gives every token a large logit for itself, which says nothing of the scale.
    others = tokens[..., None] != np.arange(300)
    np.testing.assert_allclose(np.std(logits[others]), 1.0, rtol=0.05)
    block = model.decoder.blocks[0]
    np.testing.assert_allclose(np.std(block.self_attention.query.kernel[...]), 256**-0.5, rtol=0.02)
    np.testing.assert_allclose(np.std(block.mlp.output.kernel[...]), 1024**-0.5, rtol=0.02)


def test_undivided_logits_are_the_same_at_first():
    """T5's: the projection of the queries is smaller by sqrt(D), and its gradient larger."""
    tokens = random_tokens(2, 6)
    models = {divided: small("decoder_only", fresh=True, divide_logits=divided) for divided in (True, False)}
    kernels = [np.asarray(models[d].decoder.blocks[0].self_attention.query.kernel[...]) for d in (True, False)]
    np.testing.assert_allclose(kernels[1], kernels[0] / 2, rtol=1e-6)  # heads of 4 dimensions
    np.testing.assert_allclose(models[True](tokens), models[False](tokens), rtol=1e-5, atol=1e-6)


def in_training(kind, dtype, **static):
    """A call with dropout of a small model, and its arguments."""
    slots = Slots((Sinusoidal(),), (RoPE(), LayerBias()))
    model = small(kind, slots, num_layers=1, dropout=0.1, dtype=dtype)
    assert {leaf.dtype for leaf in parameters(model).values()} == {jnp.dtype("float32")}
    tokens = (random_tokens(2, 6),) * (2 if kind == "encoder_decoder" else 1)
    return functools.partial(jitted(model.__call__, train=True, **static), streams=STREAMS), tokens


@pytest.mark.parametrize("kind", ["encoder_only", "encoder_decoder"])
def test_bfloat16_computes_in_bfloat16_and_keeps_the_rest_in_float32(kind):
    run, tokens = in_training(kind, "bfloat16", capture=True)
    logits, captured = jax.eval_shape(run, *tokens)
    assert logits.dtype == jnp.float32
    for stack in captured.values():
        for layer in stack["layers"]:
            assert layer["attention_weights"].dtype == jnp.float32
            dtypes = {layer[name].dtype for name in ("attention_output", "mlp_output", "output")}
            assert dtypes == {jnp.dtype("bfloat16")}


def test_bfloat16_keeps_norms_and_softmax_in_float32():
    model = small("encoder_only", Slots((Sinusoidal(), RoPE())), dtype="bfloat16", pooling="mean")
    jaxpr = jax.make_jaxpr(lambda tokens: model(tokens, segment_ids=tokens))(random_tokens(2, 6))
    seen = set()

    def visit(jaxpr):
        for equation in jaxpr.eqns:
            seen.update((equation.primitive.name, str(out.aval.dtype)) for out in equation.outvars)
            for inner in jax.tree.leaves(equation.params, is_leaf=lambda p: hasattr(p, "jaxpr")):
                if hasattr(inner, "jaxpr"):
                    visit(inner.jaxpr)

    visit(jaxpr.jaxpr)
    for primitive in ("exp", "rsqrt", "reduce_sum", "reduce_max"):
        assert (primitive, "float32") in seen
        assert (primitive, "bfloat16") not in seen
    assert ("dot_general", "bfloat16") in seen
