import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from planes import turned
from rows_of_tokens import DIMS, K, Q, X, check, key_head, noise, params_of, sequence_of

from posenc_jax.encodings.data_dependent.carope import CARoPE
from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry
from posenc_jax.encodings.rotary.rope import RoPE


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_logits_are_the_papers(layout):
    encoding = CARoPE(layout=layout)
    params = params_of(encoding)

    def phases(b, h, i):
        total = np.zeros(DIMS.head_dim // 2)
        for t in sequence_of(b, i):
            z = X[b, t] @ params["weight"][:, h] + params["bias"][h]
            f = 1 / (np.log1p(np.exp(z)) + 1)
            total += [f**plane for plane in range(DIMS.head_dim // 2)]
        return total

    def logit(b, h, i, j):
        q = turned(Q[b, h, i], phases(b, h, i), layout)
        return q @ turned(K[b, key_head(h), j], phases(b, h, j), layout) / np.sqrt(DIMS.head_dim)

    check((encoding,), (params,), logit)


@pytest.mark.parametrize(("base", "head_dim"), [(10000.0, 8), (10000.0, 64), (5e5, 4)])
def test_starts_as_rope(base, head_dim):
    """Whatever the tokens are."""
    dims = Dims(12, 2, 1, head_dim, 1, 16)
    encoding, geometry = CARoPE(base), Geometry.of_length(7, num_heads=2, causal=True)
    q, x = noise(1, 2, 7, head_dim).astype(np.float32), noise(1, 7, 12).astype(np.float32)
    k, v = noise(2, 1, 1, 7, head_dim).astype(np.float32)
    params = initial(encoding, dims)
    assert params["weight"].shape == (12, 2)
    terms = encoding.token_terms(params, jnp.asarray(x), None)

    @jax.jit
    def both(q, k, v, params, terms):
        want = attend(q, k, v, (RoPE(base),), ({},), geometry)
        return attend(q, k, v, (encoding,), (params,), geometry, (terms,)), want

    np.testing.assert_allclose(*both(q, k, v, params, terms), atol=2e-5)
