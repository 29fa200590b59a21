import jax
import numpy as np
import pytest

from posenc_jax.encodings import LearnedAxes, Sequence

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
