"""The page on models of one's own runs, and its layers in Flax, Equinox and Haiku have every hook of an encoding."""

import functools
import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from posenc_jax.encodings import PositionalEncoding, Sequence, attend, embed, init_slot, layer_inputs, parse

hk = pytest.importorskip("haiku", reason="dm-haiku is not installed: install requirements.lock")

PAGE = Path(__file__).parent.parent / "scripts" / "docs" / "guides" / "in-your-own-model.md"
WEIGHTS = ("w_q", "w_k", "w_v", "w_out")
GATE = "fox"  # reads the input of the layer
REST = "learned|shaw|t5|rerope(window=3)|stick_breaking|dape|interpolated(factor=2)|rope|rotated_values"


@pytest.fixture(scope="module")
def page():
    """The names of the page, whose cells compare what they compute."""
    names = {}
    for code in re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(code, PAGE.name, "exec"), names)
    return names


class Case:
    """A slot, its parameters, the input of a layer, and what attention of that layer gives by the page's weights."""

    def __init__(self, spec, page):
        self.slot, self.page, rng = parse(spec), page, np.random.default_rng(0)
        params = init_slot(jax.random.key(0), self.slot, page["dims"])
        self.params = jax.tree.map(lambda a: a + rng.normal(size=a.shape).astype(np.float32) / 4, params)
        self.x = embed(self.slot, self.params, page["x"], Sequence.of_length(10))

    @functools.cached_property
    def want(self):
        names = self.page

        def layer(params, x):
            q, k, v = (jnp.einsum("bsm,mhd->bhsd", x, names[w]) for w in WEIGHTS[:3])
            y = attend(q, k, v, *layer_inputs(self.slot, params, x, num_heads=4, causal=True, embedded=True))
            return jnp.einsum("bhsd,hdm->bsm", y, names[WEIGHTS[3]])

        return jax.jit(layer)(self.params, self.x)


@pytest.fixture(scope="module")
def every_hook(page):
    case = Case(f"{REST}|{GATE}", page)
    assert {hook for element in case.slot for hook in element.acts_on} == set(PositionalEncoding.HOOKS)
    return case


def flax_layer(case, kind):
    """A layer of `nnx.MultiHeadAttention`, or of a subclass of it, with the page's weights."""
    encoded = case.page["Encoded"](case.slot, jax.tree.map(nnx.Param, case.params))
    made = kind(4, 64, use_bias=False, decode=False, attention_fn=encoded, rngs=nnx.Rngs(0))
    for part, w in zip((made.query, made.key, made.value, made.out), WEIGHTS):
        part.kernel[...] = case.page[w]
    return made


def flax(case):
    return nnx.jit(lambda m, x: m(x, is_causal=True))(flax_layer(case, case.page["Attention"]), case.x)


def linen(case):
    names = case.page
    weights = {name: {"kernel": names[w]} for name, w in zip(("query", "key", "value", "out"), WEIGHTS)}
    weights = {"params": {"posenc": case.params, "MultiHeadDotProductAttention_0": weights}}
    return jax.jit(names["LinenAttention"](case.slot, names["dims"]).apply)(weights, case.x)


def equinox(case):
    own = case.page["EqxAttention"](case.page["equinox"].own, case.params, case.slot)
    return eqx.filter_jit(jax.vmap(lambda x: own(x, is_causal=True)))(case.x)


def haiku(case):
    names = case.page

    def layer(x):
        made = names["HaikuAttention"](4, 16, w_init=hk.initializers.Constant(0), with_bias=False, name="attention")
        return made(x, case.slot, names["own_parameters"](case.params), is_causal=True)

    module = hk.without_apply_rng(hk.transform(layer))
    linear = {key: w for key, w in names["weights"].items() if key.startswith("attention")}
    own = jax.eval_shape(module.init, jax.random.key(0), case.x)["~"]
    assert len(own) == len(jax.tree.leaves(case.params))
    return jax.jit(module.apply)(linear | {"~": dict(zip(own, jax.tree.leaves(case.params)))}, case.x)


@pytest.mark.parametrize("layer", [flax, linen, equinox, haiku])
def test_a_layer_of_a_framework_has_every_hook(layer, every_hook):
    np.testing.assert_allclose(layer(every_hook), every_hook.want, rtol=1e-4, atol=1e-4)


def test_an_attention_fn_of_flax_has_every_hook_that_reads_no_input_of_the_layer(page, every_hook):
    case = Case(REST, page)
    found = nnx.jit(lambda m, x: m(x, is_causal=True))(flax_layer(case, nnx.MultiHeadAttention), case.x)
    np.testing.assert_allclose(found, case.want, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"FoX\(.*\) reads the inputs of the layer: pass x, what queries, keys and"):
        flax_layer(every_hook, nnx.MultiHeadAttention)(every_hook.x, is_causal=True)
