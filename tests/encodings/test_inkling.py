"""InklingRelativeLogits and the relative position bias of Inkling 2 in transformers, pair by pair."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from rows_of_tokens import DIMS, K, Q, X, check, key_head, params_of

from posenc_jax.encodings import Inkling


def bias(encoding, params, b, h, i, j):
    distance = i - j
    if not 0 <= distance < encoding.extent:
        return 0.0
    mixture = [sum(X[b, i, m] * params["projection"][m, h, r] for m in range(8)) for r in range(encoding.width)]
    if encoding.clip is not None:
        mixture = [m * s for m, s in zip(mixture, params["stretch"][h])]
        norm = np.sqrt(sum(m * m for m in mixture))
        mixture = [m * min(encoding.clip / (norm + 1e-6), 1) for m in mixture]
    return sum(m * params["profiles"][r, distance] for r, m in enumerate(mixture))


@pytest.mark.parametrize(
    "encoding",
    [Inkling(width=3, extent=3), Inkling(width=3, extent=20), Inkling(3, 4, clip=0.7), Inkling(2, 5, floor=3)],
)
def test_logits_are_those_of_the_model(encoding):
    params = params_of(encoding)

    def logit(b, h, i, j):
        growth = 1 if encoding.floor is None else 1 + 0.1 * np.log(max(1, (i + 1) / encoding.floor))
        product = Q[b, h, i] @ K[b, key_head(h), j] / np.sqrt(DIMS.head_dim)
        return growth * (product + bias(encoding, params, b, h, i, j))

    check((encoding,), (params,), logit)


def test_a_mixture_of_nothing_has_a_gradient():
    encoding = Inkling(2, 4, clip=1.0)
    params = initial(encoding, DIMS)
    slope = jax.grad(lambda x: encoding.token_terms(params, x, None).sum())(jnp.zeros((1, 2, DIMS.d_model)))
    np.testing.assert_allclose(slope[0, 0], params["projection"].sum(axis=(1, 2)), rtol=1e-6)
    assert initial(encoding, DIMS)["stretch"].tolist() == [[1, 1]] * 4
