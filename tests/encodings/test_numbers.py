import math

import jax
import numpy as np

from posenc_jax.encodings import FoNE, Sequence, XVal

TOKENS = np.array([[4, 7, 7, 1], [7, 4, 4, 7]])
VALUES = np.array([[5.0, 18.0, -123.456, np.nan], [0.0, 3.0, 3.0, 99999.99999]])


def embed(encoding, x, values=VALUES):
    with jax.enable_x64(True):
        return np.asarray(encoding.embed({}, x, Sequence.of_length(4, tokens=TOKENS, attributes=values[..., None])))


def test_a_pair_for_every_digit(random):
    """cos and sin of 2 pi v / T for T = 10^(1-a) .. 10^b, then zeros; of tokens that are no numbers nothing."""
    x = random.normal(size=(2, 4, 18))
    got = embed(FoNE(number=7, before=5, after=3), x) - x
    for b, t in np.ndindex(2, 4):
        pairs = [f(2 * math.pi * VALUES[b, t] / 10.0**i) for i in range(-2, 6) for f in (math.cos, math.sin)]
        want = pairs if TOKENS[b, t] == 7 else [0] * 16
        np.testing.assert_allclose(got[b, t], [*want, 0, 0], atol=1e-9)


def test_the_embedding_of_a_number_is_scaled(random):
    x = random.normal(size=(2, 4, 6))
    got = embed(XVal(number=7), x)
    for b, t in np.ndindex(2, 4):
        np.testing.assert_allclose(got[b, t], x[b, t] * (VALUES[b, t] if TOKENS[b, t] == 7 else 1), atol=1e-9)
