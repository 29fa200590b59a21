"""Corpora of real text, from Debian packages, and of a grammar's sentences. Nothing of the former is part of this
project: they are prepared on demand.
"""

import functools

from posenc_jax.data.corpora import descriptions, grammar, libreoffice, python_docs
from posenc_jax.data.corpora.corpus import Corpus as Corpus

_HELP_LICENCE = "MPL-2.0, parts Apache-2.0 (the packages' copyright files)"
_DESCRIPTIONS_LICENCE = "that of each described source package; use locally, do not redistribute"
_CLASSIFICATION = ("header", "body", "footer", "label", "doc")


def _help(language: str, sha256: str) -> Corpus:
    return Corpus(
        name=f"help/en-{language}",
        kind="translation",
        columns=("en", language, "doc"),
        licence=_HELP_LICENCE,
        extract=functools.partial(libreoffice.translation, language=language),
        packages=(libreoffice.package("en"), libreoffice.package(language)),
        sha256=sha256,
    )


def _descriptions(language: str, sha256: str) -> Corpus:
    return Corpus(
        name=f"descriptions/en-{language}",
        kind="translation",
        columns=("en", language, "doc"),
        licence=_DESCRIPTIONS_LICENCE,
        extract=functools.partial(descriptions.translation, language=language),
        indexes=("Translation-en", f"Translation-{language}"),
        splits=("test",),
        sha256=sha256,
    )


_ALL = (
    _help("de", "e639c3cb894d1d6bcfdadca28b8ba1dddc0d31fcf6b86bfb834f706a14c9de47"),
    _help("fr", "4dd427e1603860e1dcf6d4eb49418df6dd55c08211e42300121279b84d47b1bf"),
    _help("ja", "0d60278ec5bae8f18aae86cec09a35282dd4968cde80b6cc93038a7214cff297"),
    Corpus(
        name="help/modules",
        kind="classification",
        columns=_CLASSIFICATION,
        licence=_HELP_LICENCE,
        extract=libreoffice.modules,
        packages=(libreoffice.package("en"),),
        sha256="1f835a5f9255dfb9d5a222aee2e43eb6148600942e57f1aed18578e4c750e7b0",
    ),
    _descriptions("de", "cdee5fe169fd95f0d90d947f54079f894bff5e4618926987d4c43b4490e9e62a"),
    _descriptions("fr", "c6912b780fd7149185d3a3b171422e643b984e8812d3e74718020a96347d6eff"),
    Corpus(
        name="descriptions/summaries",
        kind="summarization",
        columns=("document", "summary", "doc"),
        licence=_DESCRIPTIONS_LICENCE,
        extract=descriptions.summaries,
        indexes=("Packages", "Translation-en"),
        sha256="c011c704e5cc2e56fb6a3aeb1f18bf6416b29a8d04f00c08ff253c16f34d27ef",
    ),
    Corpus(
        name="descriptions/sections",
        kind="classification",
        columns=_CLASSIFICATION,
        licence=_DESCRIPTIONS_LICENCE,
        extract=descriptions.sections,
        indexes=("Packages", "Translation-en"),
        sha256="9ff4a9b1ad7d01ab662d8d735fd25ba24debb114c885045bcb92595d80ad3c5f",
    ),
    Corpus(
        name="python_docs",
        kind="text",
        columns=("text", "doc"),
        licence="PSF-2.0",
        extract=python_docs.documents,
        packages=("python3-doc",),
        sha256="e3fa06a7a341e4bc1f80037f18a03d0d53719322ef058aea8366cae24c07d4c9",
    ),
    Corpus(
        name="grammar/en-de",
        kind="translation",
        columns=("en", "de", "doc"),
        licence="that of this package",
        extract=grammar.translation,
        sha256="43da7d18510936c04e6047cf92903520427afae8c24c6a96d0e978839411917c",
    ),
    Corpus(
        name="grammar/reports",
        kind="summarization",
        columns=("document", "summary", "doc"),
        licence="that of this package",
        extract=grammar.reports,
        sha256="16fc060eb8bd11f32adf42b86438d5fbcc5601c9090a5b2c241c5f8eeaefbf7b",
    ),
)
CORPORA: dict[str, Corpus] = {corpus.name: corpus for corpus in _ALL}
"""The local corpora by name."""
