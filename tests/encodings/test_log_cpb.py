import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from sides import geometry_at

from posenc_jax.encodings.base import Dims, Sequence
from posenc_jax.encodings.grid import Grid
from posenc_jax.encodings.log_cpb import LogCPB
from posenc_jax.encodings.slots import geometries

DIMS = Dims(d_model=12, num_heads=3, num_kv_heads=3, head_dim=4, num_layers=1, max_len=16)


def noise(axes):
    rng = np.random.default_rng(0)
    return {
        "weight_0": rng.normal(size=(axes, 5)),
        "bias_0": rng.normal(size=5),
        "weight_1": rng.normal(size=(5, 3)),
    }


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
    single = jax.jit(lambda p: encoding.bias(p, geometry))(jax.tree.map(np.float32, params))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, got, rtol=2e-5)


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


def test_parameters():
    params = initial(LogCPB(), DIMS)
    assert {name: p.shape for name, p in params.items()} == {
        "weight_0": (2, 512),
        "bias_0": (512,),
        "weight_1": (512, 3),
    }
    assert not params["bias_0"].any()
    for name in ("weight_0", "weight_1"):
        assert float(params[name].std()) == pytest.approx(0.02, rel=0.1)
    assert not np.array_equal(params["weight_0"][0], params["weight_1"][:, 0])
