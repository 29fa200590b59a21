import jax
import numpy as np
import pytest
from initial import initial

from posenc_jax.encodings import Dims, LearnedAxes, Sequence

RANDOM = np.random.default_rng(0)
AT = np.array([[[0, 0], [2, 1], [1, 3]], [[2, 3], [0, 2], [7, -1]]], np.int32)
X = RANDOM.normal(size=(2, 3, 6))


@pytest.mark.parametrize(("combine", "last_first"), [("sum", False), ("concat", False), ("concat", True)])
def test_rows_are_put_together(combine, last_first):
    encoding, width = LearnedAxes((3, 4), combine, last_first), 6 if combine == "sum" else 3
    params = {"axis_0": RANDOM.normal(size=(3, width)), "axis_1": RANDOM.normal(size=(4, width))}

    def program(params, x, at):
        return encoding.embed(params, x, Sequence(at, np.array([3, 3])))

    with jax.enable_x64(True):
        got = np.asarray(jax.jit(program)(params, X, AT))
    for b, s in np.ndindex(2, 3):
        y, x = min(AT[b, s, 0], 2), max(AT[b, s, 1], 0)
        parts = [params["axis_0"][y], params["axis_1"][x]]
        want = sum(parts) if combine == "sum" else np.concatenate(parts[::-1] if last_first else parts)
        np.testing.assert_allclose(got[b, s], X[b, s] + want, rtol=1e-12)


def test_parameters():
    dims = Dims(d_model=128, num_heads=2, num_kv_heads=2, head_dim=64, num_layers=1, max_len=16)
    assert initial(LearnedAxes((5, 7)), dims)["axis_1"].shape == (7, 128)
    table = initial(LearnedAxes((5, 70), "concat"), dims)["axis_1"]
    assert table.shape == (70, 64)
    assert float(table.std()) == pytest.approx(0.02, rel=0.1)


def test_what_cannot_be():
    with pytest.raises(ValueError, match=r"LearnedAxes.sizes = \(0, 3\) must have a number of rows, at least 1"):
        LearnedAxes((0, 3))
    message = r"gives each of 3 axes an equal part of d_model = 64, which must be a multiple of 3: or use combine='sum'"
    with pytest.raises(ValueError, match=message):
        LearnedAxes((4, 4, 4), "concat").check(Dims(64, 2, 2, 32, 1, 16))
