"""What `posenc show` draws: its numbers against loops, known properties, and files that are equal when made again."""

import json
import math
import re

import numpy as np
import pytest

from posenc_jax.drawing.printed import render
from posenc_jax.file_names import file_name
from posenc_jax.show import page, projections, properties
from posenc_jax.show.measured import Attention, MeasuredEncoding, Shifts, by_offset, distances
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
        shifts=Shifts({1: 1e-15, 2: 0.0}, 2, np.eye(width)),
        attention=(Attention("decoder", np.full((2, 2, 3, 3), 1 / 3), ("a", "b", "c"), ("a", "b", "c"), "maps"),),
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
    measured = MeasuredEncoding("s", vectors=sines(50, 128), shifts=Shifts({1: 2e-15, 20: 4e-15}, 1, np.eye(128)))
    assert holds(measured) == dict.fromkeys(NAMES, True)
    assert properties.properties(measured)[4].measured == "relative residual 4e-15 at most, for k = 20"


def test_the_properties_of_rows_at_random():
    rows = np.random.default_rng(0).normal(size=(50, 16))
    rows[40] = rows[7]
    measured = MeasuredEncoding("learned", vectors=rows, shifts=Shifts({1: 1.02}, 1, np.eye(16)))
    assert holds(measured) == dict.fromkeys(NAMES, False)
    assert properties.properties(measured)[1].measured == "smallest distance 0, of 7 and 40"


def test_no_property_without_vectors():
    assert holds(MeasuredEncoding("alibi", bias=np.zeros((1, 3, 3)))) == dict.fromkeys(NAMES)
    assert properties.table(MeasuredEncoding("alibi")).notes == (
        "Has none of the properties: it has no vectors of positions.",
    )


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
    points, shares = projections.principal_components(flat @ plane.T + 7.0)
    assert sum(shares) == pytest.approx(1.0)
    centred = flat - flat.mean(axis=0)
    np.testing.assert_allclose(distances(points), distances(centred), atol=1e-10)


def test_similarity_is_the_kernel():
    (plot,) = plots_of([example(count=30)], "kernel", (0,))
    for offset, value in zip(plot.lines[0].x, plot.lines[0].y, strict=True):
        expected = sum(math.cos(offset * 1e4 ** (-2 * k / 8)) for k in range(4)) / 4
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kinds", [1, pytest.param(9, marks=pytest.mark.slow)])
def test_every_figure_is_the_same_when_made_again(kinds):
    encodings = [example(), MeasuredEncoding("alibi", bias=np.zeros((1, 4, 4)))]
    every = [[plot for view in VIEWS for plot in plots_of(encodings, view, (0, 10))] for _ in range(2)]
    first, second = every
    assert {plot.view for plot in first} == set(views_of(example())) == set(VIEWS)
    assert len({plot.slug for plot in first}) == len(first)
    pages = [page.page("t", "f", made, [properties.table(example())]) for made in every]
    assert pages[0] == pages[1]
    # One of each kind of plot: they share all code, and the kinds share most.
    for i in list({type(plot): i for i, plot in enumerate(first)}.values())[:kinds]:
        one, two = render(first[i]), render(second[i])
        assert one["png"].startswith(b"\x89PNG")
        assert one["pdf"].startswith(b"%PDF")
        assert one == two


def test_the_page_needs_nothing_else():
    made = [plot for view in VIEWS for plot in plots_of([example("<b>")], view, (0,))]
    text = page.page("<title>", "f", made, [properties.table(example())])
    assert "<h1>&lt;title&gt;</h1>" in text
    assert "default-src 'none'" in text
    figures = json.loads(re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.S)[1])
    assert list(figures) == [plot.slug for plot in made]
    for plot in made:
        assert f'<div class="figure" id="{plot.slug}"></div>' in text
    names = re.findall(r'<[^>]* id="([^"]*)"', re.sub(r"<script>.*?</script>", "", text, flags=re.S))
    assert len(set(names)) == len(names)
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert not re.search(r"(src|href)=", outside)
    assert len(figures[f"{file_name('<b>')}-attention-decoder"]["data"]) == 4
    assert figures["kernel"]["data"][-1]["y"][0] == 1.0
