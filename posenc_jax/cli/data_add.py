"""``posenc data add``: a corpus of the user's own texts."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.screen import show, tell
from posenc_jax.extras import install_command, is_there

if TYPE_CHECKING:
    from posenc_jax.data.corpora.fields import Fields

Directory = Annotated[Path | None, "DIR"]
FORMS = ("text", "jsonl", "csv", "parquet", "folder", "saved")
_FOLDERS = ("folder", "saved")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Added:
    """The texts that are added, and how they are read.

    Attributes:
      text: plain UTF-8 texts, one document per file
      jsonl: files with one JSON object per line, or with one list of objects
      csv: tables whose first line names the fields, separated by commas, semicolons or tabs
      parquet: Parquet files (needs pyarrow)
      folder: one sub-folder of texts per class: DIR/CLASS/FILE
      saved: a folder written by save_to_disk of Hugging Face datasets (needs pyarrow)
      source: pairs: the field that the model reads
      target: pairs: the field that the model writes
      field: texts: their field; documents: the fields of their sections, in order
      label: texts with classes: the field of the class
      document: the field that says which rows belong together (default: each text is a document)
      validation: validation files (default: held out by hash)
      test: test files (default: held out by hash)
      structure: structure of documents with classes, for --task.structure; those that do not nest are left out as
        malformed
      licence: licence of the texts, stored with them (default: not stated)
      most_malformed: largest share of records that may be left out (default: 0.01)
      rebuild: replace an existing corpus of this name
      directory: where corpora are kept (default: $POSENC_DATA, else posenc_jax/data in $XDG_CACHE_HOME or ~/.cache)
    """

    text: tuple[Path, ...] = ()
    jsonl: tuple[Path, ...] = ()
    csv: tuple[Path, ...] = ()
    parquet: tuple[Path, ...] = ()
    folder: Annotated[Path | None, "DIR"] = None
    saved: Annotated[Path | None, "DIR"] = None
    source: Annotated[str | None, "FIELD"] = None
    target: Annotated[str | None, "FIELD"] = None
    field: tuple[str, ...] = ()
    label: Annotated[str | None, "FIELD"] = None
    document: Annotated[str | None, "FIELD"] = None
    validation: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()
    structure: Literal["markdown", "html", "spans"] | None = None
    licence: Annotated[str, "TEXT"] = "not stated"
    most_malformed: Annotated[float, "SHARE"] = 0.01
    rebuild: bool = False
    directory: Directory = None

    @property
    def form(self) -> Any:
        """The form of the texts: the one of `FORMS` that is given."""
        given = [form for form in FORMS if getattr(self, form)]
        if len(given) != 1:
            raise UsageError(f"data add: give the texts as one of {' '.join(f'--{form}' for form in FORMS)}")
        return given[0]


def add(name: str, options: Added) -> None:
    """Make a corpus of your own texts, stored like the others in the format of TensorFlow Datasets. Texts are read,
    counted and split by the hash of their document (or as given); no text is in two splits, and hashes of everything
    that was read are kept. Your files are never changed. A field within another one of JSON is named OUTER.INNER.
    Records that cannot be used are counted and named; if their share exceeds --most-malformed, no corpus is made.

    Args:
      name: name of the corpus, used as --data.name own/NAME

    Examples:
      posenc data add plays --text hamlet.txt othello.txt --test macbeth.txt
          add your own texts
      posenc data add chat --jsonl chat.jsonl --source question --target answer
          add pairs
      posenc data add papers --jsonl papers.jsonl --field title text --label area
          add documents in sections
      posenc data add reviews --folder reviews/
          add texts with classes: reviews/good/1.txt, reviews/bad/7.txt, ...
    """
    from posenc_jax.data.corpora import own
    from posenc_jax.data.corpora.store import OWN, check_own, is_prepared

    form, corpus = options.form, f"{OWN}{name}"
    check_own(corpus)
    if is_prepared(corpus, options.directory) and not options.rebuild:
        raise UsageError(f"{corpus} is there already: choose another name, or say --rebuild to replace it")
    if not 0 <= options.most_malformed < 1:
        raise UsageError(f"--most-malformed {options.most_malformed} must be a share, from 0 to below 1")
    fields, paths = _fields(form, options), _paths(form, options)
    if options.structure and not (fields.text and fields.label):
        raise UsageError("--structure is for documents with classes: --folder, or one --field and --label")
    facts, places = {"licence": options.licence}, {"directory": options.directory, "rebuild": options.rebuild}
    structure, share = options.structure, options.most_malformed
    own.add_files(name, form, paths, fields, facts, structure, share, note=tell, **places)
    place = f"POSENC_DATA={shlex.join([str(options.directory.absolute())])} " if options.directory else ""
    show(f"train on it: {place}posenc train --on {corpus}; compare encodings on it: {place}posenc ablate --on {corpus}")
    show("before they train, both say how well a mean over its test texts will be known")
    if not is_there("sentencepiece"):
        show(f"both need sentencepiece, which is not installed: {install_command('text')}")


def _paths(form: str, options: Added) -> dict[str, list[Path]]:
    """The files of each split."""
    given = {split: getattr(options, split) for split in ("validation", "test") if getattr(options, split)}
    if form not in _FOLDERS:
        return {"train": getattr(options, form), **given}
    if given:
        raise UsageError(f"--{next(iter(given))} is for files, and --{form} has splits or is split: leave it out")
    return {"train": [getattr(options, form)]}


def _fields(form: str, options: Added) -> Fields:
    from posenc_jax.data.corpora.fields import Fields

    if form in ("text", "folder"):
        names = ("source", "target", "field", "label", "document")
        if unused := [name for name in names if getattr(options, name)]:
            raise UsageError(f"--{unused[0]} names a field, and --{form} has none: leave it out")
        return Fields(text="text", label="label" if form == "folder" else None)
    given = options.field or (None,)
    text, sections = (given[0], ()) if len(given) == 1 else (None, tuple(given))
    return Fields(text, options.label, options.source, options.target, options.document, sections)
