"""Tables for papers: what fits where, what is bold, and that LaTeX sets them within its margins."""

import re

import pytest
from synthetic_ablation import write_ablation, write_text_ablation
from tex_pages import check_margins, needs_latex

from posenc_jax.data.score_kinds import kind_of
from posenc_jax.drawing.latex import latex_table
from posenc_jax.drawing.text_table import BEST, TextTable, markdown_table, without
from posenc_jax.results.averages import best_and_tied
from posenc_jax.results.record import read_record
from posenc_jax.results.report import tables
from posenc_jax.results.summation import summarise

INTERVAL = "0.123 [0.100, 0.456]"
MANY = TextTable(
    "Many_encodings",
    ("length", *(f"encoding {i}" for i in range(14))),
    "r" * 15,
    tuple((f"{n}*", *[INTERVAL] * 14) for n in (2, 4, 8)),
    ("A note.",),
    frozenset({(0, 3)}),
)
LONG = TextTable(
    "Long names",
    ("encoding", "score", "p"),
    "lrr",
    (("randomized(max_position=2048)|rope(scaling=yarn(factor=8, original_length=4096))", INTERVAL, "under 0.001"),),
)


def test_a_table_for_a_paper():
    latex = latex_table(MANY, "tab:many")
    assert latex.startswith("\\begin{table*}")
    assert re.findall(r"\\begin\{tabular\}\{(\w+)\}", latex) == ["r" * 15]
    assert latex.count(r"\textbf{0.123}") == 1
    assert f"A note. {BEST}" in latex
    latex = latex_table(LONG, "tab:long")
    assert r"\stacked{l}{randomized(max\_position=2048)\textbar{} \\ rope(" in latex
    assert r"\textless{}0.001" in latex


def test_a_table_without_a_column_keeps_its_best():
    fewer = without(MANY, "encoding 1")
    assert (len(fewer.columns), len(fewer.align), len(fewer.entries[0])) == (14, 14, 14)
    assert fewer.best == {(0, 2)}
    assert without(MANY, "encoding 2").best == frozenset()
    assert "| 2\\* | " + " | ".join([INTERVAL] * 2) + " | **0.123** [0.100, 0.456]" in markdown_table(MANY)


def test_the_best_and_those_that_tie():
    fraction, errors = kind_of("exact_match"), kind_of("loss")
    near, far = {0: 0.80, 1: 0.84, 2: 0.79}, {0: 0.50, 1: 0.53, 2: 0.49}
    best = {0: 0.81, 1: 0.82, 2: 0.83}
    assert best_and_tied({"best": best, "near": near, "far": far}, fraction) == {"best", "near"}
    assert best_and_tied({"best": best, "far": far}, errors) == {"far"}
    assert best_and_tied({"best": best}, fraction) == frozenset()
    assert best_and_tied({"a": {0: 0.5}, "b": {0: 0.5}, "c": {0: 0.4}}, fraction) == {"a", "b"}, "no pairs: equal means"
    assert best_and_tied({"a": {0: 1.0, 1: 1.0}, "b": {0: 1.0, 1: 1.0}, "c": {}}, fraction) == {"a", "b"}


@pytest.mark.slow
@needs_latex
@pytest.mark.parametrize("layout", ["onecolumn", "twocolumn"])
def test_latex_sets_them_within_the_margins(tmp_path, layout):
    on_text = write_text_ablation(tmp_path / "b", {"en-de": (32, (8, 16, 32, 64))})
    ablations = [write_ablation(tmp_path / "a"), on_text]
    written = [tables.latex(summarise(read_record(ablation))) for ablation in ablations]
    check_margins(tmp_path, layout, [*written, latex_table(MANY, "tab:many"), latex_table(LONG, "tab:long")])
