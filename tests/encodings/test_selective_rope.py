import jax
import numpy as np
import pytest
from initial import initial
from planes import turned
from rows_of_tokens import DIMS, K, Q, X, check, key_head, noise, params_of, sequence_of

from posenc_jax.encodings.data_dependent.selective_rope import SelectiveRoPE
from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry
from posenc_jax.encodings.rotary.rope import RoPE

PLANES = DIMS.head_dim // 2


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def normalised(x):
    parts = x.reshape(DIMS.num_heads, -1)
    return np.concatenate([part / np.sqrt((part**2).sum() + 1e-6) for part in parts])


def phases(encoding, params, b, h, i):
    tokens, total = sequence_of(b, i), np.zeros(PLANES)
    projected = [normalised(X[b, t]) @ params["down"] @ params["up"][:, h] for t in tokens]
    for n, t in enumerate(tokens):
        a = sum(params["kernel"][s, h] * projected[n - s] for s in range(encoding.kernel_size) if n >= s)
        if encoding.silu:
            a = a * sigmoid(a)
        if encoding.offset:
            a = a + np.exp(params["offset"][h])
        if encoding.gate:
            a = a * sigmoid(normalised(X[b, t]) @ params["gate_weight"][:, h] + params["gate_bias"][h])
        total += a
    return total * [encoding.base ** (-2 * plane / DIMS.head_dim) for plane in range(PLANES)]


@pytest.mark.parametrize(
    "encoding",
    [
        SelectiveRoPE(rank=3, base=20.0),
        SelectiveRoPE(kernel_size=2, silu=True, offset=True, gate=True),
        pytest.param(SelectiveRoPE(silu=True), marks=pytest.mark.slow),
    ],
)
def test_logits_are_those_of_the_authors_code(encoding):
    params = params_of(encoding)

    def logit(b, h, i, j):
        q = turned(Q[b, h, i], phases(encoding, params, b, h, i), "half")
        return q @ turned(K[b, key_head(h), j], phases(encoding, params, b, h, j), "half") / np.sqrt(DIMS.head_dim)

    check((encoding,), (params,), logit)


def test_it_starts_close_to_no_rotation_and_with_the_offset_to_rope():
    dims = Dims(64, 4, 2, 16, 1, 16)
    geometry = Geometry.of_length(7, num_heads=4, causal=True)
    q, x = noise(1, 4, 7, 16).astype(np.float32), noise(1, 7, 64).astype(np.float32)
    k, v = noise(2, 1, 2, 7, 16).astype(np.float32)
    for encoding, like in ((SelectiveRoPE(), ()), (SelectiveRoPE(offset=True), (RoPE(500000.0, "half"),))):
        params = initial(encoding, dims)

        @jax.jit
        def both(params, x, encoding=encoding, like=like):
            terms = encoding.token_terms(params, x, None)
            got = attend(q, k, v, (encoding,), (params,), geometry, (terms,))
            return got, attend(q, k, v, like, ({},) * len(like), geometry)

        np.testing.assert_allclose(*both(params, x), atol=1e-3)
