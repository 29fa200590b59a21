"""The page of pictures and its files: what `python -m scripts.docs.pictures` would write."""

import functools
import re

import pytest

from posenc_jax.drawing.paper import figure_of
from posenc_jax.drawing.printed import draw_points
from posenc_jax.show.presets import PRESETS
from scripts.docs import pictures

TEXT = pictures.PAGE.read_text()


@functools.cache
def drawn(name):
    return pictures.drawn(PRESETS[name])


def test_the_page_is_what_the_command_writes():
    plots = {name: drawn(name) for name in PRESETS}
    # Of t-SNE the last digits, and with them some neighbours, are the machine's own: those have a test below.
    said, made = (re.sub(r"\d+ are (\d+) positions", r"\1 positions", text) for text in (TEXT, pictures.page(plots)))
    assert said == made, "python -m scripts.docs.pictures writes it"


def test_neighbours_in_the_plane_are_6_and_63_apart():
    said = pictures.counts(TEXT)
    assert said == {6: 188, 63: 130}
    for offset, count in pictures.counts(drawn("tsne-128x8").caption).items():
        assert count == pytest.approx(said[offset], rel=0.15), offset


def test_no_label_of_a_position_lies_on_another_mark():
    """By how far matplotlib draws them; 68 was half hidden by 5."""
    plot = drawn("tsne-128x8")
    with figure_of(6.9, 5.9) as figure:
        axes = figure.add_subplot()
        draw_points(axes, plot, 5)
        figure.draw_without_rendering()
        marks = axes.transData.transform(plot.points)
        boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert len(boxes) == 128
    covered = [name for name, box in boxes.items() if any(box.contains(*mark) for mark in marks)]
    assert covered == []


def test_every_preset_has_its_picture_and_it_is_small():
    files = {path.name: path.read_bytes() for path in pictures.FOLDER.iterdir()}
    assert set(files) == {f"{name}.png" for name in PRESETS}
    for name, data in files.items():
        assert data.startswith(b"\x89PNG"), name
        assert len(data) < 150_000, name
