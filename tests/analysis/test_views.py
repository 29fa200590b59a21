"""What encodings look like, against plain loops over the formulas of the papers."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from posenc_jax.analysis import views
from posenc_jax.analysis.similarities import similarities
from posenc_jax.encodings import Dims, Learned, PositionalEncoding, init_slot, parse, sinusoidal
from posenc_jax.show.measure import measure, with_equal_contents


def dims(width: int, heads: int = 1, length: int = 32, kv: int | None = None) -> Dims:
    return Dims(width, heads, kv or heads, width // heads, 1, length, 64)


def sines(positions, width, base=1e4):
    rows = []
    for p in positions:
        row = []
        for k in range(width // 2):
            angle = int(p) / base ** (2 * k / width)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return np.array(rows)


def test_vectors_are_what_is_added():
    positions = [0, 5, 6, 68]
    found = views.position_vectors(parse("sinusoidal(scale=3.0)"), dims(8), positions, dtype="float64")
    np.testing.assert_allclose(found, 3 * sines(positions, 8), rtol=0, atol=1e-8)
    _, five, six, other = (row / np.linalg.norm(row) for row in found)
    assert round(float(five @ other), 6) == 0.947950
    assert round(float(five @ six), 6) == 0.883814
    assert views.position_vectors(parse("sinusoidal"), dims(8), positions).dtype == np.float32


def test_vectors_of_given_parameters():
    slot = (Learned(max_len=4),)
    params = init_slot(jax.random.key(7), slot, dims(6, length=4))
    found = views.position_vectors(slot, dims(6, length=4), [3, 0, 3], params=params)
    np.testing.assert_array_equal(found, np.asarray(params[0]["table"])[[3, 0, 3]])
    with pytest.raises(ValueError, match=r"position 4 is outside the learned table of 4 rows \(0 .. 3\)"):
        views.position_vectors(slot, dims(6, length=4), [4], params=params)


def test_equal_contents_under_rotations():
    found = views.content_logits(parse("rope(base=50.0)"), dims(16, heads=2, kv=1), 7, dtype="float64")
    assert found.shape == (2, 7, 7)
    for i in range(7):
        for j in range(7):
            expected = sum(math.cos((j - i) * 50.0 ** (-2 * k / 8)) for k in range(4)) / 4
            np.testing.assert_allclose(found[:, i, j], expected, rtol=0, atol=1e-8)


def test_equal_contents_where_the_score_is_replaced():
    found = views.content_logits(parse("rerope(window=3)"), dims(8), 9, dtype="float64")
    for i in range(9):
        for j in range(i + 1):
            distance = min(i - j, 3)
            expected = sum(math.cos(distance * 1e4 ** (-2 * k / 8)) for k in range(4)) / 4
            np.testing.assert_allclose(found[0, i, j], expected, rtol=0, atol=1e-8)


def test_bias_of_every_head():
    found = views.bias(parse("alibi"), dims(16, heads=4), 5)
    for h, slope in enumerate((1 / 4, 1 / 16, 1 / 64, 1 / 256)):
        for i in range(5):
            for j in range(5):
                assert found[h, i, j] == pytest.approx(-slope * abs(i - j))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sinusoidal", [1.0, 0.1, 0.01, 0.001]),
        ("sinusoidal(frequencies='tensor2tensor', layout='half', base=1000.0)", [1.0, 0.1, 0.01, 0.001]),
        ("rope(scaling=linear(factor=4))", [0.25, 0.025, 0.0025, 0.00025]),
        ("xpos", [1.0, 0.1, 0.01, 0.001]),
        ("rope(scaling=dynamic_ntk(factor=2, original_length=4), rotary_dim=4)", [1.0, 0.01]),
        ("rerope(rope=rope(base=16.0))", [1.0, 0.5, 0.25, 0.125]),
        ("self_extend", [1.0, 0.1, 0.01, 0.001]),
        ("string(shift=4, window=2)", [1.0, 0.1, 0.01, 0.001]),
        ("fope(original_length=100)", [1.0, 0.1]),  # the others do not complete a turn
        ("pope(base=256.0)", [1.0, 0.5, 0.25, 0.125, 1 / 16, 1 / 32, 1 / 64, 1 / 128]),
        ("transformer_xl", [1.0, 0.1, 0.01, 0.001]),
        ("xlnet", [1.0, 0.1, 0.01, 0.001]),
        ("sandwich(width=4)", [0.01, 0.0001]),
        ("grid(width=4)|axial_rope", [1.0, 0.1, 1.0, 0.1]),
        ("grid(width=4, height=4)|mrope(base=1e4)", [1.0, 0.1, 0.01, 0.001]),
        ("grid(width=4)|sinusoidal_axes", [1.0, 0.01, 1.0, 0.01]),
        ("learned|rope", [1.0, 0.1, 0.01, 0.001]),
    ],
)
def test_frequencies(text, expected):
    np.testing.assert_allclose(views.frequencies(parse(text), dims(8)), expected, rtol=1e-12)


def test_frequencies_of_an_encoding_of_ones_own():
    """The hook is all that it takes: no class is known by name."""

    @dataclasses.dataclass(frozen=True)
    class Waves(PositionalEncoding):
        name = "waves"

        def frequencies_for(self, dims, length=None):
            return np.full(dims.d_model // 2, 0.5)

        def embed(self, params, x, sequence):
            pairs = x.shape[-1] // 2
            return x + sinusoidal(sequence.positions, 2 * pairs, frequencies=(0.5,) * pairs, dtype=x.dtype)

    assert views.frequencies((Waves(),), dims(8)).tolist() == [0.5] * 4
    (found,) = similarities((Waves(),), dims(8), 20)
    np.testing.assert_allclose(found.values, np.cos(0.5 * np.arange(20)), atol=1e-9)
    assert found.frequencies.tolist() == [0.5] * 4  # in closed form
    with pytest.raises(ValueError, match="alibi has no frequencies"):
        views.frequencies(parse("alibi"), dims(8))


def test_the_map_of_a_shift_turns_each_plane():
    one, seven = views.linear_maps(parse("sinusoidal"), dims(8), (1, 7))
    for shift, k in ((one, 1), (seven, 7)):
        expected = np.zeros((8, 8))
        for plane in range(4):
            turn = k * 1e4 ** (-2 * plane / 8)
            block = [[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]
            expected[2 * plane : 2 * plane + 2, 2 * plane : 2 * plane + 2] = block
        np.testing.assert_allclose(shift.matrix, expected, rtol=0, atol=1e-7)
        assert shift.residual < 1e-12


def test_rows_drawn_at_random_have_no_map():
    # More positions than dimensions, and fewer: fitting exactly is no merit where it is not measured.
    for length in (200, 12):
        (shift,) = views.linear_maps(parse("learned"), dims(16, length=length), (1,))
        assert shift.residual > 0.8
    with pytest.raises(ValueError, match=r"two positions at least, and up to max_len = 3 there are 1: take a smaller"):
        views.linear_maps(parse("learned"), dims(16, length=3), (2,))
    with pytest.raises(ValueError, match=r"no offsets are given: name one at least"):
        views.linear_maps(parse("sinusoidal"), dims(8), ())


def test_weights_of_equal_contents():
    products, biases = np.array([[[1.0, 2.0], [0.5, 0.0]]]), np.array([[[0.0, 9.0], [-1.0, 0.0]]])
    found = views.equal_content_weights(products, biases, causal=True)
    low = math.exp(0.5 - 1.0) / (math.exp(0.5 - 1.0) + 1)
    np.testing.assert_allclose(found, [[[1.0, 0.0], [low, 1 - low]]])
    both = views.equal_content_weights(None, biases, causal=False)
    np.testing.assert_allclose(both[0, 0], [1 / (1 + math.exp(9)), math.exp(9) / (1 + math.exp(9))])


def test_the_map_of_an_encoding_that_is_not_linear():
    """PoPE, D = 4: contents of norm 2 along each axis, the softplus of each, by hand in float64."""
    sizes, distance, phase = dims(4), np.arange(5)[None] - 4, 10000.0 ** (-np.arange(4) / 4)
    magnitudes = np.log1p(np.exp(2 * np.eye(4)))
    by_hand = sum((m**2 * np.cos(distance[0][:, None] * phase)).sum(1) for m in magnitudes) / 4
    found = views.content_logits(parse("pope"), sizes, 5, dtype="float64")[0, -1]
    np.testing.assert_allclose(found, by_hand / 4, rtol=1e-12)
    weights = with_equal_contents(measure("pope", parse("pope"), sizes, 5), 4).attention.weights[0, 0, -1]
    np.testing.assert_allclose(weights, np.exp(by_hand / 2) / np.exp(by_hand / 2).sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("view", "text", "message"),
    [
        ("position_vectors", "alibi", r"^alibi has no vectors added to the embeddings; it has biases of the logits$"),
        ("bias", "sinusoidal", r"no biases of the logits; it has vectors added to the embeddings and frequencies$"),
        ("content_logits", "t5", r"^t5 has no logits of equal contents, by queries and keys; it has biases"),
        ("bias", "shaw", r"shaw.* has no biases of the logits; it has nothing to show without contents, on which it"),
        ("bias", "nope", r"has no biases of the logits; it has nothing to show: it is no encoding at all$"),
        (
            "position_vectors",
            "abacus(digits=(1, 2))|learned",
            r"it has nothing to show without tokens, which decide its positions$",
        ),
    ],
)
def test_a_view_that_is_not_there(view, text, message):
    arguments = ([0, 1],) if view == "position_vectors" else (4,)
    with pytest.raises(ValueError, match=message):
        getattr(views, view)(parse(text), dims(8), *arguments)


def test_attention_maps_of_what_was_captured():
    def layer(value, **cross):
        return {"attention_weights": np.full((1, 2, 3, 3), value), **cross}

    cross = {"cross_attention_weights": np.ones((1, 2, 3, 4))}
    captured = {"encoder": {"layers": (layer(1), layer(2))}, "decoder": {"layers": (layer(3, **cross),)}}
    found = views.attention_maps(captured)
    assert {name: maps.shape for name, maps in found.items()} == {
        "encoder": (2, 1, 2, 3, 3),
        "decoder": (1, 1, 2, 3, 3),
        "cross": (1, 1, 2, 3, 4),
    }
    assert found["encoder"][1, 0, 0, 0, 0] == 2
