"""Descriptions of Debian packages: their translations, their synopses as summaries, and their sections as classes.

A description is a synopsis of one line and paragraphs; the archive's index Translation-en has those of all packages,
Translation-de and others what volunteers translated, known by the hash of the English text. The index Packages has
what else is known of a package: the source package it is built from, its section, tags, dependencies, homepage.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.corpora.clean import clean
from experiments.corpora.debian import index, stanzas
from posenc_jax.data.corpora.corpus import Row, Rows, split_rows

MIN_BODY_WORDS, MIN_SUMMARY_WORDS = 25, 3
SAME_START = 120
"""Descriptions that begin with the same so many characters, whatever their case, count as the same."""
NUM_SECTIONS = 20
PACKAGE_SECTIONS = (
    *("admin", "devel", "doc", "games", "gnu-r", "golang", "haskell", "java", "javascript", "libdevel", "libs"),
    *("misc", "net", "perl", "python", "ruby", "science", "sound", "utils", "x11"),
)
"""The classes that `sections` gives."""
NO_BREAK = "\N{DOT OPERATOR}"
"""What French translators write for a space at which a line must not break; it is read as a space."""
FOOTER_FIELDS = ("Tag", "Depends", "Homepage")


class Description(NamedTuple):
    """A description: the (binary) package that it describes first, its synopsis, its paragraphs in one line each."""

    package: str
    synopsis: str
    paragraphs: tuple[str, ...]


def translation(folder: Path, language: str) -> Rows:
    """Pairs of an English synopsis or paragraph and its translation, all of them test examples; "doc" is the package.

    Paragraphs are paired by their order where both descriptions have the same number; that is nearly all. Dropped is
    what ``clean`` refuses; of pairs with the same English text the first stays. A fifth of the pairs has "This package
    contains ..." and the like, often told from others only by a name.
    """
    english, other = descriptions(folder, "en"), descriptions(folder, language)
    rows: list[Row] = []
    seen: set[str] = set()
    for md5, translated in other.items():
        original = english.get(md5)
        if original is None or len(original.paragraphs) != len(translated.paragraphs):
            continue
        originals = (original.synopsis, *original.paragraphs)
        for text, match in zip(originals, (translated.synopsis, *translated.paragraphs)):
            if text not in seen and clean(text, match, language):
                seen.add(text)
                rows.append({"en": text, language: match, "doc": original.package})
    return {"test": rows}


def summaries(folder: Path) -> Rows:
    """Descriptions and their synopses as summaries, by the split of their source package.

    At least 25 words and a synopsis of at least 3; of descriptions that begin with the same 120 characters the first
    stays. Without descriptions of packages that the index Packages lacks (those of other architectures): their source
    package is not known, and so neither is their split.
    """
    rows = [
        {"document": "\n".join(description.paragraphs), "summary": description.synopsis, "doc": _source(stanza)}
        for description, stanza in _long(folder)
    ]
    return split_rows(rows)


def sections(folder: Path) -> Rows:
    """One description for each source package, and the section of the archive that its package is in.

    The first of those that ``summaries`` keeps, if its section is one of the 20 most frequent. Header is the synopsis,
    body the description, footer the lines of tags, dependencies and homepage, which nearly state the class.
    """
    first: dict[str, tuple[Description, dict[str, str]]] = {}
    for description, stanza in _long(folder):
        first.setdefault(_source(stanza), (description, stanza))
    count = Counter(_section(stanza) for _, stanza in first.values())
    labels = sorted(count, key=lambda label: (-count[label], label))[:NUM_SECTIONS]
    rows = [
        {
            "header": description.synopsis,
            "body": "\n".join(description.paragraphs),
            "footer": "\n".join(f"{name}: {_line(stanza[name])}" for name in FOOTER_FIELDS if stanza.get(name)),
            "label": _section(stanza),
            "doc": source,
        }
        for source, (description, stanza) in first.items()
        if _section(stanza) in labels
    ]
    return split_rows(rows)


def descriptions(folder: Path, language: str) -> dict[str, Description]:
    """All descriptions in a language by the hash of their English text, in the order of the index."""
    found: dict[str, Description] = {}
    for stanza in stanzas(index(f"Translation-{language}", folder)):
        package, md5, text = (stanza[name] for name in ("Package", "Description-md5", f"Description-{language}"))
        if md5 not in found:
            synopsis, *lines = text.replace(NO_BREAK, " ").split("\n")
            found[md5] = Description(package, _line(synopsis), tuple(_paragraphs(lines)))
    return found


def _long(folder: Path) -> Iterator[tuple[Description, dict[str, str]]]:
    packages: dict[str, dict[str, str]] = {}
    for stanza in stanzas(index("Packages", folder)):
        packages.setdefault(stanza["Package"], stanza)
    seen: set[str] = set()
    for description in descriptions(folder, "en").values():
        stanza = packages.get(description.package, {})
        body = " ".join(description.paragraphs)
        start = body[:SAME_START].lower()
        long = len(body.split()) >= MIN_BODY_WORDS and len(description.synopsis.split()) >= MIN_SUMMARY_WORDS
        if stanza and long and start not in seen:
            seen.add(start)
            yield description, stanza


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """The paragraphs of a description, which lines of one full stop part; lists and examples are joined like text."""
    current: list[str] = []
    for line in [*lines, "."]:
        if line.strip() != ".":
            current.append(line)
        elif current:
            yield _line(" ".join(current))
            current = []


def _line(text: str) -> str:
    return " ".join(text.split())


def _source(stanza: dict[str, str]) -> str:
    """The source package; the field is missing where it has the same name, and may have a version: "gcc-12 (12.2)"."""
    return (stanza.get("Source") or stanza["Package"]).split()[0]


def _section(stanza: dict[str, str]) -> str:
    """The section without the part of the archive: "contrib/net" is "net"."""
    return stanza.get("Section", "").rpartition("/")[2] or "unknown"
