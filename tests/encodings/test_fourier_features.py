import math

import jax
import numpy as np
import pytest

from posenc_jax.encodings import FourierBands, RandomFourier, Sequence

RANDOM = np.random.default_rng(0)
AT = RANDOM.uniform(-1, 1, (2, 3, 2))
TOKENS = Sequence(AT, np.array([3, 3]))
X = RANDOM.normal(size=(2, 3, 6))


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
