"""``posenc data add``: a corpus of the user's own texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc_jax.cli.errors import UsageError, as_path
from posenc_jax.cli.screen import shell_words, show
from posenc_jax.files.checksums import sha256_of_files

if TYPE_CHECKING:
    from posenc_jax.data.corpora.fields import Fields

ADD = """Make a corpus of your own texts, stored like the others in the format of TensorFlow Datasets. Texts are read,
counted and split by the hash of their document (or as given); no text is in two splits, and hashes of everything
that was read are kept. Your files are never changed. A field within another one of JSON is named OUTER.INNER.

    posenc data add plays --text hamlet.txt othello.txt --validation macbeth.txt --test lear.txt
    posenc data add chat --jsonl chat.jsonl --source question --target answer
    posenc data add papers --jsonl papers.jsonl --field title abstract method --label area
    posenc data add reviews --folder reviews/          reviews/good/1.txt, reviews/bad/7.txt, ...

Records that cannot be used are counted and named; if their share exceeds --most-malformed, no corpus is made."""
FORMS = {
    "text": "plain UTF-8 texts, one document per file",
    "jsonl": "files with one JSON object per line, or with one list of objects",
    "csv": "tables whose first line names the fields, separated by commas, semicolons or tabs",
    "parquet": "Parquet files (needs pyarrow)",
    "folder": "one sub-folder of texts per class: DIR/CLASS/FILE",
    "saved": "a folder written by save_to_disk of Hugging Face datasets (needs pyarrow)",
}
_FOLDERS = ("folder", "saved")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("name", metavar="NAME", help="name of the corpus, used as --data.name own/NAME")
    forms = parser.add_mutually_exclusive_group(required=True)
    for form, about in FORMS.items():
        many: dict[str, Any] = {} if form in _FOLDERS else {"nargs": "+"}
        forms.add_argument(f"--{form}", type=as_path, metavar="FILE" if many else "DIR", help=about, **many)
    forms.add_argument("--builder", help=argparse.SUPPRESS)
    add("--source", metavar="FIELD", help="pairs: the field that the model reads")
    add("--target", metavar="FIELD", help="pairs: the field that the model writes")
    add(
        "--field",
        metavar="FIELD",
        nargs="+",
        help="texts: their field; documents: the fields of their sections, in order",
    )
    add("--label", metavar="FIELD", help="texts with classes: the field of the class")
    add(
        "--document",
        metavar="FIELD",
        help="the field that says which rows belong together (default: each text is a document)",
    )
    for split in ("validation", "test"):
        add(f"--{split}", type=as_path, nargs="+", metavar="FILE", help=f"{split} files (default: held out by hash)")
    add(
        "--structure",
        choices=("markdown", "html", "spans"),
        help="structure of documents with classes, for --task.structure; those that do not nest are left out as "
        "malformed",
    )
    add(
        "--licence",
        default="not stated",
        metavar="TEXT",
        help="licence of the texts, stored with them (default: not stated)",
    )
    add(
        "--most-malformed",
        type=float,
        default=0.01,
        metavar="SHARE",
        help="largest share of records that may be left out (default: 0.01)",
    )
    add("--rebuild", action="store_true", help="replace an existing corpus of this name")


def add(options: argparse.Namespace, note: Callable[[str], None]) -> None:
    from posenc_jax.data.corpora import own
    from posenc_jax.data.corpora.own import nested, structure_of
    from posenc_jax.data.corpora.store import OWN, check_own, is_prepared

    if options.builder:
        raise UsageError("--builder is gone: write the examples as JSON lines, and give them as --jsonl FILE")
    name = f"{OWN}{options.name}"
    check_own(name)
    if is_prepared(name, options.directory) and not options.rebuild:
        raise UsageError(f"{name} is there already: choose another name, or say --rebuild to replace it")
    if not 0 <= options.most_malformed < 1:
        raise UsageError(f"--most-malformed {options.most_malformed} must be a share, from 0 to below 1")
    form: Any = next(form for form in FORMS if getattr(options, form))
    fields, paths = _fields(form, options), _paths(form, options)
    if options.structure and not (fields.text and fields.label):
        raise UsageError(
            f"--structure {options.structure} is for documents with classes: give them as --folder, or by one --field "
            "and --label; or leave it out"
        )
    found: dict[str, Any] = {}
    for split, part in paths.items():
        found |= {inner or split: records for inner, records in own.records(form, part, fields).items()}
    of_many_lines = form in ("text", "folder")
    if options.structure:
        found = nested(found, str(fields.text), options.structure, of_many_lines=of_many_lines)
    taken = own.take(found, fields, options.most_malformed, of_many_lines=of_many_lines)
    sources = {str(path): sha256_of_files(path) for part in paths.values() for path in part}
    facts = {"licence": options.licence, "read_as": form, "sources": sources}
    named_as = structure_of(options.folder) if form == "folder" and not options.structure else None
    facts |= {"structure": options.structure} if options.structure else {}
    facts |= {"named_as": named_as} if named_as else {}
    own.add_own(options.name, taken, fields, facts, directory=options.directory, rebuild=options.rebuild, note=note)
    if named_as:
        _note_structure(options.folder, named_as, note)
    place = f"POSENC_DATA={shell_words([str(options.directory.absolute())])} " if options.directory else ""
    show(f"train on it: {place}posenc train --on {name}; compare encodings on it: {place}posenc ablate --on {name}")


def _note_structure(folder: Path, structure: str, note: Callable[[str], None]) -> None:
    """Says which documents of a folder do not nest, whose files have this structure by their names."""
    from posenc_jax.data.corpora import own, reading
    from posenc_jax.data.corpora.own import nested

    documents = (one for one in reading.classes(folder) if not isinstance(one[1], reading.Malformed))
    checked = nested({"": documents}, "text", structure, of_many_lines=True)[""]
    wrong = [(location, record.why) for location, record in checked if isinstance(record, reading.Malformed)]
    if wrong:
        note(
            f"{len(wrong):,} documents do not nest: {own.listed(wrong)}; --task.structure {structure} refuses them: "
            f"mend them, or leave them out with --structure {structure}"
        )


def _paths(form: str, options: argparse.Namespace) -> dict[str, list[Path]]:
    """The files of each split; UsageError for what is not there."""
    given = {split: getattr(options, split) for split in ("validation", "test") if getattr(options, split)}
    if form in _FOLDERS:
        if given:
            raise UsageError(f"--{next(iter(given))} is for files, and --{form} has splits or is split: leave it out")
        paths = {"train": [getattr(options, form)]}
    else:
        paths = {"train": getattr(options, form), **given}
    for path in (path for part in paths.values() for path in part):
        if not (path.is_dir() if form in _FOLDERS else path.is_file()):
            what = "folder" if form in _FOLDERS else "file"
            raise UsageError(f"--{form}: {path} is no {what}" if path.exists() else f"--{form}: there is no {path}")
    return paths


def _fields(form: str, options: argparse.Namespace) -> Fields:
    from posenc_jax.data.corpora.fields import Fields

    if form in ("text", "folder"):
        names = ("source", "target", "field", "label", "document")
        if unused := [name for name in names if getattr(options, name)]:
            raise UsageError(f"--{unused[0]} names a field, and --{form} has none: leave it out")
        return Fields(text="text", label="label" if form == "folder" else None)
    given = options.field or [None]
    text, sections = (given[0], ()) if len(given) == 1 else (None, tuple(given))
    return Fields(text, options.label, options.source, options.target, options.document, sections)
