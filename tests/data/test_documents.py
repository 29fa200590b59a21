"""Documents with structure: what is read of Markdown, HTML and spans, and what does not nest."""

import json
import re
import shlex
import textwrap
from pathlib import Path

import pytest

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.overrides import override_run
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.documents import document_parts
from posenc_jax.encodings.interface.structure import OwnSection, StructureMask

MARKDOWN = """Before. All headings.

# 1 Introduction
First paragraph. Its second sentence
goes on.

- an item
- another

## Details ##
Text of a subsection.
### Deeper
Still there.

Methods
=======

~~~
# no heading
~~~
"""
WANTED = [
    ("Before.", "", (0, 0, 1, 1)),
    ("All headings.", "", (0, 0, 1, 2)),
    ("1 Introduction", "introduction", (1, 0, 0, 1)),
    ("First paragraph.", "introduction", (1, 0, 1, 1)),
    ("Its second sentence goes on.", "introduction", (1, 0, 1, 2)),
    ("- an item", "introduction", (1, 0, 2, 1)),
    ("- another", "introduction", (1, 0, 3, 1)),
    ("Details", "introduction", (1, 1, 0, 1)),
    ("Text of a subsection.", "introduction", (1, 1, 1, 1)),
    ("Deeper", "introduction", (1, 1, 2, 1)),
    ("Still there.", "introduction", (1, 1, 3, 1)),
    ("Methods", "methods", (2, 0, 0, 1)),
    ("# no heading", "methods", (2, 0, 1, 1)),
]
HTML = """<html><head><title>Window</title><style>p {}</style></head><body>
<p>Before. All headings.</p><h2>1 Introduction</h2>
<div>First paragraph. Its second sentence<br>goes   <b>on</b>.<ul><li>- an item<li>- another</ul></div>
<h3>Details</h3>Text of a subsection.<h4>Deeper</h4><p>Still there.</p>
<script>var a = "<h2>no</h2>";</script>
<h2>Methods</h2><pre># no heading</pre></body></html>"""


def test_markdown():
    assert document_parts(MARKDOWN, "markdown", "a.md") == WANTED


def test_code_within_a_line_opens_no_fence():
    """An info string after ``` has no ` in it (CommonMark 4.5); one after ~~~ may."""
    text = "# A\n```inline code``` starts this line.\nmore\n\n# B\ntext\n~~~ `c`\n# code\n~~~\n"
    assert [part.text for part in document_parts(text, "markdown", "a.md")] == [
        "A",
        "```inline code``` starts this line.",
        "more",
        "B",
        "text",
        "# code",
    ]


@pytest.mark.parametrize("end", ["---", "..."])
def test_front_matter_is_no_text(end):
    front = f"---\ntitle: A title\ntags:\n  - one\n{end}\n"
    for text in (front + MARKDOWN, (front + MARKDOWN).replace("\n", "\r\n")):
        assert document_parts(text, "markdown", "a.md") == WANTED
    assert document_parts(front, "markdown", "a.md") == []
    with pytest.raises(DataError, match=r"a\.md, line 8: "):
        document_parts(front + "# A\n\n### B", "markdown", "a.md")
    rule = document_parts("---\n\nText: one.\n\n---\n", "markdown", "a.md")
    assert "Text: one." in [part.text for part in rule], "a line across the page begins no front matter"


def test_a_heading_of_html_may_hold_what_breaks_lines():
    parts = document_parts("<h1>\n<div>X</div></h1><p>Text.</p><h1></h1><p>More.</p>", "html", "a.html")
    assert parts == [("X", "x", (1, 0, 0, 1)), ("Text.", "x", (1, 0, 1, 1)), ("More.", "x", (1, 0, 2, 1))]


@pytest.mark.parametrize(
    "heading", ["<h2><ul><li>One<li>two</ul></h2>", "<h2>One<br>two</h2>", "<div><h2>One<p>two</div>"]
)
def test_a_heading_of_html_is_all_of_its_text(heading):
    text = f"<h1>Top</h1>{heading}<p>Text.</p><h2>Next</h2>"
    assert [part[::2] for part in document_parts(text, "html", "a.html")] == [
        ("Top", (1, 0, 0, 1)),
        ("One two", (1, 1, 0, 1)),
        ("Text.", (1, 1, 1, 1)),
        ("Next", (1, 2, 0, 1)),
    ]


def test_html_of_the_same_structure():
    assert document_parts(HTML, "html", "a.html") == WANTED


def spans(text, *given):
    return json.dumps({"text": text, "spans": given})


def test_spans():
    text = "Title Intro one. Intro two. Sub text. Rest"
    given = [[28, 37, "subsection"], [0, 37, "section", "intro"], [0, 5, "heading"], [6, 27, "paragraph"]]
    assert document_parts(spans(text, *given), "spans", "a") == [
        ("Title", "intro", (1, 0, 0, 1)),
        ("Intro one.", "intro", (1, 0, 1, 1)),
        ("Intro two.", "intro", (1, 0, 1, 2)),
        ("Sub text.", "intro", (1, 1, 1, 1)),
        ("Rest", "", (0, 0, 1, 1)),
    ]
    cut = [[0, 5, "section", "a"], [6, 16, "section", "b"], [6, 16, "paragraph"], [6, 11, "sentence"]]
    assert [part[1:] for part in document_parts(spans(text[:16], *cut), "spans", "a")] == [
        ("a", (1, 0, 1, 1)),
        ("b", (2, 0, 1, 1)),
        ("b", (2, 0, 1, 2)),
    ]


TEXT = "one two three four"


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        (
            "markdown",
            "# A\n\n### B",
            "a, line 3: the heading 'B' of level 3 does not nest: the one before it is of lev",
        ),
        ("markdown", "## A\n# B", "a, line 2: the heading 'B' of level 1 stands above the first one, of level 2"),
        ("html", "<h1>A</h1>\n<h4>B</h4>", "a, line 2: the heading 'B' of level 4 does not nest"),
        ("spans", spans(TEXT, [0, 7, "section"], [4, 12, "section"]), "the section 4..12 and the section 0..7 overlap"),
        ("spans", spans(TEXT, [0, 12, "paragraph"], [4, 7, "section"]), "section 4..7 stands in the paragraph 0..12"),
        ("spans", spans(TEXT, [0, 3, "subsection"]), "the subsection 0..3 stands in no section: give a span for that"),
        ("spans", spans(TEXT, [0, 30, "section"]), "the section 0..30 is not within the 18 characters of the text"),
        ("spans", spans(TEXT, [0, 3, "chapter"]), "'chapter' is no kind of span"),
        ("spans", spans("a\0b"), "a: text has a NUL character (\\u0000), and text has none: leave it out"),
        ("spans", "# A", "a is no text with spans (no JSON at line 1, column 1: Expecting value): write {"),
        ("spans", '{"text": "x", "spans": [[0, 1]]}', "a is no text with spans ([0, 1] is no span): write {"),
        ("spans", "[" * 99999, "a is no text with spans (it is nested too deep): write {"),
    ],
)
def test_what_does_not_nest_is_refused_in_one_line(form, text, message):
    with pytest.raises(DataError) as error:
        document_parts(text, form, "a")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "scripts" / "docs" / "guides" / "documents.md"


def test_the_command_of_the_guide_has_the_types_that_its_table_says():
    (command,) = re.findall(r"^    posenc ablate (.*--task\.structure.*)$", GUIDE.read_text(), re.MULTILINE)
    config, *words = shlex.split(command)
    run = load_config(str(ROOT / config), Ablation, "ablate").runs[0]
    found = override_run(run, words, "ablate", "x.py")
    assert found.task.types == {"title": 1, "method": 2, "result": 3, "": 4}
    assert found.model.token_types == found.task.num_token_types == 5
    masked = ["--model.mask", "own_section"]
    assert override_run(run, [*words, *masked], "ablate", "x.py").model.mask == OwnSection()
    with pytest.raises(UsageError, match=r"set task\.structure of a classification"):
        override_run(run, masked, "ablate", "x.py")


def test_the_examples_of_the_guide(capsys):
    page = GUIDE.read_text()
    first, second = re.findall(r"```python\n(.*?)```\n(?:\n((?:    [^\n]*\n)+))?", page, re.DOTALL)
    exec(first[0], {})
    assert capsys.readouterr().out == textwrap.dedent(first[1])
    names = {"__name__": "guide"}
    exec(second[0], names)
    assert issubclass(names["TitleForAll"], StructureMask)
