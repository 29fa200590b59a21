"""The corpora of real text that experiments read, made of Debian packages: none of their text is part of this project.

    python -m experiments.corpora.make help-en-de              # then: --data.name own/help-en-de
    python -m experiments.corpora.make help-en-de --sources DIR

Packages and indexes are downloaded into DIR (default: `sources` in the folder of corpora, $POSENC_DATA) unless they are
there; see `debian` for its layout.
"""

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from experiments.corpora import descriptions, libreoffice, python_docs
from experiments.corpora.debian import package, version
from posenc_jax.data.corpora.corpus import Kind, Rows
from posenc_jax.data.corpora.store import OWN, add, data_directory, manifest

HELP = "MPL-2.0, parts Apache-2.0 (the packages' copyright files)"
OF_EACH = "that of each described source package; use locally, do not redistribute"


class Corpus(NamedTuple):
    """A corpus: what its rows are, what they are made of, and the hash that they had when they were first measured.

    Packages are revised. The hash of `python-docs` is that of its state at the time of the experiments; scores compare
    only where the hash is the same.
    """

    kind: Kind
    columns: tuple[str, ...]
    licence: str
    rows: Callable[[Path], Rows]
    packages: tuple[str, ...]
    sha256: str


def _help(language: str, sha256: str) -> Corpus:
    rows = functools.partial(libreoffice.translation, language=language)
    packages = (libreoffice.package("en"), libreoffice.package(language))
    return Corpus("translation", ("en", language, "doc"), HELP, rows, packages, sha256)


def _descriptions(language: str, sha256: str) -> Corpus:
    rows = functools.partial(descriptions.translation, language=language)
    return Corpus("translation", ("en", language, "doc"), OF_EACH, rows, (), sha256)


CLASSES = ("header", "body", "footer", "label", "doc")
CORPORA = {
    "help-en-de": _help("de", "e639c3cb894d1d6bcfdadca28b8ba1dddc0d31fcf6b86bfb834f706a14c9de47"),
    "help-en-fr": _help("fr", "4dd427e1603860e1dcf6d4eb49418df6dd55c08211e42300121279b84d47b1bf"),
    "help-en-ja": _help("ja", "0d60278ec5bae8f18aae86cec09a35282dd4968cde80b6cc93038a7214cff297"),
    "help-modules": Corpus(
        "classification",
        CLASSES,
        HELP,
        libreoffice.modules,
        (libreoffice.package("en"),),
        "1f835a5f9255dfb9d5a222aee2e43eb6148600942e57f1aed18578e4c750e7b0",
    ),
    "descriptions-en-de": _descriptions("de", "cdee5fe169fd95f0d90d947f54079f894bff5e4618926987d4c43b4490e9e62a"),
    "descriptions-en-fr": _descriptions("fr", "c6912b780fd7149185d3a3b171422e643b984e8812d3e74718020a96347d6eff"),
    "descriptions-summaries": Corpus(
        "summarization",
        ("document", "summary", "doc"),
        OF_EACH,
        descriptions.summaries,
        (),
        "c011c704e5cc2e56fb6a3aeb1f18bf6416b29a8d04f00c08ff253c16f34d27ef",
    ),
    "descriptions-sections": Corpus(
        "classification",
        CLASSES,
        OF_EACH,
        descriptions.sections,
        (),
        "9ff4a9b1ad7d01ab662d8d735fd25ba24debb114c885045bcb92595d80ad3c5f",
    ),
    "python-docs": Corpus(
        "text",
        ("text", "doc"),
        "PSF-2.0",
        python_docs.documents,
        (python_docs.PACKAGE,),
        "e3fa06a7a341e4bc1f80037f18a03d0d53719322ef058aea8366cae24c07d4c9",
    ),
}


def make(name: str, sources: Path) -> None:
    """Adds one of `CORPORA` as ``own/NAME``, with the rows exactly as they were read; one that is there is replaced."""
    corpus = CORPORA[name]
    sources.mkdir(parents=True, exist_ok=True)
    read = {part: version(package(part, sources)) for part in corpus.packages}
    facts = {
        "kind": corpus.kind,
        "licence": corpus.licence,
        "sources": read or {"indexes of the Debian archive": ""},
        "expected_sha256": corpus.sha256,
    }
    add(f"{OWN}{name}", corpus.rows(sources), corpus.columns, facts, rebuild=True)
    found = manifest(f"{OWN}{name}", verify=False)["sha256"]
    if found != corpus.sha256:
        print(f"its text has sha256 {found[:16]}..., not {corpus.sha256[:16]}... as measured: another revision")


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser("experiments.corpora.make", description=__doc__)
    parser.add_argument("names", nargs="+", choices=CORPORA, metavar="NAME", help=", ".join(CORPORA))
    parser.add_argument("--sources", type=Path, help="folder of unpacked packages and of indexes")
    options = parser.parse_args(words)
    for name in options.names:
        make(name, (options.sources or data_directory() / "sources").absolute())


if __name__ == "__main__":
    main(sys.argv[1:])
