import jax
import jax.numpy as jnp
import numpy as np
from initial import initial
from planes import turned
from rows_of_tokens import DIMS, K, Q, X, check, key_head, params_of, sequence_of

from posenc_jax.encodings.alibi import ALiBi, alibi_slopes
from posenc_jax.encodings.attention import attend
from posenc_jax.encodings.base import Dims, Geometry
from posenc_jax.encodings.forgetting import FoX
from posenc_jax.encodings.rope import RoPE


def log_gates(params, b, h, i, j):
    """The logarithm of the product of the gates of the tokens after j, up to i."""
    total = 0.0
    for t in sequence_of(b, i):
        if t > j:
            z = sum(X[b, t, m] * params["weight"][m, h] for m in range(DIMS.d_model)) + params["bias"][h]
            total += np.log(1 / (1 + np.exp(-z)))
    return total


def test_logits_are_the_papers():
    encoding = FoX()
    params = params_of(encoding)

    def logit(b, h, i, j):
        return Q[b, h, i] @ K[b, key_head(h), j] / np.sqrt(DIMS.head_dim) + log_gates(params, b, h, i, j)

    check((encoding,), (params,), logit)


def test_gates_can_be_scaled_like_products():
    encoding = FoX(scaled=True)
    params = params_of(encoding)

    def logit(b, h, i, j):
        return (Q[b, h, i] @ K[b, key_head(h), j] + log_gates(params, b, h, i, j)) / np.sqrt(DIMS.head_dim)

    check((encoding,), (params,), logit)


def test_composed_with_rope_both_act():
    encoding, rope = FoX(), RoPE(base=50.0)
    params = params_of(encoding)
    frequencies = 50.0 ** (-np.arange(2) / 2)

    def logit(b, h, i, j):
        query = turned(Q[b, h, i], i * frequencies, "interleaved")
        product = query @ turned(K[b, key_head(h), j], j * frequencies, "interleaved")
        return product / np.sqrt(DIMS.head_dim) + log_gates(params, b, h, i, j)

    check((encoding, rope), (params, {}), logit)


def test_equal_gates_are_alibi():
    """log f = -slope in every head."""
    with jax.enable_x64(True):
        q, k, v = (np.random.default_rng(i).normal(size=(2, 4, 6, 4)) for i in range(3))
        gates = -np.broadcast_to(alibi_slopes(4), (2, 6, 4))
        geometry = Geometry.of_length(6, num_heads=4, causal=True)
        params = FoX().init(jax.random.key(0), Dims(16, 4, 4, 4, 1, 16))

        @jax.jit
        def both(q, k, v):
            got = attend(q, k, v, (FoX(),), (params,), geometry, (gates,))
            return got, attend(q, k, v, (ALiBi(),), ({},), geometry)

        np.testing.assert_allclose(*both(q, k, v), atol=1e-12)


def test_initial_gates():
    """The bias is 0 in the authors' code and 5 in x-transformers: gates of 1/2 and of 0.9933."""
    dims = Dims(256, 4, 2, 64, 1, 16)
    for bias, gate in ((0.0, 0.5), (5.0, 0.9933071490757153)):
        encoding = FoX(bias_init=bias)
        params = initial(encoding, dims)
        assert params["weight"].shape == (256, 4)
        assert 0.018 < float(params["weight"].std()) < 0.022
        terms = encoding.token_terms(params, jnp.zeros((1, 2, 256), jnp.bfloat16), None)
        assert terms.dtype == jnp.float32
        np.testing.assert_allclose(np.exp(terms), np.full((1, 2, 4), gate), rtol=1e-6)
