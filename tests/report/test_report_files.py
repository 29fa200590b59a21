"""The files of a report: complete, self-contained, the same bytes for the same results, valid for their readers."""

import base64
import gzip
import hashlib
import html
import json
import re
import sys

import pytest
import sealed_files
from plotly.offline import get_plotlyjs
from synthetic_ablation import SEEDS, rewrite, score, write_ablation

from posenc_jax.drawing.document import packed_plotly
from posenc_jax.drawing.interactive import figure
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.printed import render
from posenc_jax.drawing.style import styles
from posenc_jax.extras import install_command
from posenc_jax.results import read_record, report, summarise
from posenc_jax.results.report import plots, tables
from posenc_jax.results.report.page import page as page_of

FILES = ["report.html", "tables.md", "tables.tex", "citations.bib", "figures/rsc.png", "figures/rsc.pdf"]
FILES += ["figures/even_pairs.png", "figures/even_pairs.pdf"]
FILES += [f"figures/swept-learning_rate-{task}.{kind}" for task in ("rsc", "even_pairs") for kind in ("png", "pdf")]
FILES += ["results.parquet"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    directory = write_ablation(tmp_path_factory.mktemp("built"))
    return directory, report.build(directory)


@pytest.fixture(scope="module")
def page(built):
    """The HTML without plotly.js."""
    text = (built[0] / "report.html").read_text()
    javascript = packed_plotly()
    assert text.count(javascript) == 1
    return text.replace(javascript, "")


def test_plotly_is_packed(built):
    text = (built[0] / "report.html").read_text()
    packed = re.search('<script type="application/gzip" id="plotly">([A-Za-z0-9+/=]*)</script>', text)[1]
    assert gzip.decompress(base64.b64decode(packed)).decode() == get_plotlyjs()
    assert len(text) < len(get_plotlyjs()) / 2 + 200_000


def _digests(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_build_is_complete_and_the_same_results_give_the_same_bytes(built, tmp_path):
    directory, paths = built
    assert [str(path.relative_to(directory)) for path in paths] == FILES
    before = _digests(paths)
    assert _digests(report.build(write_ablation(tmp_path / "elsewhere"))) == before
    found = {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}
    assert found == {*FILES, "ablation.json", "results.jsonl"}  # nothing half-written is left


def test_the_page_loads_nothing_from_outside(page):
    assert "default-src 'none'" in page
    assert not re.findall(r"""(?:src|srcset|action)\s*=\s*["']?(?:https?:)?//""", page)
    assert "<link" not in page
    assert "@import" not in page
    assert "url(" not in page
    assert 'modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]]' in page  # no button that uploads the data


def test_the_page_has_figures_tables_notes_configs_and_citations(page):
    for anchor in ("curves-rsc", "scores-rsc", "curves-even_pairs", "scores-even_pairs"):
        assert page.count(f'id="{anchor}"') == 1
    text = " ".join(re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.S).split())
    assert "0.771 (21..40)" in text
    assert "clearly above chance (41..500)" in text
    assert "rsc / t5: 3 of 4 seeds (1 diverged)" in text
    assert "Not used: rsc / alibi, seed 3, learning rate 0.001: not finished, 9 of 11 lengths" in text
    assert "12 layers of width 768" in text
    assert '"d_model": 64' in text
    assert '"commit": "0123abcd"' in text
    assert "Raffel et al. (2020). Exploring the Limits. (t5)" in text
    assert '<a href="https://arxiv.org/abs/1706.03762">' in page


def test_works_are_there_as_bibtex(built, page):
    block = html.unescape(re.search(r"<summary>BibTeX</summary><pre>(.*?)</pre>", page, re.S)[1])
    written = (built[0] / "citations.bib").read_text()
    assert block == written
    keys = re.findall(r"^@\w+\{(\w+),$", written, re.M)
    assert keys[:4] == ["raffel2020exploring", "press2022train", "su2021roformer", "vaswani2017attention"]
    assert keys[4:] == ["ruoss2023randomized"]


def test_the_figures_are_valid_and_show_every_seed(page):
    from plotly import graph_objects

    data = json.loads(re.search(r'id="figures">(.*?)</script>', page, re.S).group(1))
    for drawn in data.values():
        graph_objects.Figure(drawn)  # refuses unknown properties
    curves = data["curves-rsc"]
    names = [trace["name"] for trace in curves["data"] if trace.get("showlegend", True)]
    assert names == ["nope", "t5", "alibi", "sinusoidal"]
    assert {trace["legendgroup"] for trace in curves["data"]} == set(names)  # a click toggles band, seeds and mean
    seeds = next(t for t in curves["data"] if t["legendgroup"] == "nope" and "customdata" in t and not t["showlegend"])
    assert [s for s in dict.fromkeys(seeds["customdata"]) if s is not None] == list(SEEDS)
    assert seeds["y"][seeds["x"].index(12)] == score("rsc", "nope", 0, 1e-3, 12)
    band = next(shape for shape in curves["layout"]["shapes"] if shape["type"] == "rect")
    assert (band["x0"], band["x1"]) == (2, 8)
    chance = [shape["y0"] for shape in data["curves-even_pairs"]["layout"]["shapes"] if shape["type"] == "line"]
    assert chance == [0.5]
    published = data["scores-rsc"]["data"][-1]
    assert published["x"] == [0.986, 0.771, 0.289, 0.0, 0.0]
    assert data["scores-even_pairs"]["data"][-1]["x"] == []  # words are no points


def test_an_encoding_looks_the_same_everywhere(built):
    summary = summarise(read_record(built[0]))
    style = styles(summary.labels)
    colors = {}
    for task in summary.tasks:
        for trace in figure(plots.curves(task, style))["data"]:
            if trace.get("showlegend", True):
                colors.setdefault(trace["name"], set()).add(trace["line"]["color"])
    assert all(len(found) == 1 for found in colors.values())
    assert len({frozenset(found) for found in colors.values()}) == len(colors) == 5
    here, there = styles(("ALiBi", "mine", "RoPE")), styles(("nope", "rope(base=5e5)", "alibi"))
    assert here["ALiBi"].color == there["alibi"].color != there["rope(base=5e5)"].color == here["RoPE"].color
    many = styles(tuple(f"e{i}" for i in range(28)))
    assert len({(s.color, s.dash) for s in many.values()}) == 28


def test_html_escapes_what_others_wrote(ablation):
    info = json.loads((ablation / "ablation.json").read_text())
    info |= {"title": "<b>a</b>", "description": "</script><script>alert(1)</script>"}
    info["cells"][0]["note"] = "x < y & z"
    sealed_files.write(ablation / "ablation.json", info)
    page = page_of(summarise(read_record(ablation)))
    assert "alert(1)</script>" not in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    assert "nope: x &lt; y &amp; z" in page


@pytest.mark.parametrize(
    "label",
    [
        "<!--<script>",
        "a\u2028b",
        "\u202eback",
        "\x1b[2J",
    ],
)
def test_no_label_ends_the_script_or_commands_a_terminal(ablation, label):
    """A comment and a tag opened in a script keep it from ending where it should: no figure would be drawn."""
    for name in ("ablation.json", "results.jsonl"):
        sealed_files.replace(ablation / name, {'"label": "t5"': f'"label": {json.dumps(label)}'})
    summary = summarise(read_record(ablation))
    page = page_of(summary)
    script = page.partition('id="figures">')[2].partition("</script>")[0]
    assert not set("<\u2028\u2029\u202e") & set(script)
    names = {trace.get("name") for trace in json.loads(script)["curves-rsc"]["data"]}
    assert html.escape(plain(label)) in names
    for written in (report.text_report(ablation), tables.markdown(summary), tables.latex(summary)):
        assert not set("\x1b\u2028") & set(written)


def test_pdf_embeds_truetype_fonts_and_has_no_date(built):
    pdf = (built[0] / "figures/rsc.pdf").read_bytes()
    assert b"/Type0" in pdf
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf
    assert (built[0] / "figures/rsc.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_parquet_has_every_row(built):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(built[0] / "results.parquet")
    assert table.to_pylist() == sealed_files.read_rows(built[0] / "results.jsonl")


def test_without_the_extra_packages_the_tables_are_still_written(ablation, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] in ("plotly", "matplotlib", "pyarrow")]:
        monkeypatch.delitem(sys.modules, name)
    for package in ("plotly", "matplotlib", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    assert [path.name for path in report.build(ablation)] == ["tables.md", "tables.tex", "citations.bib"]
    assert report.missing() == (
        "Left out: report.html (needs plotly), figures (needs matplotlib), results.parquet (needs pyarrow). "
        "To get all: " + install_command("report")
    )
    assert report.missing() in report.text_report(ablation, 100)
    summary = summarise(read_record(ablation))
    with pytest.raises(ModuleNotFoundError, match=f"needs matplotlib.*{re.escape(install_command('report'))}"):
        render(plots.curves(summary.tasks[0], styles(summary.labels)))
    with pytest.raises(ModuleNotFoundError, match=f"needs plotly.*{re.escape(install_command('report'))}"):
        page_of(summary)


def test_a_report_without_unseen_lengths_or_with_all_diverged_can_be_built(ablation):
    rewrite(ablation, lambda row: row if row["range"] == "within" else None)
    info = json.loads((ablation / "ablation.json").read_text())
    for cell in info["cells"]:
        cell["lengths"] = [n for n in cell["lengths"] if n <= max(info["train_lengths"][cell["task_label"]])]
    sealed_files.write(ablation / "ablation.json", info)
    assert len(report.build(ablation)) == len(FILES)
    page = (ablation / "report.html").read_text()
    assert page.count('id="scores-') == page.count("<h3>Mean over all lengths</h3>") == 2
    rewrite(ablation, lambda row: row | {"diverged_at": 7})
    names = [path.name for path in report.build(ablation)]
    assert names == ["report.html", "tables.md", "tables.tex", "citations.bib", "results.parquet"]
    assert "no result, 0 of 4 seeds" in (ablation / "tables.md").read_text()
