"""Formulas on pages: every encoding has one, all of its symbols are explained, and all become MathML."""

import importlib.util
import re
import tomllib

import pytest
from documenting import encodings, notebooks, pages
from documenting.formula import COMMON, explained, heads, lines, mathml, symbols
from documenting.rows import NEEDED, rows

needs_converter = pytest.mark.skipif(
    importlib.util.find_spec("latex2mathml") is None, reason="latex2mathml is not installed: install requirements.lock"
)


@pytest.fixture(scope="module")
def all_rows():
    return rows()


def test_every_encoding_has_a_formula_whose_symbols_are_explained(all_rows):
    for row in all_rows:
        shown = {head for key in row.symbols for head in heads(key)}
        assert shown == set(symbols(row.facts["math"])), row.page
        assert all(row.symbols.values()), row.page


def test_common_symbols_are_used_and_not_written_again(all_rows):
    used = {key for row in all_rows for key in row.symbols}
    for key, words in tomllib.loads(COMMON.read_text()).items():
        assert key in used
        assert [row.page for row in all_rows if row.facts.get("symbols", {}).get(key) == words] == []


def test_the_facts_of_the_page_on_contributions_are_complete():
    page = (pages.DOCS / "guides" / "contributing-an-encoding.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (facts,) = tomllib.loads(block).values()
    assert set(facts) == {*NEEDED, "symbols"}
    assert explained(facts["math"], facts["symbols"])


@needs_converter
def test_every_formula_becomes_mathml(all_rows):
    for row in all_rows:
        assert mathml(lines(row.facts["math"]), block=True).startswith("<math "), row.page
        assert all(mathml(key) for key in row.symbols), row.page


@needs_converter
def test_formulas_of_written_pages_become_mathml():
    found = re.compile(r"\{math\}`([^`]+)`|^```(?:\{math\}|math)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for page, path in pages.written().items():
        for inline, block in found.findall(path.read_text()):
            assert mathml(inline or block, block=bool(block)), page


@needs_converter
@pytest.mark.parametrize(
    ("latex", "problem"),
    [
        (r"\frac{a}{b", "its braces do not match"),
        (r"a + \alfa", r"\\alfa is not known"),
        ("a &= b", "<mi>&</mi> is not known"),
        (r"\frac{a}", "a part of a mfrac is missing"),
        ("a_b_c", "^a_b_c: DoubleSubscriptsError"),
    ],
)
def test_wrong_latex_is_refused(latex, problem):
    with pytest.raises(ValueError, match=problem):
        mathml(latex)


def test_a_notebook_has_formulas_between_dollars():
    text = f"{notebooks.FRONT}kernelspec:\n  name: python3\n---\n\n# A\n\n```math\na_i\n```\n\nb\n"
    pytest.importorskip("myst_nb", reason="myst-nb is not installed: install requirements.lock")
    import nbformat

    assert nbformat.reads(notebooks.notebook(text), as_version=4).cells[2].source == "$$a_i$$\n\nb"


def test_symbols_of_latex():
    latex = r"\mathbf{q}'_i = \hat{\theta} \operatorname{f}(k)^{\mathrm{old}}, \text{if } \max(b) \in \mathbb{R}^{n}"
    assert list(symbols(latex)) == [r"\mathbf{q}'", "i", r"\hat{\theta}", "f", "k", "b", "n"]
    for broken in (r"a_", r"\mathbf{q", r"a^{b"):
        with pytest.raises(ValueError, match=r"ends too early, or its braces do not match$"):
            symbols(broken)
    assert heads(r"\mathbf{q}_i, \mathbf{k}_j") == [r"\mathbf{q}", r"\mathbf{k}"]


def test_a_symbol_is_explained_once_by_its_own_words_or_by_the_common_ones():
    common = {"a_i, b": "both", "a_i": "one", "i": "an index", "b": "the other"}
    assert explained("a_i + b", {}, common) == {"a_i, b": "both", "i": "an index"}
    assert explained("a_i + b", {"b": "own"}, common) == {"a_i": "one", "i": "an index", "b": "own"}
    with pytest.raises(ValueError, match=r"^nothing says what c is: write it in its symbols, or in symbols\.toml$"):
        explained("a_i + c", {}, common)
    with pytest.raises(ValueError, match=r"^symbols explains d, which its formula does not have$"):
        explained("a_i", {"d": "nothing"}, common)


def test_explanations_link_to_pages_that_are_there(all_rows):
    linked = {link for row in all_rows for link in pages.links("\n".join(row.symbols.values()))}
    assert linked <= {f"/encodings/{row.page}.md" for row in all_rows}
    assert "/encodings/rope.md" in linked


def test_a_page_begins_with_what_it_does_its_picture_and_its_use(all_rows):
    pictures = [("a.png", "First", "One."), ("b.png", "Second", "Two.")]
    for row in all_rows:
        text = encodings.page(row, pictures)
        titles = re.findall("^## (.*)$", text, re.MULTILINE)
        assert titles[:4] == ["Where to use it", "Formula", "Facts", "Definition"], row.page
        assert len(set(titles)) == len(titles)
        assert text.index("{figure} a.png") < text.index("## Where to use it") < text.index("{figure} b.png")
        assert text.count("```{math}") == 1, row.page


def test_what_an_encoding_cannot_do_stands_beside_its_use(all_rows):
    rows = [row for row in all_rows if row.page in ("cope", "learned-absolute", "rope")]
    texts = {row.page: encodings.page(row, [("a.png", "A", "B.")]) for row in rows}
    assert " Limits: only under a causal mask; no fused kernel.\n\n```text\ncope\n```" in texts["cope"]
    assert " Limits: no positions beyond those of training.\n" in texts["learned-absolute"]
    assert "Gemma, DeepSeek.\n\n```text\nrope\n```" in texts["rope"]
