"""What `posenc show` draws: its numbers against loops, known properties, and files that are equal when made again."""

import json
import math
import re

import numpy as np
import pytest

from posenc_jax.drawing.interactive import figure
from posenc_jax.drawing.printed import render
from posenc_jax.encodings import Dims, parse
from posenc_jax.files.names import file_name
from posenc_jax.show import files, properties, vector_plots
from posenc_jax.show.lessons import numbered
from posenc_jax.show.lessons.running import run
from posenc_jax.show.measure import measure, with_flow
from posenc_jax.show.measured import (
    Chosen,
    Flow,
    MeasuredAttention,
    MeasuredEncoding,
    PairsOfExample,
    ReadPositions,
    Sections,
    by_offset,
    by_parts,
    distances,
)
from posenc_jax.show.presets import WORDS
from posenc_jax.show.properties import NAMES
from posenc_jax.show.views import VIEWS, plots_of, views_of


def sines(count, width):
    angles = np.arange(count)[:, None] / 1e4 ** (2 * np.arange(width // 2)[None] / width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(count, width)


def example(label="sinusoidal", count=20, width=8):
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    return MeasuredEncoding(
        label,
        vectors=sines(count, width),
        bias=np.stack([-0.5 * distance, -0.25 * distance]),
        frequencies=1e4 ** (-2 * np.arange(width // 2) / width),
        shifts={1: 1e-15, 2: 0.0},
        flow=Flow(("a", "b"), np.ones((2, width)), 1 + sines(2, width)),
        attention=MeasuredAttention("decoder", np.full((2, 2, 3, 3), 1 / 3), ("a", "b", "c"), ("a", "b", "c"), "maps"),
        pooling=MeasuredAttention("", np.full((1, 1, 1, 3), 1 / 3), ("a",), ("a", "b", "c"), "pooled"),
        contents=MeasuredAttention("with one content", np.full((1, 2, 8, 8), 1 / 8), about="one content"),
        positions=ReadPositions(("7", "9"), ("learned", "rope"), np.array([[0.0, 1.0], [0.0, 0.0]]), "An example."),
        pairs=PairsOfExample(("a", "b"), np.array([[[0.0, 1.0], [-1.0, 0.0]]]), "bias of the logit", "An example."),
        sections=Sections(("a", "b"), (np.array([[1.0, 0.5], [np.nan, 1.0]]),), ("a",), np.array([[1.0, np.nan]])),
    )


def holds(measured):
    return {p.name: p.holds for p in properties.properties(measured)}


def test_the_alias_of_position_5_is_found():
    found = {p.name: p for p in properties.properties(MeasuredEncoding("s", vectors=sines(128, 8)))}
    rows = sines(128, 8)
    far, near = math.dist(rows[5], rows[68]), math.dist(rows[5], rows[6])
    assert far < near
    assert found["neighbours nearest"].holds is False
    assert found["neighbours nearest"].measured.endswith(f"nearest to 5 is 68 ({far:.4g}), not 6 ({near:.4g})")
    assert found["constant norm"].measured == "2 = sqrt(8 / 2)"


def test_the_properties_of_sines_in_many_dimensions():
    measured = MeasuredEncoding("s", vectors=sines(50, 128), shifts={1: 2e-15, 20: 4e-15})
    assert holds(measured) == dict.fromkeys(NAMES, True)
    assert properties.properties(measured)[4].measured == "relative residual 4e-15 at most, for k = 20"


def test_the_properties_of_rows_at_random():
    rows = np.random.default_rng(0).normal(size=(50, 16))
    rows[40] = rows[7]
    measured = MeasuredEncoding("learned", vectors=rows, shifts={1: 1.02})
    assert holds(measured) == dict.fromkeys(NAMES, False)
    assert properties.properties(measured)[1].measured == "smallest distance 0, between 7 and 40"


def test_no_property_without_vectors():
    assert holds(MeasuredEncoding("alibi", bias=np.zeros((1, 3, 3)))) == dict.fromkeys(NAMES)
    assert properties.table(MeasuredEncoding("alibi")).notes == ()
    waves = properties.table(MeasuredEncoding("xl", frequencies=np.array([1.0])))
    assert (len(waves.entries), waves.notes) == (1, ()), "frequencies are those of no head"


def test_without_vectors_the_logits_are_told():
    kernel = np.cos(np.subtract.outer(np.arange(9.0), np.arange(9.0)))  # one plane, of frequency 1
    rope = MeasuredEncoding("rope", products=kernel[None], frequencies=np.array([1.0]))
    same, beside, turns = properties.table(rope).entries
    assert same == ("logits by distance", "yes", "those at the same distance differ by 0 of the largest")
    assert beside == (
        "neighbours largest",
        "no",
        f"{math.cos(1):.4g} at distance 1, {math.cos(6):.4g} at most beyond it, at 6",
    )
    assert turns == ("turns", "-", "1 planes, in 6.2832 to 6.2832 positions")
    falling = -np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    assert [p.holds for p in properties.of_logits(MeasuredEncoding("alibi", bias=falling[None]))] == [True, True]
    falling[5, 3] = 7.0
    assert [p.holds for p in properties.of_logits(MeasuredEncoding("odd", bias=falling[None]))] == [False, False]


def test_distances_and_means_by_offset():
    rows = np.random.default_rng(1).normal(size=(5, 3))
    expected = [[math.dist(a, b) for b in rows] for a in rows]
    np.testing.assert_allclose(distances(rows), expected, rtol=1e-14)
    matrices = np.random.default_rng(2).normal(size=(2, 4, 4))
    mean, low, high = by_offset(matrices, [0, -3])
    assert mean[0] == pytest.approx(sum(matrices[n, i, i] for n in range(2) for i in range(4)) / 8)
    assert mean[1] == pytest.approx((matrices[0, 3, 0] + matrices[1, 3, 0]) / 2)
    assert (low <= mean).all()
    assert (mean <= high).all()


def test_principal_components_of_a_plane():
    rng = np.random.default_rng(3)
    plane = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    flat = rng.normal(size=(30, 2)) * [5.0, 1.0]
    points, shares = vector_plots.principal_components(flat @ plane.T + 7.0)
    assert sum(shares) == pytest.approx(1.0)
    centred = flat - flat.mean(axis=0)
    np.testing.assert_allclose(distances(points), distances(centred), atol=1e-10)


def test_similarity_is_the_kernel():
    (plot,) = plots_of([example(count=30)], "kernel", Chosen((0,)))
    for offset, value in zip(plot.lines[0].x, plot.lines[0].y, strict=True):
        expected = sum(math.cos(offset * 1e4 ** (-2 * k / 8)) for k in range(4)) / 4
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kinds", [1, pytest.param(9, marks=pytest.mark.slow)])
def test_every_figure_is_the_same_when_made_again(kinds):
    encodings = [example(), MeasuredEncoding("alibi", bias=np.zeros((1, 4, 4)))]
    every = [[plot for view in VIEWS for plot in plots_of(encodings, view, Chosen((0, 10)))] for _ in range(2)]
    first, second = every
    assert {plot.view for plot in first} == set(views_of(example())) == set(VIEWS)
    assert len({plot.slug for plot in first}) == len(first)
    pages = [files.page("t", "f", made, [properties.table(example())]) for made in every]
    assert pages[0] == pages[1]
    # One of each kind of plot: they share all code, and the kinds share most.
    for i in list({type(plot): i for i, plot in enumerate(first)}.values())[:kinds]:
        one, two = render(first[i]), render(second[i])
        assert one["png"].startswith(b"\x89PNG")
        assert one["pdf"].startswith(b"%PDF")
        assert one == two


def test_the_page_needs_nothing_else():
    made = [plot for view in VIEWS for plot in plots_of([example("<b>")], view, Chosen((0,)))]
    text = files.page("<title>", "f", made, [properties.table(example())])
    assert "<h1>&lt;title&gt;</h1>" in text
    assert "default-src 'none'" in text
    figures = json.loads(re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.S)[1])
    assert list(figures) == [plot.slug for plot in made]
    for plot in made:
        assert f'<div class="figure" id="{plot.slug}" ' in text
    names = re.findall(r'<[^>]* id="([^"]*)"', re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    assert len(set(names)) == len(names)
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not re.search(r"(src|href)=", outside)
    assert len(figures[f"{file_name('<b>')}-attention-decoder"]["data"]) == 4
    assert figures["kernel"]["data"][-1]["y"][0] == 1.0


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_one_encoding_is_one_figure(view):
    (plot,) = plots_of([example()], view, Chosen((0, 3)))
    assert plot.view == view


def test_a_sine_and_a_cosine_have_a_line_each():
    one = example(count=20, width=64)
    (plot,) = plots_of([one], "lines", Chosen((0, 7)))
    assert list(plot.panels) == ["position 0", "position 7"]
    sine, cosine = plot.panels["position 7"]
    np.testing.assert_array_equal(sine.x, range(0, 64, 2))
    np.testing.assert_array_equal(cosine.x, range(1, 64, 2))
    np.testing.assert_array_equal(cosine.y, one.vectors[7, 1::2])
    halves = MeasuredEncoding("t", np.hstack([one.vectors[:, 0::2], one.vectors[:, 1::2]]), frequencies=one.frequencies)
    (plot,) = plots_of([halves], "lines", Chosen((7,)))
    assert [line.name for line in plot.lines] == ["sine", "cosine"]
    np.testing.assert_array_equal(plot.lines[1].x, range(32, 64))
    (plot,) = plots_of([MeasuredEncoding("learned", one.vectors)], "lines", Chosen((7,)))
    assert [(line.name, len(line.x)) for line in plot.lines] == [("", 64)]


def test_waves_are_columns_of_the_heat_map():
    one = example(count=20, width=64)
    (plot,) = plots_of([one], "waves", Chosen())
    wavelengths = [f"{math.tau * 1e4 ** (k / 32):.4g}" for k in (0, 4, 8, 16)]
    dimensions = [(0, 1), (8, 9), (16, 17), (32, 33)]
    assert list(plot.panels) == [
        f"dimensions {a} and {b}, wavelength {wave}" for (a, b), wave in zip(dimensions, wavelengths, strict=True)
    ]
    for line, column in zip(plot.lines, np.ravel(dimensions), strict=True):
        np.testing.assert_array_equal(line.y, one.vectors[:, column])
    (plot,) = plots_of([one], "waves", Chosen(dimensions=(9, 2)))
    assert [line.label for line in plot.lines] == ["dimension 2", "dimension 9"]
    (plot,) = plots_of([MeasuredEncoding("learned", one.vectors)], "waves", Chosen())
    assert list(plot.panels) == ["dimension 0", "dimension 8", "dimension 16", "dimension 32"]


def test_frequencies_on_plain_axes_lie_on_the_exponential():
    (plot,) = plots_of([example(width=8)], "exp", Chosen())
    curve, dots = plot.lines
    assert not plot.y.logarithmic
    assert (curve.drawn, dots.drawn) == ("line", "points")
    np.testing.assert_allclose(dots.y, [1, 0.1, 0.01, 0.001])
    np.testing.assert_array_equal(dots.x, [0, 2, 4, 6])
    np.testing.assert_allclose(curve.y, [math.exp(-x * math.log(1e4) / 8) for x in curve.x])
    assert plot.caption.endswith("All lie on exp(-c x) with c = ln(10,000)/8.")
    other = MeasuredEncoding("x", frequencies=np.array([1.0, 0.5, 0.4]))
    (plot,) = plots_of([other], "exp", Chosen())
    assert [line.drawn for line in plot.lines] == ["both"]


def test_the_flow_adds_positions_to_words():
    words, dims = ("the", "fox", "the"), Dims(4, 1, 1, 4, 1, 8, 16)
    one = with_flow(measure("sinusoidal", parse("sinusoidal"), dims, 8), parse("sinusoidal"), dims, words)
    np.testing.assert_array_equal(one.flow.embeddings[0], one.flow.embeddings[2])
    np.testing.assert_allclose(one.flow.sums, one.flow.embeddings + sines(3, 4), atol=1e-6)
    (plot,) = plots_of([one], "flow", Chosen())
    texts = [note["text"] for note in figure(plot)["layout"]["annotations"]]
    assert [text for text in texts if text in ("+", "=", "→", "encoder")] == ["+", "=", "→", "encoder"]
    assert plot.rows[0] == ("the →", "fox →", "the →")
    # The words of the lesson have the numbers of its page.
    slot, words, fox = parse("sinusoidal"), tuple(WORDS.split()), {}
    run(numbered("fox")[1].body, fox)
    assert words == tuple(fox["words"])
    one = with_flow(measure("sinusoidal", slot, dims, 8), slot, dims, words)
    np.testing.assert_allclose(one.flow.embeddings, fox["scaled"], atol=1e-6)
    np.testing.assert_allclose(one.flow.sums, fox["added"], atol=1e-6)
    none = with_flow(measure("rope", parse("rope"), dims, 8), parse("rope"), dims, words)
    assert "flow" not in views_of(none)


def test_nearest_points_by_how_far_away_they_stand():
    points = np.array([[0.0, 0], [5, 0], [0, 1], [5, 1], [0, 2]])
    assert vector_plots.nearest_offsets(points, 1) == {2: 5}
    rng = np.random.default_rng(4)
    points, expected = rng.normal(size=(20, 2)), {}
    for i, a in enumerate(points):
        for j in sorted((j for j in range(20) if j != i), key=lambda j: math.dist(a, points[j]))[:3]:
            expected[abs(i - j)] = expected.get(abs(i - j), 0) + 1
    found = vector_plots.nearest_offsets(points, 3)
    assert found == expected
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_attention_by_parts_is_relative_to_equal_weights():
    queries, keys = ["a", "b", "a"], ["h", "t", "t", "t", "h"]
    rng = np.random.default_rng(5)
    weights = rng.random((2, 3, 5)) * np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 1, 1, 1, 0]])
    weights /= weights.sum(axis=2, keepdims=True)
    found = by_parts(weights, queries, keys)
    for i, a in enumerate(("a", "b")):
        for j, b in enumerate(("h", "t")):
            ratios = []
            for q in (q for q in range(3) if queries[q] == a):
                seen = [k for k in range(5) if weights[0, q, k] > 0]
                mine = [k for k in seen if keys[k] == b]
                share = sum(weights[h, q, k] for h in range(2) for k in mine) / 2
                ratios += [share / (len(mine) / len(seen))] if mine else []
            assert found[i, j] == pytest.approx(np.mean(ratios) if ratios else math.nan, nan_ok=True)
    np.testing.assert_allclose(by_parts(np.full((1, 3, 5), 0.2), queries, keys), 1.0)
