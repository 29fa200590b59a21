import math

import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, FourierBands, RandomFourier, Sequence

RANDOM = np.random.default_rng(0)
AT = RANDOM.uniform(-1, 1, (2, 3, 2))
TOKENS = Sequence(AT, np.array([3, 3]))
X = RANDOM.normal(size=(2, 3, 6))
DIMS = Dims(d_model=128, num_heads=2, num_kv_heads=2, head_dim=64, num_layers=1, max_len=16)


def embedded(encoding, params):
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda p, x: encoding.embed(p, x, TOKENS))(params, X))


@pytest.mark.parametrize("sines_first", [False, True])
def test_random_projections(sines_first):
    matrix = RANDOM.normal(size=(3, 2))
    got = embedded(RandomFourier(sines_first=sines_first), {"matrix": matrix})
    for b, s in np.ndindex(2, 3):
        angles = [2 * math.pi * sum(row[a] * AT[b, s, a] for a in range(2)) for row in matrix]
        cos, sin = [math.cos(u) for u in angles], [math.sin(u) for u in angles]
        np.testing.assert_allclose(got[b, s] - X[b, s], sin + cos if sines_first else cos + sin, atol=1e-9)


def test_bands_in_octaves():
    weight = RANDOM.normal(size=(12, 6))
    got = embedded(FourierBands(bands=3), {"weight": weight})
    for b, s in np.ndindex(2, 3):
        features = []
        for a in range(2):
            for band in range(3):
                angle = 2**band * math.pi * AT[b, s, a]
                features += [math.sin(angle), math.cos(angle)]
        np.testing.assert_allclose(got[b, s] - X[b, s], features @ weight, atol=1e-9)


def test_bands_in_equal_steps():
    """Perceiver's code: positions, then the sines of all axes, then the cosines, of linspace(1, n/2) times pi."""
    weight = RANDOM.normal(size=(14, 6))
    got = embedded(FourierBands(bands=3, resolution=9), {"weight": weight})
    for b, s in np.ndindex(2, 3):
        angles = [math.pi * f * AT[b, s, a] for a in range(2) for f in (1.0, 2.75, 4.5)]
        features = [*AT[b, s], *map(math.sin, angles), *map(math.cos, angles)]
        np.testing.assert_allclose(got[b, s] - X[b, s], features @ weight, atol=1e-9)


def test_parameters():
    matrix = initial(RandomFourier(scale=3.0), DIMS)["matrix"]
    assert matrix.shape == (64, 2)
    assert float(matrix.std()) == pytest.approx(3, rel=0.15)
    assert RandomFourier().frozen == {"matrix"}
    assert initial(FourierBands(), DIMS)["weight"].shape == (40, 128)
    assert initial(FourierBands(bands=64, resolution=224), DIMS)["weight"].shape == (258, 128)


def test_odd_widths_are_refused():
    with pytest.raises(ValueError, match=r"pairs a sine with a cosine, so d_model = 7 must be even"):
        RandomFourier().check(Dims(7, 1, 1, 7, 1, 16))
