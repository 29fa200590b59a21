import numpy as np
import pytest
from initial import initial, shapes_of
from planes import turned
from rows_of_tokens import DIMS, K, Q, X, check, key_head, params_of

from posenc_jax.encodings import Dims, RePo

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


def test_initialisation():
    dims = Dims(64, 4, 2, 16, 1, 16)
    assert {name: p.shape for name, p in shapes_of(RePo(), dims).items()} == {
        "gate": (64, 8),
        "content": (64, 8),
        "position": (8, 4),
    }
    assert 0.018 < float(initial(RePo(width=64), dims)["gate"].std()) < 0.022
    with pytest.raises(ValueError, match="turns planes of two dimensions, so head_dim = 5 must be even"):
        RePo().check(Dims(20, 4, 2, 5, 1, 16))
