"""The corpora of experiments/corpora: what is read of a page, an index and a package."""

import gzip

from experiments.classification.full import PACKAGE_SECTIONS
from experiments.corpora import descriptions, libreoffice, make, python_docs
from posenc_jax.data.corpora.source import load_source
from posenc_jax.data.corpora.store import manifest

LONG = "The first program of its kind reads files of many forms and writes them in any other form, as long as the two "
LONG += "forms are known to it."
ENGLISH = f"""\
Package: reader
Description-md5: aa
Description-en: reads and writes files
 {LONG}
 .
 Known  forms:
  * plain text

Package: reader-doc
Description-md5: bb
Description-en: manual of the reader
 {LONG.upper()}

Package: brief
Description-md5: cc
Description-en: short and sweet
 Too few words.
"""
GERMAN = """\
Package: reader
Description-md5: aa
Description-de: liest und schreibt Dateien
 Das erste Programm seiner Art liest Dateien vieler Formen und schreibt sie in jeder anderen, so beide ihm bekannt sind.
 .
 Bekannte⋅Formen: - einfacher Text
"""
PACKAGES = """\
Package: reader
Source: read (2.1-3)
Section: contrib/utils
Tag: use::reading,
 works-with::text

Package: reader-doc
Source: read (2.1-3)
Section: doc

Package: brief
Section: misc
"""


def test_help_pages_are_pairs_and_documents(tmp_path):
    english = (
        '<p>frame</p><meta itemprop="keywords" content="letters"><h1 id="h">Automatic Letters</h1>'
        f'<p id="x">The first of them <a href="y.html">here</a>.</p><p id="x">{"See this again. " * 12}</p>'
        '<p id="c" class="code">print the line of code</p><p class="related">Related</p><p>More Letters</p>'
    )
    german = '<p id="x">Das erste hier davon.</p><p id="x"></p><p id="c" class="code">drucke die Zeile im Code</p>'
    for language, body in (("en", english), ("de", german)):
        root = tmp_path / libreoffice.package(language) / "usr/share/libreoffice/help" / libreoffice.FOLDERS[language]
        (root / "text/swriter").mkdir(parents=True)
        (root / "text/swriter/a.html").write_text(body)
    (pair,) = (row for part in libreoffice.translation(tmp_path, "de").values() for row in part)
    assert pair == {"en": "The first of them here.", "de": "Das erste hier davon.", "doc": "swriter/a.html"}
    (page,) = (row for part in libreoffice.modules(tmp_path).values() for row in part)
    assert page["header"] == "Automatic Letters\nletters"
    assert page["body"].startswith("The first of them here.\nSee this again. See")
    assert (page["footer"], page["label"], page["doc"]) == ("More Letters", "swriter", "swriter/a.html")


def test_descriptions_are_pairs_summaries_and_classes(tmp_path):
    """reader-doc begins like reader, and brief is too short."""
    for name, text in (("Translation-en", ENGLISH), ("Translation-de", GERMAN), ("Packages", PACKAGES)):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    pairs = descriptions.translation(tmp_path, "de")["test"]
    assert [(row["en"][:22], row["de"][:22]) for row in pairs] == [
        ("reads and writes files", "liest und schreibt Dat"),
        ("The first program of i", "Das erste Programm sei"),
        ("Known forms: * plain t", "Bekannte Formen: - ein"),
    ]
    (summary,) = (row for part in descriptions.summaries(tmp_path).values() for row in part)
    text = f"{LONG}\nKnown forms: * plain text"
    assert summary == {"document": text, "summary": "reads and writes files", "doc": "read"}
    (page,) = (row for part in descriptions.sections(tmp_path).values() for row in part)
    assert page["footer"] == "Tag: use::reading, works-with::text"
    assert (page["header"], page["body"], page["label"]) == ("reads and writes files", text, "utils")
    assert page["label"] in PACKAGE_SECTIONS


def test_a_corpus_is_added_as_it_was_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path))
    root = tmp_path / "sources" / python_docs.PACKAGE / "usr/share/doc/python3.99/html/_sources"
    pages = {f"library/m{i}.rst.txt": f"Module {i}\n========\n\n  é\n" for i in range(60)}
    (root / "library").mkdir(parents=True)
    for name, text in pages.items():
        (root / name).write_text(text)
    make.main(["python-docs"])
    splits = manifest("own/python-docs")["splits"]
    rows = [row for split in splits for row in load_source("own/python-docs", split)]
    assert {row["doc"]: row["text"] for row in rows} == pages
    assert "as measured: another revision" in capsys.readouterr().out
