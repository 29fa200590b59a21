"""Descriptions of packages: what is read from the indexes of an archive, what is kept, and where it goes."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from posenc_jax.data.corpora.corpus import DataError, split_of
from posenc_jax.data.corpora.descriptions import sections, summaries, translation
from posenc_jax.data.corpora.indexes import stanzas

LONG = (
    " The first program of its kind reads files of many forms and writes\n"
    " them in any other form, as long as the two forms are known to it.\n"
)
ENGLISH = f"""\
Package: reader
Description-md5: aa
Description-en: reads and writes files
{LONG} .
 Known  forms:
  * plain text
  * tables

Package: reader-doc
Description-md5: bb
Description-en: manual of the reader
{LONG.upper()} .
 It begins like the other, in capitals.

Package: libtwo-dev
Description-md5: cc
Description-en: second library, headers
 Headers that a program needs which is built with the second library, and
 the static library, for those who want one file, with no others at all.

Package: libtwo2
Description-md5: dd
Description-en: second library, shared objects
 Shared objects which a program loads that was built with the second
 library, of which many may be installed at once, one for each version.

Package: elsewhere
Description-md5: ee
Description-en: runs on other machines
 No package of this machine has this description, which is still long enough
 for an example, if only its source package were known, and with it a split.

Package: brief
Description-md5: ff
Description-en: short and sweet
 Too few words.

Package: namesake
Description-md5: gg
Description-en: two words
 This description has words enough to be an example, and more than that, but
 it has a synopsis which is too short to be the summary of it, or of others.

Package: again
Description-md5: aa
Description-en: reads and writes files
{LONG}"""
PACKAGES = """\
Package: brief
Section: misc

Package: libtwo-dev
Source: two (2.1-3)
Section: contrib/libdevel
Depends: libtwo2 (= 2.1-3),
 libc6-dev

Package: libtwo2
Source: two (2.1-3)
Section: libs

Package: namesake
Section: text

Package: reader
Section: utils
Homepage: https://example.org
Tag: role::program, use::reading,
 works-with::text
Maintainer: nobody <nobody@example.org>

Package: reader-doc
Source: reader
Section: doc
"""
GERMAN = """\
Package: reader
Description-md5: aa
Description-de: liest und schreibt Dateien
 Das erste Programm seiner Art liest Dateien vieler Formen und schreibt sie in jeder anderen, so beide
 ihm bekannt sind.
 .
 Bekannte⋅Formen: - einfacher Text - Tabellen

Package: libtwo-dev
Description-md5: cc
Description-de: zweite Bibliothek, Kopfdateien
 Ein Absatz.
 .
 Noch ein Absatz, den das Original nicht hat.

Package: libtwo2
Description-md5: dd
Description-de: second library, shared objects
 Gemeinsame Objekte.

Package: unknown
Description-md5: 00
Description-de: eine Beschreibung, deren Original fehlt
 Kein Original.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An archive of seven descriptions, under names as apt gives them."""
    start = "deb.debian.org_debian_dists_stable_main"
    (tmp_path / f"{start}_i18n_Translation-en").write_text(ENGLISH)
    (tmp_path / f"{start}_i18n_Translation-de").write_text(GERMAN)
    (tmp_path / f"{start}_binary-amd64_Packages").write_text(PACKAGES)
    return tmp_path


def everything(rows):
    return {row["doc"]: row for split in ("train", "validation", "test") for row in rows[split]}


def test_paragraphs_are_paired_with_their_translations(folder):
    # libtwo-dev has another number of paragraphs; libtwo2's synopsis is not translated, its text is too short a match
    assert translation(folder, "de") == {
        "test": [
            {"en": "reads and writes files", "de": "liest und schreibt Dateien", "doc": "reader"},
            {
                "en": "The first program of its kind reads files of many forms and writes them in any other form, as "
                "long as the two forms are known to it.",
                "de": "Das erste Programm seiner Art liest Dateien vieler Formen und schreibt sie in jeder anderen, so "
                "beide ihm bekannt sind.",
                "doc": "reader",
            },
            {
                "en": "Known forms: * plain text * tables",
                "de": "Bekannte Formen: - einfacher Text - Tabellen",
                "doc": "reader",
            },
        ]
    }


def test_an_english_text_has_one_translation(folder):
    path = next(folder.glob("*Translation-de"))
    path.write_text(GERMAN.replace("-md5: 00", "-md5: ff"))
    english = next(folder.glob("*Translation-en"))
    english.write_text(ENGLISH.replace("short and sweet", "reads and writes files"))
    found = [row["de"] for row in translation(folder, "de")["test"] if row["en"] == "reads and writes files"]
    assert found == ["liest und schreibt Dateien"]


def test_a_synopsis_is_the_summary_of_its_description(folder):
    # reader-doc begins like reader; elsewhere has no source; brief and namesake are short; again is reader once more
    rows = summaries(folder)
    every = [row for split in rows for row in rows[split]]
    assert sorted(row["summary"] for row in every) == [
        "reads and writes files",
        "second library, headers",
        "second library, shared objects",
    ]
    assert {row["doc"] for row in every} == {"reader", "two"}
    assert all(split_of(row["doc"]) == split for split in rows for row in rows[split])
    assert [row["document"] for row in every if row["doc"] == "reader"] == [
        "The first program of its kind reads files of many forms and writes them in any other form, as long as the two "
        "forms are known to it.\nKnown forms: * plain text * tables"
    ]


def test_packages_of_one_source_are_in_one_split(tmp_path):
    english, packages = [], []
    for i in range(400):
        english.append(
            f"Package: p{i}\nDescription-md5: {i}\nDescription-en: number {i} of many\n {f'word{i} ' * 30}\n"
        )
        packages.append(f"Package: p{i}\nSource: s{i % 100}\nSection: misc\n")
    (tmp_path / "Translation-en").write_text("\n".join(english))
    (tmp_path / "Packages").write_text("\n".join(packages))
    rows = summaries(tmp_path)
    docs = {split: {row["doc"] for row in rows[split]} for split in rows}
    assert sum(map(len, rows.values())) == 400
    assert all(docs.values())
    assert sum(map(len, docs.values())) == 100
    assert all(split_of(doc) == split for split in docs for doc in docs[split])


def test_sections_are_classes_of_source_packages(folder):
    found = everything(sections(folder))
    assert set(found) == {"reader", "two"}
    assert found["reader"] == {
        "header": "reads and writes files",
        "body": "The first program of its kind reads files of many forms and writes them in any other form, as long as "
        "the two forms are known to it.\nKnown forms: * plain text * tables",
        "footer": "Tag: role::program, use::reading, works-with::text\nHomepage: https://example.org",
        "label": "utils",
        "doc": "reader",
    }
    assert found["two"]["label"] == "libdevel"
    assert found["two"]["footer"] == "Depends: libtwo2 (= 2.1-3), libc6-dev"


def test_only_the_twenty_largest_sections_are_classes(tmp_path):
    sizes = {f"s{i:02}": 2 + (i % 2) for i in range(22)}  # of the even ones, size 2, the last in the alphabet go
    names = [f"{section}{i}" for section in sizes for i in range(sizes[section])]
    text = "Package: {0}\nDescription-md5: {0}\nDescription-en: a b c\n {1}\n"
    (tmp_path / "Translation-en").write_text("\n".join(text.format(n, f"{n} " * 30) for n in names))
    (tmp_path / "Packages").write_text("\n".join(f"Package: {n}\nSection: {n[:3]}\n" for n in names))
    labels = {row["label"] for row in everything(sections(tmp_path)).values()}
    assert labels == set(sizes) - {"s18", "s20"}


def test_indexes_may_be_compressed_and_those_of_updates_are_not_read(folder):
    plain = summaries(folder)
    for path in list(folder.iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for part in ("debian-security_dists_stable-security", "debian_dists_stable-updates"):
        (folder / f"deb.debian.org_{part}_main_i18n_Translation-en").write_text(ENGLISH.replace("kind", "sort"))
    assert summaries(folder) == plain


def message(error_info) -> str:
    return str(error_info.value)


def test_a_missing_index_says_what_is_there_and_how_to_get_it(folder):
    (folder / "x_stable-security_main_i18n_Translation-fr").write_text(GERMAN)
    with pytest.raises(DataError) as error:
        translation(folder, "fr")
    assert f"{folder} holds no index Translation-fr, only x_stable-security" in message(error)
    assert "Acquire::Languages" in message(error)
    next(folder.glob("*Packages")).unlink()
    with pytest.raises(DataError, match="holds no index Packages: the folder needs"):
        sections(folder)


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"Package: a\n<html>\n", ("line 2: '<html>' is neither a field", "fetch it again")),
        (b" first\n", ("line 1: ' first' is neither",)),
        (b"Package: a\nDescription-md5: b\nDescription-en: caf\xe9 au lait\n", ("0xe9 at offset 49", "Translation-en")),
        (b"Package: a\nDescription-md5: b\n", ("has no Description-en, which each one needs", "Package")),
        (b"Package: a\nDescription-md5: b\nDescription-en: c d e\n f\n", ("no description of 25 words", "whole")),
        (b"", ("no description of 25 words", "whole")),
    ],
)
def test_damaged_indexes_are_errors_that_say_where(tmp_path, data, parts):
    (tmp_path / "Translation-en").write_bytes(data)
    (tmp_path / "Packages").write_text("Package: a\nSection: misc\n")
    with pytest.raises(DataError) as error:
        summaries(tmp_path)
    assert all(part in message(error) for part in parts), message(error)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "lz4"])
def test_what_cannot_be_decompressed_is_an_error(tmp_path, ending):
    path = tmp_path / f"Packages.{ending}"
    path.write_bytes(b"not compressed")
    with pytest.raises(DataError, match=rf"Packages.{ending} cannot be decompressed: .*; "):
        list(stanzas(tmp_path, "Packages"))
    if ending != "lz4":
        whole = {"gz": gzip, "bz2": bz2, "xz": lzma}[ending].compress(PACKAGES.encode())
        for damaged in (whole[:-20], whole[:20] + bytes([whole[20] ^ 255]) + whole[21:]):
            path.write_bytes(damaged)
            with pytest.raises(DataError, match="the file is damaged: fetch it again"):
                list(stanzas(tmp_path, "Packages"))
