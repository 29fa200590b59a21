import numpy as np
import pytest
from planes import turned
from rows_of_tokens import DIMS, K, Q, X, check, key_head, params_of

from posenc_jax.encodings import RePo

PLANES = DIMS.head_dim // 2


@pytest.mark.parametrize("encoding", [RePo(width=3, base=20.0), RePo(layout="interleaved")])
def test_logits_are_those_of_the_authors_code(encoding):
    params = params_of(encoding)

    def angles(b, h, t):
        gate, content = X[b, t] @ params["gate"], X[b, t] @ params["content"]
        position = (gate / (1 + np.exp(-gate)) * content) @ params["position"][:, h]
        return [position * encoding.base ** (-2 * plane / DIMS.head_dim) for plane in range(PLANES)]

    def logit(b, h, i, j):
        q = turned(Q[b, h, i], angles(b, h, i), encoding.layout)
        return q @ turned(K[b, key_head(h), j], angles(b, h, j), encoding.layout) / np.sqrt(DIMS.head_dim)

    check((encoding,), (params,), logit)
