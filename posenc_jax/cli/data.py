"""``posenc data``: corpora of real text, made ready and listed."""

from __future__ import annotations

import argparse
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

from posenc_jax.cli.data_add import ADD, add, add_options
from posenc_jax.cli.errors import Parser, as_path, guarded
from posenc_jax.cli.screen import show, tell

if TYPE_CHECKING:
    from posenc_jax.data.corpora import Corpus

DESCRIPTION = """Corpora of text: `prepare` downloads Debian packages, extracts their text and writes it as data sets of
TensorFlow Datasets, or makes texts by a small grammar (grammar/en-de, grammar/reports), which needs no network; `list`
shows what there is. Nothing of a corpus of real text is part of this project."""
PREPARE = """Makes corpora ready; one that is there and whole stays as it is. The packages come through apt, which needs
no root. On a machine without apt, or without a network, --from-dir names a folder like this one (which is also what
the download leaves in the directory's sub-folder `sources`):

    DIR/libreoffice-help-de/usr/share/...   a sub-folder for each package: dpkg-deb -x FILE.deb DIR/libreoffice-help-de
    DIR/Packages, DIR/Translation-de.xz     the archive's indexes, plain or compressed (.gz, .bz2, .xz, .lz4)

`posenc data list` says which packages and indexes a corpus needs. Unpacked packages stay in `sources`; delete it for
newer revisions, or to save space."""
DIRECTORY = "where prepared corpora lie (default: $POSENC_DATA, else posenc_jax/data in $XDG_CACHE_HOME or ~/.cache)"


def main(arguments: list[str]) -> int:
    parser = Parser("posenc data", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="prepare|add|list")
    prepare = commands.add_parser("prepare", help="make corpora ready", description=PREPARE)
    prepare.add_argument("names", nargs="+", metavar="NAME", help="a corpus, such as help/en-de")
    prepare.add_argument("--from-dir", type=as_path, metavar="DIR", help="read unpacked packages, download nothing")
    prepare.add_argument("--strict", action="store_true", help="refuse text that is not, to the byte, what is expected")
    prepare.add_argument("--rebuild", action="store_true", help="make anew what is there, if it is damaged or old")
    add_options(commands.add_parser("add", help="texts of your own", description=ADD))
    listing = commands.add_parser("list", help="show the corpora, and which are ready")
    for command in (prepare, commands.choices["add"], listing):
        command.add_argument("--directory", type=as_path, metavar="DIR", help=DIRECTORY)
    return guarded(lambda: _run(parser.parse_args(arguments)))


def _run(options: argparse.Namespace) -> None:
    directory = options.directory
    if options.command == "list":
        show(_listing(directory))
        return
    begun = time.monotonic()

    def note(text: str) -> None:
        tell(f"[{time.monotonic() - begun:5.1f} s] {text}")

    if options.command == "add":
        add(options, note)
        return
    from posenc_jax.data.corpora.store import corpus_of, prepare

    for name in options.names:  # all of them before work on the first
        corpus_of(name)
    for name in options.names:
        prepare(
            name,
            directory=directory,
            from_dir=options.from_dir,
            strict=options.strict,
            rebuild=options.rebuild,
            note=note,
        )


def _listing(directory: Path | None) -> str:
    from posenc_jax.data.corpora import CORPORA
    from posenc_jax.data.corpora.store import data_directory, home_of, is_prepared, manifest, own_names
    from posenc_jax.data.errors import DataError

    lines = [f"Corpora in {directory or data_directory()} (posenc data prepare NAME makes one ready).", ""]

    def add(name: str, known: Corpus | None = None) -> None:
        found, state = None, "not prepared"
        if known is None or is_prepared(name, directory):
            try:
                found = manifest(name, directory)
                counts = ", ".join(f"{split} {part['count']:,}" for split, part in found["splits"].items())
                state = f"{counts} rows in {home_of(name, directory)}"
            except DataError as error:
                state = f"damaged: {error}"
        more = []
        if known is not None:
            name = f"{name} ({known.kind}: {', '.join(known.columns)})"
            origin = ", ".join((*known.packages, *known.indexes)) or "a grammar of this package: needs no network"
            more = [f"from {origin}", f"licence: {known.licence}"]
        elif found is not None:
            name = f"{name} ({found['kind']}: {', '.join(found['columns'])})"
            more = [f"from {_some(list(found['sources']))}", f"licence: {found['licence']}"]
        lines.extend([f"  {name}", *(textwrap.indent(line, " " * 6) for line in (state, *more))])

    for corpus in CORPORA.values():
        add(corpus.name, corpus)
    for name in own_names(directory):
        add(name)
    lines += ["", "Texts of your own: posenc data add NAME --text FILE ..., --jsonl, --csv, --folder and more."]
    lines += ["", "Other names are looked up on the hub of TensorFlow Datasets: wmt14_translate/de-en, scan, lm1b, ..."]
    return "\n".join(lines)


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])}, ... ({len(names):,} files)"
