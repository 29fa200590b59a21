"""The language model of Flax's own examples with encodings of ours, as the guide says it is done. Needs an index."""

import functools
import subprocess
import sys
import tarfile
from types import ModuleType

import flax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.attention import dot_product_attention
from posenc_jax.encodings import Dims, Sequence, init_slot, parse

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
DIMS = Dims(d_model=32, num_heads=4, num_kv_heads=4, head_dim=8, num_layers=2, max_len=16)
TOKENS = jnp.array([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 0, 0, 0]])  # 0 is padding


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source of the model, from Flax's archive of the installed version."""
    folder = tmp_path_factory.mktemp("flax")
    asked = ["--no-deps", "--no-binary", "flax", f"flax=={flax.__version__}", "--dest", str(folder)]
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *asked], capture_output=True, text=True)
    if not (archives := [*folder.glob("flax-*.tar.gz")]):
        pytest.skip(f"no archive of Flax's source can be had here: {done.stderr.strip().splitlines()[-1]}")
    with tarfile.open(archives[0]) as archive:
        return archive.extractfile(f"flax-{flax.__version__}/examples/lm1b/models.py").read().decode()


def changed(source):
    """The source after the two changes."""
    for old, new in (
        ("    )(x, mask=decoder_mask)\n", "        attention_fn=attention_fn(self),\n    )(x, mask=decoder_mask)\n"),
        ("    logits = Decoder(config", "    decoder_mask = sequence(inputs)\n    logits = Decoder(config"),
    ):
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


def model_of(source, slot=()):
    """A small model of a source."""

    def attention_fn(layer):
        own = {"slot": slot, "params": layer.param("posenc", init_slot, slot, DIMS)}
        return functools.partial(dot_product_attention, **own, is_causal=True, embedded=True)

    def sequence(inputs):
        return Sequence.of_length(inputs.shape[1], segment_ids=(inputs > 0).astype("int32"))

    module = ModuleType("lm1b_models")
    sys.modules[module.__name__] = module  # where its dataclasses look for it
    module.attention_fn, module.sequence = attention_fn, sequence
    exec(compile(source, "models.py", "exec"), vars(module))
    sizes = {"emb_dim": 32, "qkv_dim": 32, "mlp_dim": 64, "num_heads": 4, "num_layers": 2, "max_len": 16}
    no_dropout = {"deterministic": True, "dropout_rate": 0.0, "attention_dropout_rate": 0.0}
    return module.TransformerLM(module.TransformerConfig(10, 10, **sizes, **no_dropout))


def logits(model, params, tokens=TOKENS):
    return np.asarray(jax.jit(model.apply)(params, tokens))


@pytest.fixture(scope="module")
def plain(source):
    """The model as it is published, its parameters and its logits."""
    model = model_of(source)
    params = jax.jit(model.init)(jax.random.key(0), TOKENS)
    return params, logits(model, params)


def merged(own, given):
    """Parameters of a model with encodings, where it has the same ones those that are given."""
    both = {name: merged(own[name], given[name]) for name in own if isinstance(own[name], dict) and name in given}
    return own | given | both


def of_first_layer(params):
    """The arrays of its encodings."""
    return jax.tree.leaves(params["params"]["decoder"]["encoderdecoderblock_0"]["posenc"])


def test_with_the_empty_slot_it_is_the_published_model(source, plain):
    params, published = plain
    model = model_of(changed(source))
    own = merged(jax.jit(model.init)(jax.random.key(1), TOKENS), params)
    real = np.asarray(TOKENS) > 0
    np.testing.assert_allclose(logits(model, own)[real], published[real], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", ["rope", "alibi", "t5", "shaw", "alibi|dape", "stick_breaking", "rerope(window=4)"])
def test_encodings_act_in_it_and_padding_changes_nothing(source, plain, text):
    params, published = plain
    model = model_of(changed(source), parse(text))
    own = merged(jax.jit(model.init)(jax.random.key(1), TOKENS), params)
    found = logits(model, own)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1:, :5], logits(model, own, TOKENS[1:, :5]), rtol=1e-4, atol=1e-5)
    if of_first_layer(own):  # which may change little as they begin
        gradient = jax.grad(lambda params: jnp.sum(model.apply(params, TOKENS) ** 2))
        assert max(np.abs(leaf).max() for leaf in of_first_layer(jax.jit(gradient)(own))) > 0
    else:
        assert np.abs(found[0] - published[0]).max() > 1e-3
