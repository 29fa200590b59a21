"""Under JAX's strict settings: no types are promoted unasked, no ranks, and no NaN is made on the way."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.analysis.contract import LENGTH, ORDER, REAL, X
from posenc_jax.analysis.layer import AttentionLayer
from posenc_jax.encodings import RoPE, for_layer, parse
from posenc_jax.encodings.catalogue import CATALOGUE

SAMPLE = ("grape_m", "log_scaling(training_length=64)|rerope(window=4, factor=16)", "interpolated(factor=4)|alibi")
ROWS = dict.fromkeys(method.spec for methods in CATALOGUE.values() for method in methods)
CASES = [*SAMPLE, *(pytest.param(spec, marks=pytest.mark.slow) for spec in ROWS if spec not in (*SAMPLE, "nope"))]


def layer_of(spec):
    slot = for_layer(parse(spec), 0)
    return AttentionLayer((*slot, RoPE()) if all(e.acts_on <= {"map_positions"} for e in slot) else slot)


def ways(layer, x, params):
    """Attention and its gradients by what is known of positions, with what it is given."""
    x_all, queries, places, cache = layer.arguments(x, ORDER, REAL, length=LENGTH)
    known = layer.sequence(x, ORDER[:1], REAL, LENGTH)

    def gradients(call, *rest):
        def loss(params, x, *rest):
            return jnp.sum(call(params, x, *rest).astype(jnp.float32))

        return jax.grad(loss, argnums=(0, 1)), (params, *rest)

    return {
        "known": gradients(lambda p, x, key: layer.plain(True, p, x, key, tokens=known), x, layer.key),
        "traced": gradients(lambda p, x, key, s: layer.plain(True, p, x, key, tokens=s), x, layer.key, known),
        "a cache": gradients(
            lambda p, x, *rest: layer.call(layer.encodings, True, p, x, *rest)[0],
            *(x_all, queries, places, cache, layer.key),
        ),
    }


@pytest.mark.parametrize("spec", CASES)
def test_no_types_and_no_ranks_are_promoted(spec):
    layer = layer_of(spec)
    for x64, kind in ((False, jnp.float32), (False, jnp.bfloat16), (True, jnp.float32), (True, jnp.float64)):
        params = jax.tree.map(functools.partial(np.asarray, dtype=np.float64 if x64 else np.float32), layer.params)
        with jax.enable_x64(x64):
            found = ways(layer, X.astype(kind), params)
            with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
                for call, arguments in found.values():
                    jax.eval_shape(call, *arguments)


@pytest.mark.parametrize(
    "spec", ["alibi|rope", *(pytest.param(s, marks=pytest.mark.slow) for s in ROWS if s != "nope")]
)
def test_no_nan_is_made_on_the_way(spec):
    layer = layer_of(spec)
    params = jax.tree.map(functools.partial(np.asarray, dtype=np.float32), layer.params)
    found = ways(layer, X.astype(np.float32), params)
    with jax.debug_nans(True):
        for call, arguments in found.values():
            jax.block_until_ready(jax.jit(call)(*arguments))
