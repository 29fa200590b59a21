"""Similarity by offset of any encoding: closed form only where the encoding does as the formula says."""

import math

import numpy as np
import pytest

from posenc_jax.analysis import views
from posenc_jax.analysis.similarities import closed_form, similarities
from posenc_jax.encodings import Dims, Learned, RoPE, Sinusoidal, parse

DIMS = Dims(8, 1, 1, 8, 1, 80)


class Bent(Sinusoidal):
    """Not the vectors that its frequencies promise."""

    def embed(self, params, x, sequence):
        return super().embed(params, x, sequence) + 0.5


def test_the_closed_form_and_what_is_measured_agree():
    for encoding, kind in ((Sinusoidal(), "vectors"), (RoPE(rotary_dim=4), "content_logits")):
        (closed,) = similarities((encoding,), DIMS, 80)
        (measured,) = similarities((encoding,), DIMS, 80, "float32")
        assert (closed.kind, measured.kind) == (kind, kind)
        assert len(closed.frequencies) == 4
        assert measured.frequencies is None
        np.testing.assert_allclose(measured.values, closed.values, atol=2e-6)
        np.testing.assert_allclose(measured.to(5), closed.to(5), atol=2e-6)
        assert closed.nearest(5)[0] == measured.nearest(5)[0]


def test_an_encoding_that_does_otherwise_is_measured():
    assert closed_form((Bent(),), DIMS, 80) is not None
    (found,) = similarities((Bent(),), DIMS, 80)
    assert found.frequencies is None
    assert found.values[63] > similarities((Sinusoidal(),), DIMS, 80)[0].values[63]


def test_a_learned_table_and_its_nearest_rows():
    (found,) = similarities((Learned(),), DIMS, 80)
    rows = views.position_vectors((Learned(),), DIMS, np.arange(80)).astype(np.float64).tolist()
    each = [sum(map(math.prod, zip(rows[5], row))) / (math.hypot(*rows[5]) * math.hypot(*row)) for row in rows]
    np.testing.assert_allclose(found.to(5), each, atol=1e-6)
    nearest = max((p for p in range(80) if p != 5), key=lambda p: each[p])
    assert found.nearest(5) == (nearest, pytest.approx(each[nearest], abs=1e-6))


def test_biases_are_one_curve_a_head():
    dims = Dims(8, 2, 2, 4, 1, 30)
    first, second = similarities(parse("alibi"), dims, 30)
    assert [(b.kind, b.head) for b in (first, second)] == [("bias", 0), ("bias", 1)]
    np.testing.assert_allclose(second.values, -(2.0**-8) * np.arange(30))
    assert first.lobes.main_lobe is None
    assert first.to(5)[[4, 6]].tolist() == [-(2.0**-4)] * 2  # the later position is the query


@pytest.mark.parametrize(
    ("spec", "length", "message"),
    [
        ("sinusoidal", 1, "length = 1 must be at least 2"),
        ("learned", 3000, "length = 3000 must be at most 2048"),
        ("nope", 80, "no two positions can be compared: .*no encoding at all"),
    ],
)
def test_what_cannot_be_compared(spec, length, message):
    with pytest.raises(ValueError, match=message):
        similarities(parse(spec), DIMS, length)


@pytest.mark.parametrize(
    "text", ["pope", "t5(scaled=False)|rope", "rope(scaling=yarn(factor=8, original_length=16))", "tupe|rope"]
)
def test_logits_of_equal_contents_are_over_that_at_offset_0(text):
    found = next(one for one in similarities(parse(text), DIMS, 40) if one.kind == "content_logits")
    assert found.values[0] == pytest.approx(1)
    assert found.values.max() == pytest.approx(1)
