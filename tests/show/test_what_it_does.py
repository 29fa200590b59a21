"""Every encoding of the catalogue begins with what it does, and has a figure."""

import dataclasses
import re

import numpy as np
import pytest

from posenc_jax.analysis.audit import model_for
from posenc_jax.analysis.views import available, position_vectors
from posenc_jax.cli import main
from posenc_jax.drawing.interactive import figure
from posenc_jax.encodings import Dims, PositionalEncoding, RoPE, for_layer, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.show.lead import summary, what_it_does
from posenc_jax.show.measure import with_contents
from posenc_jax.show.measured import Chosen, MeasuredAttention, MeasuredEncoding
from posenc_jax.show.views import plots_of, views_of

ROTATES = "Rotates queries and keys by their positions, so that logits depend on position differences only."
# Letters of formulas: those stand below the first words, with what they mean.
SYMBOLS = re.compile(r"(?<!['-])\b(?:[b-z]|[B-HJ-Z]|theta|omega)\b(?!-)")


@pytest.mark.parametrize("method", [own for family in CATALOGUE.values() for own in family], ids=lambda own: own.name)
def test_the_first_words_say_what_it_does(method):
    said = what_it_does(parse(method.spec))
    assert said.endswith(".")
    assert len(said) > 30
    assert "`" * 2 not in said
    assert not SYMBOLS.findall(said)
    if method.spec != "nope":
        assert not said.startswith(("It has", "Has n", "No ", "Nothing"))


def test_a_scaling_and_all_elements_are_told():
    assert what_it_does(parse("rope")) == ROTATES
    assert what_it_does(parse("log_scaling(training_length=8)|rope")).endswith(f" {ROTATES}")
    assert "Every wavelength rounded" in what_it_does(parse("rope(scaling=resonance)"))
    assert what_it_does(parse("nope")) == "No positional encoding: only the mask tells positions apart."
    nothing = "No positional encoding: only the mask tells positions apart."
    assert what_it_does(parse("nope/rope")) == f"Layer 1: {nothing} Layer 2: {ROTATES}"


def test_a_class_without_a_docstring_has_no_words():
    @dataclasses.dataclass(frozen=True)
    class Bare(PositionalEncoding):
        width: int = 1

    assert summary(Bare) == ""
    assert summary(RoPE) == ROTATES


def test_the_terminal_and_the_page_begin_with_it(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    small = ["--d-model", "8", "--num-heads", "1", "--length", "16", "--output", "x.html"]
    for name, said in {
        "RoPE": ROTATES,
        "Shaw": "A learned vector per clipped distance, added to the keys and, with values, to the values.",
        "nope": "No positional encoding: only the mask tells positions apart.",
    }.items():
        assert main(["show", name, *small]) == 0
        assert capsys.readouterr().out.splitlines()[2] == said
        assert f"<p>{said}</p>" in (tmp_path / "x.html").read_text()


DIMS = Dims(16, 2, 2, 8, 1, 64, 64)


@pytest.mark.parametrize("spec", ["shaw", "stick_breaking", "nope"])
def test_what_contents_decide_is_drawn_with_one_content(spec):
    one = with_contents(MeasuredEncoding(spec), parse(spec), DIMS)
    assert views_of(one) == ("contents",)
    (plot,) = plots_of([one], "contents", Chosen())
    weights = one.contents.weights
    assert weights.shape == (1, 1 if spec == "nope" else 2, 32, 32)
    rows = np.tri(32) / np.arange(1, 33)[:, None]
    np.testing.assert_allclose(weights[0, 0], rows, atol=1e-6)  # of the mask alone
    assert plot.high == pytest.approx(weights[0, :, 4:].max())
    assert "The colour scale ends at the largest weight from query 4 on." in plot.caption


def test_what_tokens_decide_is_drawn_of_an_example():
    spec = "within_segment(separators=(1, 2))|learned|segment_index(separators=(1, 2))|learned"
    one = with_contents(MeasuredEncoding(spec), parse(spec), DIMS)
    assert views_of(one) == ("positions",)
    assert one.positions.readers == ("learned", "learned"), "one of two elements of a class is not lost"
    assert one.positions.values[0, :9].tolist() == list(range(9))  # up to the first separator
    assert one.positions.values[1, :9].tolist() == [0] * 9
    (plot,) = plots_of([one], "positions", Chosen())
    assert plot.y.names == ("learned", "learned")


def test_positions_along_several_axes_are_drawn_of_an_image_and_text():
    spec = "media(width=2)|mrope"
    one = with_contents(MeasuredEncoding(spec), parse(spec), DIMS)
    assert one.positions.readers == ("mrope, axis 0", "mrope, axis 1", "mrope, axis 2")
    image = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]]
    np.testing.assert_array_equal(one.positions.values, [[*axis, *range(2, 14)] for axis in image])
    assert views_of(one) == ("positions",)


def test_vectors_of_numbers_are_drawn_by_the_number():
    """What FoNE adds to a token that stands for 7 turns once in 10; xVal scales the embedding by it."""
    dims, numbers = dataclasses.replace(DIMS, d_model=32, head_dim=16), np.array([0, 7, 17])
    fone = position_vectors(parse("fone(number=3)"), dims, numbers)
    np.testing.assert_allclose(fone[1, 10:12], [np.cos(1.4 * np.pi), np.sin(1.4 * np.pi)], atol=1e-6)
    np.testing.assert_allclose(fone[1, 10:12], fone[2, 10:12], atol=1e-5)
    np.testing.assert_array_equal(
        position_vectors(parse("xval(number=3)"), dims, numbers), numbers[:, None] - np.ones((1, 32))
    )


def test_every_row_of_the_catalogue_that_reads_tokens_or_contents_can_be_drawn():
    drawn = 0
    for method in (method for family in CATALOGUE.values() for method in family):
        slot = parse(method.spec)
        dims = model_for(for_layer(slot, 0))
        has = available(slot, dims)
        if "vectors" in has:
            assert position_vectors(slot, dims, np.arange(2), length=2).shape == (2, dims.d_model), method.name
        if not has:
            one = with_contents(MeasuredEncoding(method.name), slot, dims)
            assert views_of(one), method.name
            drawn += 1
    assert drawn > 20


def test_every_head_has_its_own_scale_which_its_title_and_the_caption_say():
    """On one scale a head whose weights are ten times as large is all that is seen."""
    weights = np.stack([np.eye(6), np.full((6, 6), 0.05)])[None]
    one = MeasuredEncoding("alibi", attention=MeasuredAttention("of equal contents", weights, about="Weights."))
    (plot,) = plots_of([one], "attention", Chosen())
    assert [title for title, _ in plot.panels] == ["head 1\n0 to 1", "head 2\n0 to 0.05"]
    assert plot.caption.endswith("Each map has its own colour scale, from 0 to its largest weight, written above it.")
    traces = figure(plot)["data"]
    assert [(trace["zmin"], trace["zmax"], trace["showscale"]) for trace in traces] == [(0, 1, True), (0, 0.05, False)]
    assert all("coloraxis" not in trace for trace in traces)
    bar = traces[0]["colorbar"]
    assert (bar["tickvals"], bar["ticktext"]) == ([0, 1], ["0", "max"])
    alone = dataclasses.replace(one, attention=MeasuredAttention("of equal contents", weights[:, 1:], about="Weights."))
    (plot,) = plots_of([alone], "attention", Chosen())
    assert (plot.panels[0][0], plot.own_scales, plot.high, plot.caption) == ("", False, 0.05, "Weights.")
