import math

import jax
import numpy as np
import pytest
from sides import geometry_at

from posenc_jax.encodings.additive.log_cpb import LogCPB
from posenc_jax.encodings.interface.base import Sequence
from posenc_jax.encodings.interface.slots import geometries
from posenc_jax.encodings.positions.grid import Grid


def noise(axes):
    rng = np.random.default_rng(0)
    return {"weight_0": rng.normal(size=(axes, 5)), "bias_0": rng.normal(size=5), "weight_1": rng.normal(size=(5, 3))}


def value(params, offsets, window, coordinates):
    """The bias of one pair, ``[H]``; offsets are query minus key."""
    x = []
    for d, size in zip(offsets, window, strict=True):
        x.append(
            math.copysign(math.log2(abs(d / (size - 1) * 8) + 1) / math.log2(8), d)
            if coordinates == "log2"
            else math.copysign(math.log(1 + abs(d)), d)
        )
    hidden = np.maximum(np.array(x) @ params["weight_0"] + params["bias_0"], 0)
    return 16 / (1 + np.exp(-hidden @ params["weight_1"]))


@pytest.mark.parametrize("coordinates", ["log2", "ln"])
def test_rows_and_columns(coordinates):
    window, params = (3, 5), noise(2)
    encoding, tokens = LogCPB(window, coordinates, width=5), Sequence.of_length(7)
    _, geometry = geometries((Grid(width=4), encoding), tokens, tokens, num_heads=3, contiguous=True)
    with jax.enable_x64(True):
        got = np.asarray(jax.jit(lambda p: encoding.bias(p, geometry))(params))
    for i, j in np.ndindex(7, 7):
        want = value(params, (i // 4 - j // 4, i % 4 - j % 4), window, coordinates)
        np.testing.assert_allclose(got[0, :, i, j], want, rtol=1e-9)


def test_plain_positions():
    params, encoding, rows = noise(1), LogCPB((9,), width=5), (np.array([[3, 40]]), np.array([[0, 3, 95]]))
    assert encoding.position_axes is None
    assert LogCPB().position_axes == 2
    with jax.enable_x64(True):
        geometry = geometry_at(*rows)
        got = np.asarray(jax.jit(lambda p: encoding.bias(p, geometry))(params))
        for i, j in np.ndindex(2, 3):
            want = value(params, (int(rows[0][0, i] - rows[1][0, j]),), (9,), "log2")
            np.testing.assert_allclose(got[0, :, i, j], want, rtol=1e-9)
