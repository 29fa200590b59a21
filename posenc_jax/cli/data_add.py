"""``posenc data add``: a corpus of the user's own texts."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc_jax.cli.errors import UsageError, as_path, first_line
from posenc_jax.cli.screen import shell_words, show
from posenc_jax.files.checksums import sha256_of_files
from posenc_jax.refusals.own_exits import exits_as_errors

if TYPE_CHECKING:
    from posenc_jax.data.corpora.fields import Fields

ADD = """Make a corpus of your own texts, stored like the others in the format of TensorFlow Datasets. Texts are read,
counted and split by the hash of their document (or as given); no text is in two splits, and hashes of everything
that was read are kept. Your files are never changed. A field within another one of JSON is named OUTER.INNER.

    posenc data add plays --text hamlet.txt othello.txt --validation macbeth.txt --test lear.txt
    posenc data add chat --jsonl chat.jsonl --source question --target answer
    posenc data add papers --jsonl papers.jsonl --field title abstract method --label area
    posenc data add reviews --folder reviews/          reviews/good/1.txt, reviews/bad/7.txt, ...
    posenc data add mine --builder my_builder.py:Mine --field text

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
    forms.add_argument(
        "--builder", metavar="BUILDER", help="a TFDS builder: FILE.py:Class[/CONFIG] or package.module:Class[/CONFIG]"
    )
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

    name = f"{OWN}{options.name}"
    check_own(name)
    if is_prepared(name, options.directory) and not options.rebuild:
        raise UsageError(f"{name} is there already: choose another name, or say --rebuild to replace it")
    if not 0 <= options.most_malformed < 1:
        raise UsageError(f"--most-malformed {options.most_malformed} must be a share, from 0 to below 1")
    form: Any = next(form for form in (*FORMS, "builder") if getattr(options, form))
    fields, paths = _fields(form, options), _paths(form, options)
    if options.structure and not (fields.text and fields.label):
        raise UsageError(
            f"--structure {options.structure} is for documents with classes: give them as --folder, or by one --field "
            "and --label; or leave it out"
        )
    if form == "builder":
        found = _of_builder(options.builder, fields)
    else:
        found = {}
        for split, part in paths.items():
            found |= {inner or split: records for inner, records in own.records(form, part, fields).items()}
    of_many_lines = form in ("text", "folder")
    if options.structure:
        found = nested(found, str(fields.text), options.structure, of_many_lines=of_many_lines)
    taken = own.take(found, fields, options.most_malformed, of_many_lines=of_many_lines)
    sources = {str(path): sha256_of_files(path) for part in paths.values() for path in part}
    facts = {"licence": options.licence, "read_as": form, "sources": sources or {options.builder: ""}}
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
    if form in (*_FOLDERS, "builder"):
        if given:
            raise UsageError(f"--{next(iter(given))} is for files, and --{form} has splits or is split: leave it out")
        paths = {} if form == "builder" else {"train": [getattr(options, form)]}
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


def _of_builder(text: str, fields: Fields) -> Any:
    """Examples of the builder at an import path, which may end in /CONFIG as in TensorFlow Datasets."""
    from posenc_jax.data.corpora.foreign_builders import of_builder

    module, _, name = text.rpartition(":")
    name, slash, config = name.partition("/")
    if not module or not name.isidentifier() or (slash and not config):
        raise UsageError(f"--builder {text}: write FILE.py:Class or package.module:Class, with configs Class/CONFIG")
    return of_builder(_builder(text, module, name), fields, config, called=text)


def _builder(text: str, module: str, name: str) -> Any:
    """The class ``name`` of a file or a module, which runs it: the user named it."""
    from posenc_jax.cli.own_files import own_class

    if module.endswith(".py"):
        return own_class(module, name)
    try:
        with exits_as_errors():
            found = getattr(importlib.import_module(module), name, None)
    except Exception as error:  # whatever the user's module does
        what = first_line(error)
        raise UsageError(
            f"--builder {text}: {module} cannot be imported ({what}): install or mend it, or name a file"
        ) from None
    if found is None:
        raise UsageError(f"--builder {text}: {module} has no {name}")
    return found
