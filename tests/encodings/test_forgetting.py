import jax.numpy as jnp
import numpy as np
from initial import initial
from rows_of_tokens import DIMS, K, Q, X, check, key_head, params_of, sequence_of

from posenc_jax.encodings.additive.forgetting import FoX
from posenc_jax.encodings.interface.base import Dims


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


def test_initial_gates():
    """The bias is 0 in the authors' code and 5 in x-transformers: gates of 1/2 and of 0.9933."""
    for bias, gate in ((0.0, 0.5), (5.0, 0.9933071490757153)):
        encoding = FoX(bias_init=bias)
        params = initial(encoding, Dims(8, 4, 2, 2, 1, 16))
        terms = encoding.token_terms(params, jnp.zeros((1, 2, 8), jnp.bfloat16), None)
        np.testing.assert_allclose(np.exp(terms), np.full((1, 2, 4), gate), rtol=1e-6)
