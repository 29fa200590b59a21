import dataclasses
import math

import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, FoPE

DIMS = Dims(d_model=64, num_heads=4, num_kv_heads=2, head_dim=16, num_layers=2, max_len=64)


def series(wave, p, frequencies, matrix, k):
    return sum(matrix[j][k] * wave(p * frequencies[j]) for j in range(len(frequencies)))


def paper(x, p, frequencies, sin_matrix, cos_matrix, rest):
    """One vector, in the half layout."""
    out, half = list(x), len(x) // 2
    for k in range(half):
        if k < len(sin_matrix[0]):
            sin = series(math.sin, p, frequencies, sin_matrix, k)
            cos = series(math.cos, p, frequencies, cos_matrix, k)
        else:
            sin, cos = rest, 1.0
        a, b = x[k], x[k + half]
        out[k], out[k + half] = a * cos - b * sin, b * cos + a * sin
    return out


@pytest.mark.parametrize(("padding", "rest"), [("ones", 1.0), ("identity", 0.0)])
def test_the_papers_formula_by_head(random, padding, rest):
    encoding = FoPE(original_length=100, padding=padding)
    frequencies = [w for w in (10000.0 ** (-k / 8) for k in range(8)) if w >= 2 * math.pi / 100]
    assert len(frequencies) == 3
    params = {name: random.normal(size=(2, 3, 3)) for name in ("sin", "cos")}
    q, k = random.normal(size=(1, 4, 3, 16)), random.normal(size=(1, 2, 3, 16))
    positions = np.array([[0, 3, 77]])
    for encode, x, group in ((encoding.encode_queries, q, 2), (encoding.encode_keys, k, 1)):
        with jax.enable_x64(True):
            got = jax.jit(lambda params, x, p, encode=encode: encode(params, x, p, None))(params, x, positions)
        for h, s in np.ndindex(x.shape[1:3]):
            matrices = (params[name][h // group] for name in ("sin", "cos"))
            want = paper(x[0, h, s], positions[0, s], frequencies, *matrices, rest)
            np.testing.assert_allclose(got[0, h, s], want, atol=1e-12)


# (head_dim, length) -> frequencies kept and planes, as the authors' configurations come out.
@pytest.mark.parametrize(
    ("head_dim", "length", "count", "planes"), [(64, 512, 16, 16), (64, 1024, 18, 16), (8, 7, 1, 1)]
)
def test_initial_matrices(head_dim, length, count, planes):
    dims = dataclasses.replace(DIMS, head_dim=head_dim, num_heads=16, num_kv_heads=16)
    quiet = initial(FoPE(original_length=length, gain=0), dims)
    step = math.ceil(count / planes)
    want = np.zeros((16, count, planes))
    for k in range(planes):
        if k * step < count:
            want[:, k * step, k] = 1
    for name in ("sin", "cos"):
        np.testing.assert_array_equal(quiet[name], want)
    noisy = initial(FoPE(original_length=length), dims, 1)
    noise = [noisy[name] - want for name in ("sin", "cos")]
    assert np.abs(noise[0] - noise[1]).max() > 0
    # torch's fans of an array [H, F, G] are F G and H G.
    want = 0.3 * math.sqrt(2 / (count * planes + 16 * planes))
    if count > 1:
        np.testing.assert_allclose([np.std(n) for n in noise], want, rtol=0.05)
    assert np.abs([n.mean() for n in noise]).max() < want
