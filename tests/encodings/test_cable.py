"""CABLE (arXiv:2503.08067) is FoX: a bias that falls by softplus(z) is a gate of sigmoid(-z)."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings import Geometry, Sequence, parse
from posenc_jax.encodings.catalogue import CATALOGUE


def test_the_row_is_the_authors_bias_with_weights_of_the_other_sign():
    (spec,) = (method.spec for method in CATALOGUE["additive"] if method.name == "CABLE")
    (encoding,) = parse(spec)
    rng = np.random.default_rng(0)
    x, weight, offset = rng.normal(size=(1, 5, 6)), rng.normal(size=(6, 2)), rng.normal(size=2)
    sums = np.zeros((5, 2))  # of -softplus(w . x + b), up to and including each token
    for t in range(5):
        for h in range(2):
            z = sum(x[0, t, m] * weight[m, h] for m in range(6)) + offset[h]
            sums[t, h] = (sums[t - 1, h] if t else 0) - math.log(1 + math.exp(z))
    with jax.enable_x64(True):
        params = {"weight": jnp.asarray(-weight), "bias": jnp.asarray(-offset)}
        terms = encoding.token_terms(params, jnp.asarray(x), Sequence.of_length(5))
        heads = jnp.zeros((1, 2, 5, 4))
        got = encoding.content_bias(params, heads, heads, Geometry.of_length(5, num_heads=2, causal=True), terms)
    for i in range(5):
        for j in range(i + 1):
            np.testing.assert_allclose(got[0, :, i, j], sums[i] - sums[j], atol=1e-9)
