"""LibreOffice Help: what is read of a page, which blocks become pairs, and what a classifier sees of a page."""

import pytest
from help_pages import write_help, write_page

from posenc_jax.data.corpora.corpus import DataError, split_of
from posenc_jax.data.corpora.libreoffice import modules, read_page, translation


def texts(html: str, module: str = "") -> list[str]:
    return [block.text for block in read_page(html, module).blocks]


def switch(*cases: tuple[str, str]) -> str:
    inner = "".join(
        f'<span hidden="true" id="i"{f" class={name!r}" if name else ""}>{text}</span>' for name, text in cases
    )
    return f'<span id="s" class="switchinline">{inner}</span>'


@pytest.mark.parametrize(
    ("module", "cases", "kept"),
    [
        ("swriter", [("MAC", "Command\n"), ("", "Ctrl")], "Ctrl"),
        ("swriter", [("UNIX", "a"), ("MAC", "b"), ("", "c")], "c"),
        ("scalc", [("WRITER", "page"), ("CALC", "sheet"), ("", "slide")], "sheet"),
        ("shared", [("WRITER", "page"), ("CALC", "sheet"), ("", "slide")], "slide"),
        ("shared", [("WRITER", "page"), ("CALC", "sheet")], "page"),
        ("swriter", [("WRITER", '<span class="menuitem">Auto<span class="emph">Text</span> -</span>')], "AutoText -"),
    ],
)
def test_one_case_of_a_switch_is_read(module, cases, kept):
    page = f'<p id="par_1">Press {switch(*cases)}+<span class="keycode">O</span>  now.\n</p>'
    assert texts(page, module) == [f"Press {kept}+O now."]


def test_a_switch_within_a_case_of_another():
    inner = switch(("MAC", "Option"), ("", "Alt"))
    page = f'<p id="par_1">Hold {switch(("CALC", "x" + inner), ("", "y" + inner))} down</p>'
    assert texts(page, "scalc") == ["Hold xAlt down"]
    assert texts(page, "smath") == ["Hold yAlt down"]


def test_a_span_that_is_never_closed_ends_with_its_block():
    assert texts('<p id="a">one <span class="switchinline"><span class="MAC">two</p><p id="b">three</p>') == [
        "one two",
        "three",
    ]


def test_blocks_keywords_and_related_topics_of_a_page():
    page = read_page(
        '<p>frame</p><meta itemprop="keywords" content="a,  b"><p id="bm_module">no</p>'
        '<h1 id="hd_1" dir="auto"><a name="x"></a>Fonts &amp; Sizes</h1><p id="par_2" class="code">x = 1</p>'
        '<div class="embedded"><p id="par_3">one<br>two</p></div>'
        '<div class="relatedtopics"><p class="related"><span>Related Topics</span></p><div class="relatedbody">'
        '<p class="embedded"><a href="en-US/text/swriter/x.html">Other</a></p><p id="par_4">Third</p></div></div>'
        '<h2 id="hd_5">After</h2><footer><p>debug</p></footer>'
    )
    assert page.keywords == ("a, b",)
    assert [tuple(block) for block in page.blocks] == [
        ("", "p", "", "frame", False),
        ("hd_1", "h1", "", "Fonts & Sizes", False),
        ("par_2", "p", "code", "x = 1", False),
        ("par_3", "p", "", "one two", False),
        ("", "p", "embedded", "Other", True),
        ("par_4", "p", "", "Third", True),
        ("hd_5", "h2", "", "After", False),
        ("", "p", "", "debug", False),
    ]


def pairs(folder) -> list[tuple[str, str, str]]:
    rows = [row for part in translation(folder, "de").values() for row in part]
    return sorted((row["doc"], row["en"], row["de"]) for row in rows)


def test_pairs_are_joined_on_file_id_and_occurrence(tmp_path):
    write_page(
        tmp_path,
        "en",
        "scalc/a.html",
        '<p id="x">The first of them here.</p><p id="x">The second of them here.</p>'
        '<p id="x">The third of them here.</p>'
        '<p id="gone">Nobody has translated this line.</p>',
    )
    write_page(
        tmp_path,
        "de",
        "scalc/a.html",
        '<p id="new">Das ist neu hier.</p><p id="x">Das erste hier davon.</p><p id="x"></p>'
        '<p id="x">Das dritte davon.</p>',
    )
    write_page(tmp_path, "en", "scalc/b.html", '<p id="x">This page is only English.</p>')
    assert pairs(tmp_path) == [
        ("scalc/a.html", "The first of them here.", "Das erste hier davon."),
        ("scalc/a.html", "The third of them here.", "Das dritte davon."),
    ]


def test_code_untranslated_and_unclean_blocks_are_dropped_and_english_is_unique(tmp_path):
    blocks = [
        ("", "Close the dialog and go.", "Schließen Sie den Dialog."),
        ("codeintable", "print the line of code", "drucke die Zeile im Code"),
        ("", "Left as it is here.", "Left as it is here."),
        ("", "Two words", "Zwei Wörter"),
        ("", "123 456 789 1011 yes", "Ja und noch mehr davon"),
        ("", "Close the dialog and go.", "Den Dialog schließen."),
        ("", "A word of it.", "Ein sehr langer Satz, der weit über das hinausgeht, was dort stand."),
    ]
    for language, column in (("en", 1), ("de", 2)):
        body = "".join(f'<p id="p{i}" class="{block[0]}">{block[column]}</p>' for i, block in enumerate(blocks))
        write_page(tmp_path, language, "shared/a.html", body)
    assert pairs(tmp_path) == [("shared/a.html", "Close the dialog and go.", "Schließen Sie den Dialog.")]


def test_splits_are_made_by_page(tmp_path):
    rows = translation(write_help(tmp_path), "de")
    assert sum(map(len, rows.values())) == 60 * 2
    for split, part in rows.items():
        assert part
        assert all(split_of(row["doc"]) == split for row in part)
        assert len(part) == 2 * len({row["doc"] for row in part})


def test_a_page_as_header_body_and_footer_without_path_and_links(tmp_path):
    write_page(
        tmp_path,
        "en",
        "swriter/guide/auto.html",
        '<meta itemprop="keywords" content="letters,capital"><h1 id="h">Automatic Letters</h1>'
        f'<p id="p">See <a href="en-US/text/swriter/x.html">this</a> {"again and " * 12}</p><p id="q">End.</p>'
        '<p class="related">Related Topics</p><p class="embedded"><a href="text/swriter/y.html">More Letters</a></p>',
    )
    write_page(tmp_path, "en", "scalc/short.html", '<h1 id="h">Short</h1><p id="p">Too few words.</p>')
    (row,) = (row for part in modules(tmp_path).values() for row in part)
    assert row == {
        "header": "Automatic Letters\nletters,capital",
        "body": f"See this {'again and ' * 11}again and\nEnd.",
        "footer": "More Letters",
        "label": "swriter",
        "doc": "swriter/guide/auto.html",
    }


def test_a_byte_that_is_not_utf8_is_named_with_its_place(tmp_path):
    path = write_page(tmp_path, "en", "swriter/a.html", '<p id="x">Some text is here.</p>')
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"\xff" + data[20:])
    with pytest.raises(DataError, match=r"swriter/a\.html is not UTF-8: byte 0xff at offset 20 .* unpack its package"):
        modules(tmp_path)


def test_a_missing_package_is_named(tmp_path):
    with pytest.raises(DataError, match=r"help/en-US/text holds no HTML pages: .* sub-folder libreoffice-help-en-us"):
        modules(tmp_path)
