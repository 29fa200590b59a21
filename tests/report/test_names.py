"""Names are text: figures, pages, tables and files show them as they are written, and obey nothing in them."""

import html
import json
import re
from pathlib import Path

import pytest
import sealed_files
from synthetic_ablation import write_ablation

from posenc_jax.drawing import markdown, tex
from posenc_jax.drawing.hypertext import escaped, in_figure
from posenc_jax.drawing.interactive import figure
from posenc_jax.drawing.paper import axes_of_lines, figure_of, legend, written
from posenc_jax.drawing.plain import plain
from posenc_jax.drawing.printed import render
from posenc_jax.drawing.style import styles
from posenc_jax.drawing.text_table import TextTable, text
from posenc_jax.results import read_record, summarise
from posenc_jax.results.report import plots, tables
from posenc_jax.results.report.page import page

ROOT = Path(__file__).parents[2]
NAMES = [
    "_mine",
    r"$\frac$",
    "$x_1$ 50 % & <b>~^\\",
    "%{y} {z} #ffffff",
    "Ω עברית",
    "a\x1b[31mb\u202ec",
    "**[x](y)** `z`",
    "--'' \"q\"",
]


def summary_with(name, directory):
    """The synthetic ablation with a label and a task of this name."""
    write_ablation(directory)
    for file in ("ablation.json", "results.jsonl"):
        word = json.dumps(name)
        sealed_files.replace(directory / file, {'"label": "t5"': f'"label": {word}', '"rsc"': word})
    return summarise(read_record(directory))


@pytest.mark.parametrize("name", NAMES)
def test_pages_figures_and_tables_show_names_as_they_are_written(tmp_path, monkeypatch, name):
    import matplotlib.figure

    drawn = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, *a, **b: drawn.append(figure))
    summary, shown = summary_with(name, tmp_path), plain(name)
    task = next(task for task in summary.tasks if task.task_label == name)
    style = styles(summary.labels)
    render(plots.curves(task, style))
    made = drawn[0]
    assert shown in [text.get_text() for text in made.legends[0].get_texts()]
    assert made.axes[0].get_title(loc="left") == shown
    assert not any(text.get_parse_math() for text in made.findobj(matplotlib.text.Text) if text.get_text() == shown)
    for made in (figure(plots.curves(task, style)), figure(plots.scores(task, style))):
        for trace in made["data"]:
            for part in [trace.get("name", ""), trace.get("hovertemplate", "").removesuffix("<extra></extra>")]:
                assert len(re.findall(r"%\{y", part)) <= 1
                assert "<" not in part
                assert "#ffffff" not in part
    names = [html.unescape(trace["name"]) for trace in figure(plots.curves(task, style))["data"] if "name" in trace]
    assert shown in names
    read = html.unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", "", page(summary), flags=re.DOTALL))
    assert shown in read
    assert tex.escaped(name) in tables.latex(summary)
    assert markdown.escaped(name) in tables.markdown(summary)
    assert shown.split()[0] in tables.terminal(summary, 200)


def test_what_plotly_reads_in_texts_is_written_otherwise():
    assert html.unescape(in_figure("a'b\"<i>&lt;%{y:.3f}#1f2933rgba(1)")) == "a'b\"<i>&lt;%{y:.3f}#1f2933rgba(1)"
    assert "&quot;" not in in_figure('"')  # an entity that plotly does not know
    assert in_figure("50 % {x} #1 (a)") == "50 % {x} #1 (a)"
    assert escaped("<\x1b'\">") == "&lt;\\x1b&#x27;&quot;&gt;"


def test_latex_makes_no_sign_of_two():
    assert tex.escaped("--- , ``a'' ?` ,,") == "-{}-{}- , `{}`a'{}' ?{}` ,{},"
    assert tex.unknown("日 α é – ×") == ["α", "日"]


@pytest.mark.parametrize(
    ("name", "written"),
    [("$a$", r"\$a\$"), ("[x](y)", r"[x\](y)"), ("&amp; R&D", r"\&amp; R&D"), ("# a", r"\# a"), ("[0.1]", "[0.1]")],
)
def test_markdown_reads_nothing_in_names(name, written):
    assert markdown.escaped(name) == written


def test_code_in_markdown_may_hold_what_ends_code():
    assert markdown.code("a`b``c") == "``` a`b``c ```"


def drawn(*names):
    with figure_of(3, 2) as figure:
        axes = figure.add_subplot()
        lines = {name: axes.plot([1, 10], [1, 1000 + i])[0] for i, name in enumerate(names)}
        axes.set_yscale("log")
        axes_of_lines(axes)
        legend(figure, lines, beside=12, height=2)
        files = written(figure, ("png",))
        return figure, files


def test_powers_are_named_without_the_language_of_formulas():
    figure, _ = drawn("a", "b")
    assert {"1", "1,000"} <= {text.get_text() for text in figure.axes[0].get_yticklabels()}


def test_an_entry_of_a_table_is_one_line_on_a_terminal():
    table = TextTable("t", ("name", "n"), "lr", (("two\nposenc: done", "1"),))
    assert text(table).splitlines()[4] == "two posenc: done  1"


def test_tables_of_a_terminal_stand_in_columns_in_any_script():
    table = TextTable("t", ("name", "n"), "lr", (("日本語", "1"), ("abcdef", "22"), ("e\u0301e\u0301", "3")))
    rows = text(table).splitlines()[2:7]
    assert rows == ["name     n", "------  --", "日本語   1", "abcdef  22", "e\u0301e\u0301       3"]
